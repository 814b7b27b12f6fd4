// SPDX-License-Identifier: MIT

// Ears that many locks share: who is on one, and does not answer, is no stranger; and who is on one of another
// channel is nobody's business.

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/core/shared_ear.hpp>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

const std::string ear(32, 'e');
const std::string other_ear(32, 'f');
const std::string own_ear(32, 'a');

Connection shared(const std::string& id, std::int64_t connection) {
  return {connection, shared_ear_name(id)};
}

Action count_of(const std::string& id) { return action::Count{ear_mark("L", id)}; }

Holder on(const std::string& id, Holder holder) {
  holder.ear = id;
  return holder;
}

TEST(SharedEarNames, AreExactlyTheirs) {
  EXPECT_EQ(shared_ear_named(shared_ear_name(ear)), ear);
  EXPECT_EQ(shared_ear_named("sublock-ear-"), std::nullopt);
  EXPECT_EQ(shared_ear_named("sublock-ear-" + ear + "0"), std::nullopt);
  EXPECT_EQ(shared_ear_named("sublock-ear-" + std::string(32, 'E')), std::nullopt);
  EXPECT_EQ(shared_ear_named(client_name("sublock-ear-" + ear, first)), std::nullopt)
      << "a lock of that name is no ear";
  EXPECT_EQ(ear_mark("L", ear), inbox("L", ear)) << "one ACL pattern is for both";
}

TEST(SharedEarNames, TravelWithAnswers) {
  Holder holder = from(first, HolderMode::exclusive);
  EXPECT_EQ(decode_reply(encode_reply(holder)).ear, "") << "who has one of his own";
  holder.ear = ear;
  EXPECT_EQ(decode_reply(encode_reply(holder)).ear, ear);
  holder.ear = "what?";
  EXPECT_EQ(decode_reply(encode_reply(holder)).ear, "");
}

/// The second participant, who is counted beside two others of whom the first answers; the third is on a shared
/// ear, if anywhere.
class SharedEar : public testing::Test {
 protected:
  void asks(const Request& request = {}, const std::string& own = {}) {
    talk.acquire(request);
    talk.hears(event::Opened{own});
    talk.hears(event::Joined{});
    is_half_answered();
  }

  void is_half_answered() {
    talk.reached(3);
    talk.hears_answer(on(other_ear, from(third, HolderMode::pending)));
    EXPECT_EQ(talk.concludes(), nothing);
  }

  void loses_patience() {
    Said said;
    for (int quarter = 0; quarter < 4; ++quarter) said = talk.after(250ms);
    std::erase(said, Action{action::Count{"L"}});
    ASSERT_EQ(said, list);
  }

  Conversation<> talk;
};

TEST_F(SharedEar, IsLookedForBeforeAnybodyIsAStranger) {
  asks();
  loses_patience();
  EXPECT_EQ(talk.hears(event::Listed{{shared(ear, 13), {14, "redis-cli"}, shared(other_ear, 15)}}),
            (Said{count_of(ear), count_of(other_ear)}));
  EXPECT_EQ(talk.phase(), Phase::examining);
  EXPECT_EQ(talk.hears(event::Counted{0}), nothing) << "not on this channel";
  EXPECT_EQ(talk.concludes(), nothing);
  const Said said = talk.hears(event::Counted{1});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<action::Warn>(said[0]).kind, Warning::stranger) << "the other has answered";
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(SharedEar, IsKilledWhereItIsSilentTwice) {
  asks();
  loses_patience();
  const std::vector<Connection> connections{shared(ear, 13), shared(other_ear, 15)};
  talk.hears(event::Listed{connections});
  talk.hears(event::Counted{1});
  EXPECT_EQ(talk.hears(event::Counted{1}), Said{talk.listen()}) << "nobody is killed after one silence";
  talk.asks_again();
  is_half_answered();
  EXPECT_EQ(talk.after(1s), list);
  talk.hears(event::Listed{connections});
  talk.hears(event::Counted{1});
  EXPECT_EQ(talk.hears(event::Counted{1}), (Said{action::Kill{{13}}}));
  const Said said = talk.hears(event::Killed{1});
  EXPECT_NE(std::get<action::Warn>(said.at(0)).text.find(ear), std::string::npos);
}

TEST_F(SharedEar, IsSparedWhereItHasLeftTheChannelMeanwhile) {
  asks();
  loses_patience();
  talk.hears(event::Listed{{shared(ear, 13)}});
  EXPECT_EQ(talk.hears(event::Counted{1}), Said{talk.listen()});
  talk.asks_again();
  is_half_answered();
  EXPECT_EQ(talk.after(1s), list);
  talk.hears(event::Listed{{shared(ear, 13)}});
  talk.hears(event::Counted{0});
  EXPECT_TRUE(talk.participant().holds()) << "the third is a stranger, then";
}

TEST_F(SharedEar, OfOurOwnIsNotLookedFor) {
  asks({}, own_ear);
  loses_patience();
  talk.hears(event::Listed{{shared(own_ear, 12)}});
  EXPECT_TRUE(talk.participant().holds()) << "it has brought us our own question";
}

TEST_F(SharedEar, OfOursIsNamedInAnswers) {
  asks({}, own_ear);
  const Said said = talk.hears_ping(ping_of(third, "L-1"));
  EXPECT_EQ(decode_reply(std::get<action::Publish>(said.at(0)).payload).ear, own_ear);
}

TEST_F(SharedEar, ThatNobodyCouldLookForIsNoStranger) {
  Request once;
  once.once = true;
  asks(once);
  loses_patience();
  talk.hears(event::Listed{{shared(ear, 13)}});
  talk.hears(event::Refused{Verb::count, {Errc::permission, "NOPERM"}});
  EXPECT_EQ(talk.phase(), Phase::leaving);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.participant().result(), Result::failed);
  EXPECT_NE(talk.participant().failure().text.find("NOPERM"), std::string::npos);
}

TEST_F(SharedEar, ThatIsNotFoundInTimeIsNoStranger) {
  asks();
  loses_patience();
  talk.hears(event::Listed{{shared(ear, 13)}});
  talk.after(1s);
  EXPECT_EQ(talk.phase(), Phase::leaving);
  EXPECT_EQ(talk.hears(event::Counted{0}), nothing);
}

TEST_F(SharedEar, IsNoStrangerWhereThereAreTooMany) {
  asks();
  loses_patience();
  std::vector<Connection> connections;
  for (std::size_t at = 0; at <= EarSearch::ears_max; ++at) {
    std::string id(32, '0');
    for (std::size_t digit = 0, rest = at; rest > 0; ++digit, rest /= 10)
      id[digit] = static_cast<char>('0' + rest % 10);
    connections.push_back(shared(id, static_cast<std::int64_t>(at)));
  }
  talk.hears(event::Listed{connections});
  EXPECT_EQ(talk.phase(), Phase::leaving);
  EXPECT_NE(talk.participant().trouble().find("too many"), std::string::npos);
}

TEST_F(SharedEar, CountsOfTheChannelAreNotTakenForItsMark) {
  asks();
  loses_patience();
  EXPECT_EQ(talk.hears(event::Counted{3}), nothing) << "asked for before the list";
  EXPECT_EQ(talk.hears(event::Refused{Verb::count, {Errc::connect, "broken"}}), nothing) << "the same";
  EXPECT_EQ(talk.phase(), Phase::examining);
  EXPECT_EQ(talk.hears(event::Listed{{shared(ear, 13)}}), Said{count_of(ear)});
  talk.hears(event::Counted{0});
  EXPECT_TRUE(talk.participant().holds());
}

}  // namespace
}  // namespace sublock::core
