// SPDX-License-Identifier: MIT

// How standing ready ends other than with the lock: the deadline, the caller, a loss, an owner who falls
// silent, and a grant that comes too late.

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

/// The second of four, whom the third, the owner, has told that he comes next.
class StandingReady : public testing::Test {
 protected:
  StandingReady() {
    Request request;
    request.deadline = Instant(1h) + 10s;
    talk.joins_beside(1, request);
    talk.reached(2);
    talk.hears_answer(naming_us_next(third));
    EXPECT_EQ(talk.concludes(), nothing);
    EXPECT_EQ(talk.phase(), Phase::resting);
  }

  Said is_handed_it(std::vector<std::string> queue = {}) {
    return talk.hears_ping(encode(Grant{second, talk.channel(), std::move(queue)}));
  }
  /// The grant reaches one who is on his way out: those behind him must hear of it.
  void passes_it_on() {
    EXPECT_EQ(is_handed_it({'w' + fourth, 'r' + first}),
              (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::wake, {'r' + first}})}}));
    EXPECT_FALSE(talk.participant().holds());
    EXPECT_EQ(talk.phase(), Phase::leaving);
  }

  Conversation<> talk;
};

TEST_F(StandingReady, EndsWithTheDeadline) {
  EXPECT_EQ(talk.after(10s), leave);
  passes_it_on();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
}

TEST_F(StandingReady, EndsWhenTheCallerGivesUp) {
  EXPECT_EQ(talk.cancel(), leave);
  passes_it_on();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::cancelled);
}

TEST_F(StandingReady, EndsWithALossAndIsTriedAgain) {
  EXPECT_EQ(talk.hears(event::Lost{gone}), nothing);
  EXPECT_EQ(is_handed_it({'w' + fourth}), nothing) << "and what comes after it is not heard";
  EXPECT_FALSE(talk.participant().holds());
  EXPECT_EQ(talk.after(0ms), Said{action::Open{"L"}});
}

TEST_F(StandingReady, EndsWhenTheOwnerNamesItNoMore) {
  talk.after(250ms);
  talk.asks_again();
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave);
  passes_it_on();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

/// A grant may come before the question that it answers has reached everybody: it is ours only once it has.
class HandedItTooSoon : public StandingReady {
 protected:
  HandedItTooSoon() {
    talk.after(250ms);
    talk.asks_again();
    EXPECT_EQ(is_handed_it({'w' + fourth, 'r' + first}), nothing);
    EXPECT_EQ(talk.concludes(), nothing);
    EXPECT_EQ(talk.phase(), Phase::probing);
  }

  const Said passes_it_on_and_leaves{
      action::Publish{"L-" + fourth, encode(Hint{HintKind::wake, {'r' + first}})}, action::Leave{}};
};

TEST_F(HandedItTooSoon, PassesItOnWhenTheCallerGivesUp) {
  EXPECT_EQ(talk.cancel(), passes_it_on_and_leaves);
  EXPECT_EQ(talk.cancel(), nothing) << "once";
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::cancelled);
}

TEST_F(HandedItTooSoon, PassesItOnWithTheDeadline) {
  EXPECT_EQ(talk.after(9750ms), passes_it_on_and_leaves);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.phase(), Phase::idle);
}

TEST_F(HandedItTooSoon, KeepsTheLineForWhenItTakesIt) {
  talk.reached(2);
  talk.hears_answer(naming_us_next(third));
  EXPECT_EQ(talk.concludes(),
            (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::next, {'r' + first}})}}));
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.cancel(), nothing);
}

TEST(Fencing, WhoeverGivesUpBeforeTheTokenIsThereWakesThoseWhoWait) {
  Request request = until_10_seconds();
  request.fencing = true;
  request.unavailable_timeout = 20s;
  Conversation talk;
  talk.acquire(request);
  talk.hears(event::Opened{});
  talk.hears(event::Joined{1});
  ASSERT_EQ(talk.phase(), Phase::fencing);
  talk.hears_ping(waiting_ping_of(fourth, "L-" + fourth, HolderMode::shared));
  const Said wakes_and_leaves{action::Publish{"L-" + fourth, encode(Hint{HintKind::wake, {}})},
                              action::Leave{}};
  Conversation late = talk;
  EXPECT_EQ(talk.cancel(), wakes_and_leaves);
  EXPECT_EQ(late.after(10s), wakes_and_leaves);
}

TEST_F(StandingReady, IsDeafToOtherGrantsOnItsWayOut) {
  talk.cancel();
  EXPECT_EQ(talk.hears_ping(encode(Grant{second, "L-before", {'w' + fourth}})), nothing);
  EXPECT_EQ(talk.hears_ping(encode(Grant{fourth, talk.channel(), {'w' + fourth}})), nothing);
  talk.hears(event::Left{});
  EXPECT_EQ(is_handed_it({'w' + fourth}), nothing);
}

TEST_F(StandingReady, PassesOnNoMoreThanItWasHanded) {
  talk.cancel();
  EXPECT_EQ(is_handed_it(), nothing);
  EXPECT_EQ(is_handed_it({"junk", 'w' + second, 'x' + fourth}), nothing) << "nor to itself";
}

TEST_F(StandingReady, EndsWhereItCannotTellWhoIsThere) {
  talk.after(250ms);
  talk.asks_again();
  talk.reached(2);
  talk.hears_answer(naming_us_next(third));
  talk.hears_answer(leaving(fourth));
  EXPECT_EQ(talk.concludes(), leave) << "more answers than subscribers";
  EXPECT_NE(talk.participant().trouble(), "");
}

TEST_F(StandingReady, AnOwnerWhoFallsSilentIsAskedTwiceAndKilled) {
  const std::vector<Connection> both{{12, client_name("L", second)}, {13, client_name("L", third)}};
  talk.after(250ms);
  talk.asks_again();
  talk.reached(2);
  EXPECT_EQ(talk.after(1s), Said{action::List{}});
  EXPECT_EQ(talk.hears(event::Listed{both}), Said{talk.listen()});
  talk.asks_again();
  talk.reached(2);
  EXPECT_EQ(talk.after(1s), Said{action::List{}});
  EXPECT_EQ(talk.hears(event::Listed{both}), (Said{action::Kill{{13}}}));
  EXPECT_EQ(is_handed_it(), nothing) << "it is too late for that";
  EXPECT_EQ(talk.hears(event::Killed{1}).back(), talk.listen());
  talk.asks_again();
  talk.reached(1);
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(StandingReady, AGrantThatAStrangerCouldForgeIsAReasonToLook) {
  talk.after(250ms);
  talk.asks_again();
  talk.reached(3);
  talk.hears_answer(naming_us_next(third));
  ASSERT_EQ(talk.after(1s), Said{action::List{}});
  EXPECT_EQ(is_handed_it(), nothing);
  EXPECT_FALSE(talk.participant().holds()) << "as long as one is silent";
  const Said said = talk.hears(event::Listed{{{12, client_name("L", second)}, {14, "redis-cli"}}});
  EXPECT_EQ(said.back(), talk.listen()) << "he was only a stranger, but he has heard what we asked";
  EXPECT_FALSE(talk.participant().holds());
}

// --- with a fencing token --------------------------------------------------------------------------------

TEST(Fencing, OneWhoIsHandedTheLockDrawsATokenBeforeItCounts) {
  Request request;
  request.fencing = true;
  Conversation talk;
  talk.joins_beside(1, request);
  talk.reached(2);
  talk.hears_answer(naming_us_next(third));
  talk.concludes();
  const Said said = talk.hears_ping(encode(Grant{second, talk.channel(), {'w' + fourth}}));
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], Action{action::Increment{"L-fence"}});
  const std::string check = std::get<action::Publish>(said[1]).payload;
  EXPECT_EQ(talk.participant().mode(), HolderMode::exclusive) << "but it is taken";
  EXPECT_EQ(talk.hears(event::Incremented{5}), nothing);
  EXPECT_FALSE(talk.participant().holds());
  EXPECT_EQ(talk.hears_ping(check), (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::next, {}})}}));
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.participant().fence_token(), 5);
}

/// Alone on the channel, and waiting for its token.
class Fence : public testing::Test {
 protected:
  Fence() {
    Request request;
    request.fencing = true;
    talk.acquire(request);
    talk.hears(event::Opened{});
    takes_it();
  }
  void takes_it() {
    const Said said = talk.hears(event::Joined{1});
    EXPECT_EQ(said.size(), 2U);
    EXPECT_EQ(said.front(), Action{action::Increment{"L-fence"}}) << "and then, on the same connection,";
    const auto& publish = std::get<action::Publish>(said.back());
    EXPECT_EQ(publish.channel, "L");
    EXPECT_TRUE(decode_check(publish.payload));
    check = publish.payload;
    EXPECT_EQ(talk.phase(), Phase::fencing);
  }
  void expect_no_token() const {
    EXPECT_FALSE(talk.participant().holds());
    EXPECT_EQ(talk.participant().fence_token(), std::nullopt);
  }

  Conversation<> talk;
  std::string check;
};

TEST_F(Fence, ATokenCountsOnceTheCheckBehindItIsHeard) {
  EXPECT_EQ(talk.hears(event::Incremented{7}), nothing);
  expect_no_token();
  EXPECT_EQ(talk.hears_ping(check), nothing);
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.participant().fence_token(), 7);
}

TEST_F(Fence, TheCheckMayBeHeardFirst) {
  EXPECT_EQ(talk.hears_ping(check), nothing);
  expect_no_token();
  EXPECT_EQ(talk.hears(event::Incremented{7}), nothing);
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.participant().fence_token(), 7);
}

TEST_F(Fence, NoOtherCheckProvesAnything) {
  talk.hears(event::Incremented{7});
  talk.hears_ping(encode_check(first));
  talk.hears(event::Message{talk.channel(), check});
  talk.hears(event::Message{"L-" + second, check});
  talk.hears_ping(encode_check(""));
  expect_no_token();
}

TEST_F(Fence, NeitherATokenNorAProofIsWaitedForForEver) {
  for (const bool has_token : {true, false}) {
    Conversation other = talk;
    has_token ? other.hears(event::Incremented{7}) : other.hears_ping(check);
    EXPECT_EQ(other.after(999ms), nothing);
    EXPECT_EQ(other.after(1ms), leave);
    other.hears(event::Left{});
    EXPECT_EQ(other.result(), Result::failed);
    EXPECT_EQ(other.participant().failure().text,
              has_token ? "no fencing token: the server did not deliver the check of it in time"
                        : "no fencing token: the server did not answer INCR in time");
    EXPECT_EQ(other.participant().fence_token(), std::nullopt);
  }
}

TEST_F(Fence, ATokenThatComesAtAnotherTimeIsNone) {
  talk.hears(event::Incremented{7});
  talk.hears_ping(check);
  EXPECT_EQ(talk.hears(event::Incremented{9}), nothing);
  EXPECT_EQ(talk.participant().fence_token(), 7);
  talk.release();
  EXPECT_EQ(talk.hears(event::Incremented{9}), nothing);
  EXPECT_EQ(talk.phase(), Phase::leaving);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.hears(event::Incremented{9}), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  expect_no_token();
}

TEST_F(Fence, ATokenThatIsRefusedEndsTheAttempt) {
  talk.hears_ping(check);
  EXPECT_EQ(talk.hears(event::Refused{Verb::increment, {Errc::permission, "NOPERM"}}), leave);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure().code, Errc::permission);
}

TEST_F(Fence, ALossOnTheWayVoidsTheToken) {
  talk.hears(event::Incremented{7});
  const std::string before = check;
  EXPECT_EQ(talk.hears(event::Lost{gone}), nothing);
  EXPECT_EQ(talk.phase(), Phase::waiting);
  talk.after(0ms);
  talk.hears(event::Opened{});
  takes_it();
  EXPECT_EQ(talk.hears_ping(before), nothing);
  EXPECT_EQ(talk.hears_ping(check), nothing);
  expect_no_token();
  talk.hears(event::Incremented{9});
  EXPECT_EQ(talk.participant().fence_token(), 9);
}

TEST_F(Fence, AnOwnerOnTheWaySaysSoAndKnowsWhoComesNext) {
  Holder self = from(second, HolderMode::exclusive);
  self.next = true;
  EXPECT_EQ(talk.hears_ping(standing_ping_of(third, "L-a")), Said{talk.answer("L-a", self)});
  talk.hears(event::Incremented{7});
  talk.hears_ping(check);
  EXPECT_EQ(talk.release(), (Said{action::Ping{"L", "L-a", encode(Grant{third, "L-a", {}})}}));
}

TEST(Line, IsForgottenWithTheAttemptThatWasToldOfIt) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(holding(from(first, HolderMode::exclusive)));
  talk.concludes();
  talk.hears(event::Left{});
  talk.hears_in_inbox(encode(Hint{HintKind::next, {"w" + third + ":3600000"}}));
  talk.cancel();
  talk.hears(event::Joined{2});
  talk.hears(event::Left{});
  ASSERT_EQ(talk.phase(), Phase::idle);
  talk.acquire();
  talk.hears(event::Joined{1});
  ASSERT_TRUE(talk.participant().holds());
  EXPECT_TRUE(talk.participant().succession().empty());
}

}  // namespace
}  // namespace sublock::core
