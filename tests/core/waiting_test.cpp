// SPDX-License-Identifier: MIT

// Conversations of one who waits outside: what he asks there, what brings him in, and what does not.

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

const std::string inbox_of_second = "L-" + second;

/// The second of four, who has found the lock held by the third.
class Outside : public testing::Test {
 protected:
  void gives_way(const Request& request = until_10_seconds()) {
    talk.joins_beside(1, request);
    finds_it_held();
  }
  void finds_it_held() {
    talk.hears_answer(from(third, HolderMode::exclusive));
    EXPECT_EQ(talk.concludes(), leave);
    talk.hears(event::Left{});
    EXPECT_EQ(talk.phase(), Phase::waiting);
  }
  void asks(const Request& request = until_10_seconds()) {
    gives_way(request);
    EXPECT_EQ(talk.hears(event::Listening{talk.inbox()}), Said{talk.question()});
  }
  Said reached(std::size_t subscribers, std::initializer_list<Holder> answers = {}) {
    talk.hears(event::Pinged{talk.inbox(), subscribers, subscribers});
    for (const Holder& answer : answers) EXPECT_EQ(talk.hears_in_inbox(answer), nothing);
    return talk.concludes();
  }
  /// One and a half check intervals, which no pause outlasts.
  Said after_a_while() { return talk.after(375ms); }

  /// What one who looks on is told.
  static Said tells_wait(const std::string& where, std::chrono::milliseconds span) {
    Holder self = from(second, HolderMode::pending);
    self.host = "web-1";
    self.pid = 7;
    self.label = "import";
    self.waiting_for = span;
    return {action::Publish{where, encode_reply(self)}};
  }

  Conversation<> talk;
};

// --- the question --------------------------------------------------------------------------------------

TEST_F(Outside, ListensAtItsInboxAndAsksWhoHasIt) {
  talk.joins_beside(1);
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.inbox(), "");
  talk.concludes();
  EXPECT_EQ(talk.inbox(), inbox_of_second) << "already as it leaves";
  talk.hears(event::Left{});
  EXPECT_EQ(talk.hears(event::Listening{"L-another"}), nothing);
  EXPECT_EQ(talk.hears(event::Listening{talk.inbox()}), Said{talk.question()});
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST_F(Outside, AReaderAsksAsOne) {
  Request request;
  request.mode = LockMode::shared;
  gives_way(request);
  EXPECT_EQ(talk.hears(event::Listening{talk.inbox()}), Said{talk.question(HolderMode::shared)});
}

TEST_F(Outside, AnswersNobody) {
  asks();
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")), nothing);
}

TEST_F(Outside, TellsWhoLooksOnThatItWaitsAndForHowLong) {
  asks();
  talk.after(40ms);
  EXPECT_EQ(talk.hears_in_inbox(roll_call("L-a")), tells_wait("L-a", 40ms));
  for (const auto& round : {std::string("L"), inbox_of_second})
    EXPECT_EQ(talk.hears_in_inbox(roll_call(round)), nothing) << "would go round in circles";
  EXPECT_EQ(reached(1, {from(third, HolderMode::exclusive)}), nothing) << "and it is nobody's answer";
}

TEST_F(Outside, FromInsideItTellsTheSameWhereEverybodyIsAsked) {
  talk.joins_beside(1);
  talk.after(1ms);
  EXPECT_EQ(talk.hears_ping(roll_call("L-a")), tells_wait("L-a", 1ms));
  EXPECT_EQ(talk.hears_answer_as_written(roll_call("L-a")), nothing) << "not where it expects answers";
  EXPECT_EQ(talk.concludes(), nothing);
}

TEST_F(Outside, AsLongAsItIsTakenItAsksAgain) {
  asks();
  for (const Holder& answer : {from(third, HolderMode::exclusive), from(third, HolderMode::pending, true)}) {
    EXPECT_EQ(reached(1, {answer}), nothing);
    EXPECT_EQ(talk.after(124ms), nothing) << "half a check interval is the least";
    EXPECT_EQ(talk.after(251ms), Said{talk.question()});
    EXPECT_EQ(talk.phase(), Phase::waiting);
  }
}

TEST_F(Outside, SilenceNeedsALookFromInsideOnceItHasLasted) {
  asks();
  EXPECT_EQ(after_a_while(), look_at_count)
      << "answers may be late, and a second question would make them later";
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(after_a_while(), Said{talk.join()});
}

TEST_F(Outside, WhoIsSilentForHeIsGoneIsNotWaitedFor) {
  asks();
  EXPECT_EQ(after_a_while(), look_at_count);
  EXPECT_EQ(talk.hears(event::Counted{1}), nothing);
  EXPECT_EQ(talk.hears(event::Counted{0}), Said{talk.join()});
}

TEST_F(Outside, AsLongAsAnswersComeInTheOthersMayBeLate) {
  asks();
  EXPECT_EQ(after_a_while(), look_at_count);
  EXPECT_EQ(reached(3), nothing) << "the server has just delivered it";
  EXPECT_EQ(after_a_while(), look_at_count);
  for (const std::string& id : {first, third}) {
    talk.hears_in_inbox(leaving(id));
    EXPECT_EQ(after_a_while(), look_at_count);
  }
  talk.hears_in_inbox(leaving(third));
  EXPECT_EQ(after_a_while(), Said{talk.join()}) << "the same answer twice is no news";
}

TEST_F(Outside, LateAnswersToAnEarlierQuestionAreNoReasonToGoIn) {
  asks();
  EXPECT_EQ(reached(1, {leaving(first), leaving(third)}), nothing);
  EXPECT_EQ(after_a_while(), look_at_count);
}

TEST_F(Outside, FromInsideTheSameQuestionHasWhatIsLeftOfThePatience) {
  asks();
  after_a_while();
  ASSERT_EQ(after_a_while(), Said{talk.join()});
  EXPECT_EQ(talk.hears(event::Joined{2}), Said{talk.ping()});
  talk.reached(2);
  EXPECT_EQ(talk.after(249ms), look_at_count);
  EXPECT_EQ(talk.after(1ms), Said{action::List{}});
  EXPECT_EQ(talk.hears(event::Listed{{{13, client_name("L", third)}}}), Said{talk.listen()});
  talk.asks_again();
  talk.reached(2);
  EXPECT_EQ(talk.after(999ms), nothing) << "a life depends on the second";
  EXPECT_EQ(talk.after(1ms), Said{action::List{}});
}

TEST_F(Outside, SilenceAfterAnAnswerNeedsALookFromInside) {
  asks();
  reached(1, {from(third, HolderMode::exclusive)});
  EXPECT_EQ(after_a_while(), Said{talk.question()});
  EXPECT_EQ(reached(1), nothing) << "the answer of before is none";
  EXPECT_EQ(after_a_while(), look_at_count);
  EXPECT_EQ(after_a_while(), Said{talk.join()});
}

TEST_F(Outside, WhatCannotBeReadIsAnOwner) {
  asks();
  talk.hears(event::Pinged{talk.inbox(), 1, 1});
  EXPECT_EQ(talk.hears_in_inbox("1700000000.5"), nothing);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(after_a_while(), Said{talk.question()});
}

TEST_F(Outside, AQuestionThatIsRefusedNeedsALookFromInside) {
  asks();
  EXPECT_EQ(talk.hears(event::Refused{Verb::ping, gone}), nothing);
  EXPECT_EQ(after_a_while(), Said{talk.join()});
}

// --- going in unasked ------------------------------------------------------------------------------------

TEST_F(Outside, GoesInAtOnceWhereNobodyIsLeft) {
  asks();
  EXPECT_EQ(talk.concludes(), nothing) << "not before it knows";
  EXPECT_EQ(reached(0), Said{talk.join()});
  EXPECT_EQ(talk.hears(event::Joined{1}), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Outside, GoesInAtOnceWhereOnlyReadersAreLeft) {
  asks();
  EXPECT_EQ(reached(2, {from(third, HolderMode::shared)}), nothing) << "if that is known of all";
  talk.hears_in_inbox(from(first, HolderMode::shared));
  EXPECT_EQ(talk.concludes(), Said{talk.join()});
}

TEST_F(Outside, DoesNotGoInWhereSomebodyIsAboutToTakeIt) {
  asks();
  for (const std::size_t subscribers : {1U, 2U}) {
    EXPECT_EQ(reached(subscribers, {from(fourth, HolderMode::pending)}), nothing);
    EXPECT_EQ(after_a_while(), Said{talk.question()}) << "or to find out who is silent there";
  }
  EXPECT_EQ(reached(1, {leaving(fourth)}), Said{talk.join()}) << "but not who leaves";
}

TEST_F(Outside, TheCountOfAnotherQuestionDoesNotCount) {
  asks();
  talk.hears(event::Pinged{talk.channel(), 0, 0});
  EXPECT_EQ(talk.concludes(), nothing);
}

TEST_F(Outside, GoesInUnaskedOnlyOnceInAWhile) {
  asks();
  ASSERT_EQ(reached(0), Said{talk.join()});
  talk.hears(event::Joined{2});
  finds_it_held();
  talk.hears(event::Listening{talk.inbox()});
  EXPECT_EQ(reached(0), nothing);
  ASSERT_EQ(after_a_while(), Said{talk.join()});
  talk.hears(event::Joined{2});
  finds_it_held();
  talk.hears(event::Listening{talk.inbox()});
  EXPECT_EQ(reached(0), Said{talk.join()}) << "and that while is over";
}

// --- being called --------------------------------------------------------------------------------------

TEST_F(Outside, GoesInAtOnceWhenItIsCalled) {
  for (const HintKind kind : {HintKind::wake, HintKind::next}) {
    for (const bool has_asked : {true, false}) {
      Conversation called;
      called.joins_beside(1);
      called.hears_answer(from(third, HolderMode::exclusive));
      called.concludes();
      called.hears(event::Left{});
      if (has_asked) called.hears(event::Listening{called.inbox()});
      EXPECT_EQ(called.hears_in_inbox(encode(Hint{kind, {}})), Said{called.join()});
      EXPECT_FALSE(called.armed(Timer::again));
      called.hears(event::Joined{2});
      EXPECT_EQ(called.phase(), Phase::probing) << "a hint is no lock";
    }
  }
}

TEST_F(Outside, IsNotCalledElsewhereOrBeforeItHasLeft) {
  talk.joins_beside(1);
  talk.hears_answer(from(third, HolderMode::exclusive));
  talk.concludes();
  const std::string wake = encode(Hint{HintKind::wake, {}});
  EXPECT_EQ(talk.hears_in_inbox(wake), nothing);
  talk.hears(event::Left{});
  for (const std::string& channel : {std::string("L"), talk.channel(), "L-" + first, std::string()}) {
    EXPECT_EQ(talk.hears(event::Message{channel, wake}), nothing) << channel;
  }
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST_F(Outside, BringsTheLineAlongThatTheHintTold) {
  asks();
  talk.hears_in_inbox(encode(Hint{HintKind::wake, {'w' + fourth, 'r' + first}}));
  EXPECT_EQ(talk.hears(event::Joined{1}),
            (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::next, {'r' + first}})}}));
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Outside, ForgetsTheLineThatAnEarlierHintTold) {
  asks();
  talk.hears_in_inbox(encode(Hint{HintKind::wake, {'w' + fourth}}));
  talk.hears(event::Joined{2});
  finds_it_held();
  ASSERT_EQ(after_a_while(), Said{talk.join()});
  EXPECT_EQ(talk.hears(event::Joined{1}), nothing) << "who knows where they are by now";
  EXPECT_EQ(talk.release(), leave);
}

// --- where there is no inbox -----------------------------------------------------------------------------

TEST_F(Outside, AnInboxThatIsRefusedLeavesTheOldWay) {
  gives_way();
  EXPECT_EQ(talk.hears(event::Refused{Verb::listen, {Errc::permission, "NOPERM"}}), nothing);
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.hears_in_inbox(encode(Hint{HintKind::wake, {}})), nothing);
  EXPECT_EQ(after_a_while(), Said{talk.join()});
  talk.hears(event::Joined{2});
  finds_it_held();
  EXPECT_EQ(talk.hears(event::Listening{talk.inbox()}), Said{talk.question()}) << "each time anew";
}

TEST_F(Outside, AnEarThatIsLostIsReplacedWhenItIsTime) {
  asks();
  reached(1, {from(third, HolderMode::exclusive)});
  EXPECT_EQ(talk.hears(event::Lost{gone}), nothing);
  EXPECT_EQ(talk.hears_in_inbox(encode(Hint{HintKind::wake, {}})), nothing);
  EXPECT_EQ(after_a_while(), Said{action::Open{"L"}});
  EXPECT_EQ(talk.hears(event::Opened{}), Said{talk.join()});
}

// --- a polite beginning ------------------------------------------------------------------------------------

class Polite : public Outside {
 protected:
  static Request polite() {
    Request request = until_10_seconds();
    request.polite = true;
    return request;
  }
  void begins(const Request& request = polite()) {
    EXPECT_EQ(talk.acquire(request), Said{action::Open{"L"}});
    EXPECT_EQ(talk.hears(event::Opened{}), nothing);
    EXPECT_EQ(talk.inbox(), inbox_of_second);
    EXPECT_EQ(talk.phase(), Phase::waiting);
    EXPECT_EQ(talk.hears(event::Listening{talk.inbox()}), Said{talk.question()});
  }
};

TEST_F(Polite, BehindWhoeverHasIt) {
  begins();
  EXPECT_EQ(reached(1, {from(third, HolderMode::exclusive)}), nothing);
  EXPECT_EQ(after_a_while(), Said{talk.question()});
}

TEST_F(Polite, BehindWhoeverIsAboutToTakeIt) {
  begins();
  EXPECT_EQ(reached(1, {from(third, HolderMode::pending)}), nothing);
}

TEST_F(Polite, AtOnceWhereNobodyIs) {
  begins();
  EXPECT_EQ(reached(0), Said{talk.join()});
}

TEST_F(Polite, NoLongerThanTheOthersWhereNobodyAnswers) {
  begins();
  EXPECT_EQ(after_a_while(), look_at_count);
  EXPECT_EQ(after_a_while(), Said{talk.join()});
}

TEST_F(Polite, OnlyTheFirstTime) {
  begins();
  talk.hears(event::Lost{gone});
  EXPECT_EQ(after_a_while(), Said{action::Open{"L"}});
  EXPECT_EQ(talk.hears(event::Opened{}), Said{talk.join()});
}

TEST_F(Polite, NotForOneWhoWillNotWait) {
  Request once = polite();
  Request fails = polite();
  once.once = fails.fail_when_locked = true;
  for (const Request& request : {once, fails}) {
    Conversation other;
    other.acquire(request);
    EXPECT_EQ(other.hears(event::Opened{}), Said{other.join()});
  }
}

// --- giving up -------------------------------------------------------------------------------------------

TEST_F(Outside, AnErrorNamesWhoeverAnsweredLast) {
  asks();
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
  reached(1, {from(fourth, HolderMode::exclusive)});
  EXPECT_EQ(talk.after(20s), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, fourth);
}

TEST_F(Outside, AnErrorNamesWhoeverWasInTheWayInsideIfNobodyAnswers) {
  asks();
  EXPECT_EQ(talk.after(20s), nothing);
  EXPECT_EQ(talk.result(), Result::busy);
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
}

TEST_F(Outside, CancellingNeedsNoGoodBye) {
  asks();
  EXPECT_EQ(talk.cancel(), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::cancelled);
  EXPECT_EQ(talk.hears_in_inbox(encode(Hint{HintKind::wake, {}})), nothing);
  EXPECT_EQ(talk.participant().next_due(), std::nullopt);
}

}  // namespace
}  // namespace sublock::core
