// SPDX-License-Identifier: MIT

// Who may be killed for silence: only somebody whom both questions reached, which the participant must know
// and not guess. Among those on the server's list are some who came after the first question, and some who
// will have gone, alive and well, before the second. The disabled ones are not kept yet.

#include <gtest/gtest.h>

#include <fuzz/conversation.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sublock::core {
namespace {

using namespace std::chrono_literals;

const std::string other_id(32, '8');

class KilledForSilence : public ::testing::TestWithParam<LockMode> {
 protected:
  static Connection named(std::int64_t id, const std::string& holder) {
    return {id, client_name(fuzz::channel, holder)};
  }

  /// The participant asks once more; its question reaches so many, itself included, and only it is heard.
  void ask_again(std::size_t reached) {
    for (const Action& action : asker.hear(event::Listening{asker.response_channel()})) {
      const auto* ping = std::get_if<action::Ping>(&action);
      if (ping == nullptr) continue;
      asker.hear(event::Message{fuzz::channel, ping->payload});
      asker.hear(event::Pinged{ping->response_channel, reached, reached});
    }
  }

  /// Whom it kills once its patience is over; a list that it asks for first shows `present`.
  std::vector<std::int64_t> killed(const std::vector<Connection>& present) {
    std::vector<Action> actions = asker.pass(1s);
    if (asker.participant().phase() == Phase::examining) actions = asker.hear(event::Listed{present});
    for (const Action& action : actions) {
      if (const auto* kill = std::get_if<action::Kill>(&action)) return kill->ids;
    }
    return {};
  }

  /// Its first question has reached two others, who are silent.
  fuzz::Conversation asker{Phase::examining, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Modes, KilledForSilence, ::testing::Values(LockMode::exclusive, LockMode::shared));

using Ids = std::vector<std::int64_t>;

TEST_P(KilledForSilence, AreThoseWhomBothQuestionsReached) {
  const std::vector<Connection> both = {named(7, fuzz::silent_id), named(8, other_id)};
  asker.hear(event::Listed{both});
  ask_again(3);
  EXPECT_EQ(killed(both), (Ids{7, 8}));
}

TEST_P(KilledForSilence, IsNobodyWhoWasGoneBeforeTheSecond) {
  asker.hear(event::Listed{{named(7, fuzz::silent_id), named(8, other_id)}});
  ask_again(2);  // one of them has left; its connection may serve another lock by now
  EXPECT_EQ(killed({named(7, fuzz::silent_id)}), Ids{7});
}

TEST_P(KilledForSilence, IsNobodyWhoCameAfterTheFirst) {
  const std::string third_id(32, '6');
  const std::vector<Connection> all = {named(7, fuzz::silent_id), named(8, other_id), named(9, third_id)};
  asker.hear(event::Listed{all});  // but the first question has reached two of them only
  ask_again(4);
  EXPECT_LE(killed(all).size(), 2U);
}

}  // namespace
}  // namespace sublock::core
