// SPDX-License-Identifier: MIT

// A holder's doubt in itself: what it says of itself while it checks its own channel, what ends the doubt,
// and what ends the lock.

#include <gtest/gtest.h>

#include <fuzz/conversation.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sublock::core {
namespace {

using namespace std::chrono_literals;

const event::Doubted standstill{"the process stood still for 3 s"};

/// The payload of the one check among the actions; empty where there is none.
std::string check_in(const std::vector<Action>& actions) {
  if (actions.size() != 1) return "";
  const auto* publish = std::get_if<action::Publish>(&actions.front());
  return publish != nullptr && publish->channel == fuzz::channel && decode_check(publish->payload)
             ? publish->payload
             : "";
}

class Doubt : public ::testing::TestWithParam<LockMode> {
 protected:
  std::vector<Action> hear(const std::string& payload) {
    return holder.hear(event::Message{fuzz::channel, payload});
  }
  [[nodiscard]] bool is_held() const {
    return holder.participant().holds() && !holder.participant().doubtful();
  }

  fuzz::Conversation holder{Phase::holding, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Modes, Doubt, ::testing::Values(LockMode::exclusive, LockMode::shared));

TEST_P(Doubt, LastsUntilTheCheckHasComeBack) {
  EXPECT_TRUE(is_held());
  const std::string check = check_in(holder.hear(standstill));
  ASSERT_NE(check, "");
  EXPECT_TRUE(holder.participant().holds());
  EXPECT_TRUE(holder.participant().doubtful());
  EXPECT_TRUE(holder.pass(999ms).empty());
  EXPECT_TRUE(holder.participant().doubtful());
  EXPECT_TRUE(hear(check).empty());
  EXPECT_TRUE(is_held());
  EXPECT_EQ(holder.participant().next_due(), std::nullopt) << "nothing is left to wait for";
}

TEST_P(Doubt, IsALossOncePatienceIsOver) {
  holder.hear(standstill);
  const auto actions = holder.pass(1s);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<action::Close>(actions.front()));
  EXPECT_FALSE(holder.participant().holds());
  EXPECT_EQ(holder.participant().result(), Result::lost);
  EXPECT_EQ(holder.participant().failure().code, Errc::lost);
  EXPECT_EQ(holder.participant().failure().text,
            "the process stood still for 3 s, and a check did not come back");
}

TEST_P(Doubt, IsEndedByNoOtherCheck) {
  const std::string first = check_in(holder.hear(standstill));
  hear(encode_check("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_held());
  holder.pass(500ms);
  const std::string second = check_in(holder.hear(standstill));
  ASSERT_NE(second, "");
  EXPECT_NE(first, second);
  hear(first);  // sent before it stood still once more
  EXPECT_FALSE(is_held());
  holder.pass(999ms);
  EXPECT_TRUE(holder.participant().holds()) << "a new doubt has all its patience";
  hear(second);
  EXPECT_TRUE(is_held());
}

TEST_P(Doubt, DoesNotShowToThoseWhoAsk) {
  holder.hear(standstill);
  const auto actions = hear(R"({"message":"ping","response_channel":"jobs-a"})");
  ASSERT_EQ(actions.size(), 1u);
  const Holder told = decode_reply(std::get<action::Publish>(actions.front()).payload);
  EXPECT_EQ(told.mode, GetParam() == LockMode::shared ? HolderMode::shared : HolderMode::exclusive);
  EXPECT_FALSE(told.leaving);
}

TEST_P(Doubt, DoesNotKeepAnybodyFromGivingBack) {
  fuzz::Conversation::Participant participant({fuzz::channel, fuzz::own_id, "host", 1, "", 0}, Dice({1, 2}));
  std::vector<Action> out;
  const Instant now = Instant(1h);
  participant.acquire({.mode = GetParam()}, now, out);
  participant.on(event::Opened{}, now, out);
  participant.on(event::Joined{1}, now, out);
  participant.on(standstill, now, out);
  EXPECT_TRUE(participant.release(now, out));
  EXPECT_FALSE(participant.doubtful());
  participant.on(event::Left{}, now, out);
  EXPECT_EQ(participant.result(), Result::released);
}

TEST_P(Doubt, EndsWithTheConnection) {
  holder.hear(standstill);
  holder.hear(event::Lost{{Errc::connect, "reset by peer"}});
  EXPECT_FALSE(holder.participant().doubtful());
  EXPECT_EQ(holder.participant().result(), Result::lost);
  EXPECT_EQ(holder.participant().failure().text, "reset by peer");
}

TEST_P(Doubt, IsForHoldersOnly) {
  for (const Phase phase : fuzz::phases) {
    const bool writers_only = phase == Phase::fencing || phase == Phase::granting;
    if (phase == Phase::holding || (writers_only && GetParam() == LockMode::shared)) continue;
    fuzz::Conversation other(phase, GetParam());
    const auto due = other.participant().next_due();
    EXPECT_TRUE(other.hear(standstill).empty()) << static_cast<int>(phase);
    EXPECT_FALSE(other.participant().doubtful());
    EXPECT_EQ(other.participant().phase(), phase);
    EXPECT_EQ(other.participant().next_due(), due);
  }
}

/// Holders who check themselves every 3 s anyway.
class DoubtBetweenChecks : public ::testing::Test {
 protected:
  DoubtBetweenChecks() {
    participant.acquire({.self_check_interval = 3s}, now, out);
    hear(event::Opened{});
    hear(event::Joined{1});
  }

  std::vector<Action> hear(const Event& event) {
    out.clear();
    participant.on(event, now, out);
    return out;
  }
  std::vector<Action> pass(Duration span) {
    out.clear();
    now += span;
    participant.tick(now, out);
    return out;
  }
  void pass_check(const std::string& check) { hear(event::Message{fuzz::channel, check}); }

  fuzz::Conversation::Participant participant{{fuzz::channel, fuzz::own_id, "host", 1, "", 0}, Dice({1, 2})};
  std::vector<Action> out;
  Instant now = Instant(1h);
};

TEST_F(DoubtBetweenChecks, IsCheckedAtOnceAndTheRoundGoesOn) {
  pass(2s);
  const std::string check = check_in(hear(standstill));
  ASSERT_NE(check, "");
  pass_check(check);
  EXPECT_FALSE(participant.doubtful());
  EXPECT_EQ(check_in(pass(2999ms)), "");
  EXPECT_NE(check_in(pass(1ms)), "");
  EXPECT_FALSE(participant.doubtful()) << "a routine check is no doubt";
}

TEST_F(DoubtBetweenChecks, TakesThePlaceOfACheckThatIsUnderWay) {
  const std::string routine = check_in(pass(3s));
  ASSERT_NE(routine, "");
  const std::string check = check_in(hear(standstill));
  pass_check(routine);
  EXPECT_TRUE(participant.doubtful());
  pass_check(check);
  EXPECT_FALSE(participant.doubtful());
}

TEST_F(DoubtBetweenChecks, ARoutineCheckThatDoesNotComeBackIsALossToo) {
  ASSERT_NE(check_in(pass(3s)), "");
  pass(999ms);
  EXPECT_TRUE(participant.holds());
  pass(1ms);
  EXPECT_EQ(participant.result(), Result::lost);
  EXPECT_EQ(participant.failure().text, "a check of its own channel did not come back");
}

}  // namespace
}  // namespace sublock::core
