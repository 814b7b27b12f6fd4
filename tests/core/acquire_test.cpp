// SPDX-License-Identifier: MIT

// Conversations of one who tries for the lock: what is heard, and what is said and done about it.

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

// --- alone -----------------------------------------------------------------------------------------

TEST(Acquire, AFreeLockTakesOneTrip) {
  Conversation talk;
  EXPECT_EQ(talk.acquire(), Said{action::Open{"L"}});
  EXPECT_EQ(talk.phase(), Phase::opening);
  EXPECT_EQ(talk.hears(event::Opened{}), Said{talk.join()});
  EXPECT_EQ(talk.hears(event::Joined{1}), nothing);
  EXPECT_TRUE(talk.participant().holds()) << "before any ping can be answered";
  EXPECT_EQ(talk.result(), Result::acquired);
  EXPECT_EQ(talk.participant().next_due(), std::nullopt) << "a holder waits for nothing";
}

TEST(Acquire, AHolderSaysSo) {
  Conversation talk;
  talk.holds_alone();
  talk.after(5ms);
  Holder self = from(second, HolderMode::exclusive);
  self.held_for = 5ms;
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")), Said{talk.answer("L-a", self)});
}

TEST(Acquire, AHolderIsNotAskedForAConclusion) {
  Conversation talk;
  talk.holds_alone();
  talk.hears_ping(ping_of(first, "L-a"));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, AJoinWithoutACountAlwaysAsks) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears(event::Joined{}), Said{talk.ping()});
  talk.reached(1);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, GivingBackIsOneTrip) {
  Conversation talk;
  talk.holds_alone();
  EXPECT_EQ(talk.release(), leave);
  EXPECT_FALSE(talk.participant().holds());
  EXPECT_EQ(talk.hears(event::Left{}), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::released);
}

TEST(Acquire, OnlyAHolderGivesBack) {
  Conversation talk;
  EXPECT_EQ(talk.release(), nothing);
  talk.joins_beside(1);
  EXPECT_EQ(talk.release(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST(Acquire, OneWhoLeavesAnswersUntilHeHasLeft) {
  Conversation talk;
  talk.holds_alone();
  talk.release();
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")), Said{talk.answer("L-a", leaving(second))});
  talk.hears(event::Left{});
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-b")), nothing);
}

TEST(Acquire, AnotherAttemptTakesTheSameEar) {
  Conversation talk;
  talk.holds_alone();
  talk.release();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.acquire(), Said{talk.join()});
}

// --- beside others ---------------------------------------------------------------------------------

TEST(Acquire, BesideOthersItAsks) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears(event::Joined{2}), Said{talk.ping()});
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST(Acquire, ThatTheLockIsHeldNeedsOneAnswer) {
  Conversation talk;
  talk.joins_beside(3);
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave) << "without waiting for the others, or for whom the ping reached";
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
}

TEST(Acquire, ThatAnEarlierWriterIsThereNeedsOneAnswer) {
  Conversation talk;
  talk.joins_beside(3);
  talk.hears_answer(from(first, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST(Acquire, TakingItNeedsAllAnswers) {
  Conversation talk;
  talk.joins_beside(2);
  talk.reached(3);
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
  talk.hears_answer(from(fourth, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, AnswersMayComeBeforeTheReach) {
  Conversation talk;
  talk.joins_beside(1);
  talk.hears_ping(talk.own_ping());
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  talk.hears(event::Pinged{talk.channel(), 2, 2});
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, TheReachOfAnotherPingDoesNotCount) {
  Conversation talk;
  talk.joins_beside(1);
  talk.hears_ping(talk.own_ping());
  talk.hears(event::Pinged{"L-another", 1, 1});
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST(Acquire, ItsOwnPingMustComeBack) {
  Conversation talk;
  talk.joins_beside(1);
  talk.hears(event::Pinged{talk.channel(), 2, 2});
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.hears_ping(talk.own_ping()), nothing) << "it does not answer itself";
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, WhoeverGaveWayTriesAgainLater) {
  Conversation talk;
  talk.joins_beside(1);
  talk.hears_answer(from(first, HolderMode::exclusive));
  talk.concludes();
  talk.hears(event::Left{});
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.after(124ms), nothing) << "half a check interval at least";
  EXPECT_EQ(talk.after(251ms), Said{talk.join()}) << "and one and a half at most";
}

TEST(Acquire, ThoseWhoGoBeforeThemselvesAreNoOwners) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(leaving(first));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

// --- strictness (R4) -------------------------------------------------------------------------------

TEST(Acquire, MoreAnswersThanSubscribersLeadToNothing) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::pending));
  talk.hears_answer(from(fourth, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), leave);
  EXPECT_NE(talk.participant().trouble().find("out of turn"), std::string::npos);
}

TEST(Acquire, AnAnswerInOurNameLeadsToNothing) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(from(second, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST(Acquire, TheStricterOfTwoAnswersWithOneIdCounts) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::pending));
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST(Acquire, OneAnswerGivenTwiceIsOne) {
  Conversation talk;
  talk.joins_beside(2);
  talk.reached(3);
  talk.hears_answer(from(third, HolderMode::pending));
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST(Acquire, WhatCannotBeReadIsAnOwner) {
  for (const char* payload : {"1700000000.25", "", "{", "[]", R"({"protocol":1})", R"({"holder_id":"x"})",
                              R"({"protocol":2,"holder_id":"x","mode":"pending"})"}) {
    Conversation talk;
    talk.joins_beside(1);
    talk.reached(2);
    talk.hears_answer_as_written(payload);
    EXPECT_EQ(talk.concludes(), leave) << payload;
  }
}

TEST(Acquire, AnAnswerOnAnEarlierChannelIsNone) {
  Conversation talk;
  talk.joins_beside(1);
  const std::string before = talk.channel();
  talk.hears_answer(from(first, HolderMode::exclusive));
  talk.concludes();
  talk.hears(event::Left{});
  talk.after(1s);
  talk.hears(event::Joined{2});
  const std::string payload = encode_reply(from(first, HolderMode::exclusive));
  talk.hears(event::Message{before, payload});
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST(Acquire, WhatStrangersPublishIsIgnored) {
  Conversation talk;
  talk.holds_alone();
  for (const char* payload : {"", "{}", "null", R"({"response_channel":7})", R"({"response_channel":""})",
                              R"({"response_channel":"L"})", R"(["response_channel"])", "\xff\xfe"}) {
    EXPECT_EQ(talk.hears_ping(payload), nothing) << payload;
  }
}

// --- those who ping (R6) -----------------------------------------------------------------------------

TEST(Acquire, AnEarlierWriterWhoPingsGoesFirst) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")),
            (Said{talk.answer("L-a", from(second, HolderMode::pending))}));
  talk.hears_answer(leaving(third));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST(Acquire, ALaterWriterWhoPingsDoesNot) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_ping(ping_of(third, "L-a"));
  talk.hears_answer(from(third, HolderMode::pending));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, APingFromBeforeTheOwnOneDoesNotCount) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  talk.hears_ping(ping_of(first, "L-a"));
  talk.hears(event::Joined{2});
  talk.reached(2);
  talk.hears_answer(leaving(first));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, AReaderOrAWaiterWhoPingsIsNoCandidate) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_ping(ping_of(first, "L-a", HolderMode::shared));
  talk.hears_ping(encode(Ping{"L-b", true, {first, 0}, HolderMode::pending, true}));
  talk.hears_answer(leaving(third));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, AfterAPingOfUnknownOriginItAsksAgain) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_ping(R"({"message":"ping","response_channel":"L-python"})");
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), Said{talk.listen()});
  EXPECT_EQ(talk.hears(event::Listening{talk.channel()}), Said{talk.ping()});
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::pending));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds()) << "having heard nobody since";
}

TEST(Acquire, APingInOurNameIsOfUnknownOrigin) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_ping(ping_of(second, "L-twin"));
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), Said{talk.listen()});
}

// --- old peers ---------------------------------------------------------------------------------------

TEST(Acquire, APeerThatMayLagIsAskedOnceMoreAfterAMoment) {
  const std::string old_reply = R"({"holder_id":")" + third + R"(","mode":"pending","protocol":1})";
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer_as_written(old_reply);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
  EXPECT_EQ(talk.after(19ms), nothing);
  EXPECT_EQ(talk.after(1ms), Said{talk.listen()});
  talk.asks_again();
  talk.reached(2);
  talk.hears_answer_as_written(old_reply);
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, WhereOthersListenByPatternAnswersGetAMoment) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2, 3);
  talk.hears_answer(from(third, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
  talk.after(10ms);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Acquire, AForgerWhoListensByPatternGivesHimselfAway) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2, 3);
  talk.hears_answer(from(third, HolderMode::pending));
  talk.concludes();
  talk.after(5ms);
  talk.hears_answer(from(fourth, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), leave);
}

}  // namespace
}  // namespace sublock::core
