// SPDX-License-Identifier: MIT

// How the line of those who wait gets from one holder to the next: the head of it with the invitation, and what
// is new with the grant.

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

Action grant_to(const std::string& id, const std::string& nonce, const std::vector<std::string>& queue = {}) {
  return action::Ping{"L", nonce, encode(Grant{id, nonce, queue})};
}

Action invitation_of(const std::string& id, const std::vector<std::string>& queue = {}) {
  return action::Publish{"L-" + id, encode(Hint{HintKind::next, queue})};
}

TEST(Line, IsToldToOneWhoWasAskedInOnce) {
  Conversation talk;
  talk.holds_alone();
  EXPECT_EQ(talk.hears_ping(waiting_ping_of(third, "L-" + third)).back(), invitation_of(third));
  talk.hears_ping(waiting_ping_of(first, "L-" + first));
  talk.hears_ping(standing_ping_of(third, "L-a"));
  Conversation before = talk;
  EXPECT_EQ(before.release(), Said{grant_to(third, "L-a", {'w' + first})})
      << "who came after he was asked in";
  EXPECT_EQ(talk.hears_ping(waiting_ping_of(third, "L-" + third)).back(), invitation_of(first, {'w' + third}))
      << "he has gone out again";
  talk.hears_ping(waiting_ping_of(fourth, "L-" + fourth));
  talk.hears_ping(standing_ping_of(first, "L-b"));
  EXPECT_EQ(talk.release(), Said{grant_to(first, "L-b", {'w' + fourth})});
}

TEST(Line, IsPutTogetherByOneWhoWasAskedIn) {
  Conversation talk;
  talk.joins_beside(1);
  talk.hears_answer(from(third, HolderMode::exclusive));
  talk.concludes();
  talk.hears(event::Left{});
  talk.hears_in_inbox(encode(Hint{HintKind::next, {'w' + fourth}}));
  talk.hears(event::Joined{2});
  talk.reached(2);
  talk.hears_answer(naming_us_next(third));
  talk.concludes();
  EXPECT_EQ(talk.hears_ping(encode(Grant{second, talk.channel(), {'r' + first}})),
            (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::next, {'r' + first}})}}));
}

TEST(Line, KeepsWhoeverAsksSeldomForLong) {
  Conversation seldom;
  Request request;
  request.check_interval = Duration::max() / 3;
  seldom.acquire(request);
  seldom.hears(event::Opened{});
  const Said said = seldom.hears(event::Joined{2});
  auto ping = decode_ping(std::get<action::Ping>(said.front()).payload).value();
  EXPECT_EQ(ping.interval, 1h) << "but not for ever";
  ping.response_channel = "L-a";
  ping.from.holder_id = third;
  Conversation other;
  other.holds_alone();
  other.hears_ping(encode(ping));
  other.after(5h);
  EXPECT_EQ(other.release(), Said{grant_to(third, "L-a")});
}

// --- heard by one who has it soon --------------------------------------------------------------------------

/// The second of four stands ready for the lock.
class HeardEarly : public testing::Test {
 protected:
  HeardEarly() {
    talk.joins_beside(1);
    talk.reached(2);
    talk.hears_answer(naming_us_next(third));
    talk.concludes();
    talk.hears_ping(waiting_ping_of(fourth, "L-" + fourth));
  }
  Said is_handed_it(std::vector<std::string> queue = {}) {
    return talk.hears_ping(encode(Grant{second, talk.channel(), std::move(queue)}));
  }
  static Said asks_in(const std::string& id, std::vector<std::string> queue = {}) {
    return {action::Publish{"L-" + id, encode(Hint{HintKind::next, std::move(queue)})}};
  }

  Conversation<> talk;
};

TEST_F(HeardEarly, IsAskedInByTheNextOwner) { EXPECT_EQ(is_handed_it(), asks_in(fourth)); }

TEST_F(HeardEarly, ComesAfterThoseWhoWereInLine) {
  EXPECT_EQ(is_handed_it({'w' + first}), asks_in(first, {'w' + fourth}));
}

TEST_F(HeardEarly, IsNotAskedInOnceHeHasBeenInside) {
  talk.hears_ping(standing_ping_of(fourth, "L-a"));
  EXPECT_EQ(is_handed_it(), nothing);
}

TEST_F(HeardEarly, IsForgottenByANewAttempt) {
  talk.hears_ping(waiting_ping_of(first, "L-" + first));
  is_handed_it();
  talk.release();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.acquire(), Said{talk.join()});
  EXPECT_EQ(talk.hears(event::Joined{1}), nothing);
}

TEST_F(HeardEarly, IsLearntFromAGrantThatIsNoneToo) {
  EXPECT_EQ(talk.hears_ping(encode(Grant{second, "L-" + second, {'w' + first}})), nothing);
  talk.hears(event::Counted{1});
  talk.asks_again();
  talk.reached(1);
  EXPECT_EQ(talk.concludes(), asks_in(first, {'w' + fourth}));
  EXPECT_TRUE(talk.participant().holds());
}

}  // namespace
}  // namespace sublock::core
