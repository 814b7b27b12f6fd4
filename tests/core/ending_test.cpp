// SPDX-License-Identifier: MIT

// How an attempt, or a hold, ends before its time, from each phase: the deadline, the caller who gives up,
// a connection that is lost, a server that refuses.

#include "conversation.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

/// A phase, and how one gets there.
struct Place {
  Phase phase;
  bool joined;
  std::function<void(Conversation<>&)> go;
};

void go_probing(Conversation<>& talk) {
  talk.joins_beside(1, until_10_seconds());
  talk.reached(2);
}

void go_examining(Conversation<>& talk) {
  go_probing(talk);
  talk.after(1s);
}

void go_killing(Conversation<>& talk) {
  go_examining(talk);
  talk.hears(event::Listed{{{3, client_name("L", third)}}});
  talk.asks_again();
  talk.reached(2);
  talk.after(1s);
  talk.hears(event::Listed{{{3, client_name("L", third)}}});
}

std::vector<Place> places() {
  return {
      {Phase::opening, false, [](auto& talk) { talk.acquire(until_10_seconds()); }},
      {Phase::joining, true,
       [](auto& talk) {
         talk.acquire(until_10_seconds());
         talk.hears(event::Opened{});
       }},
      {Phase::probing, true, go_probing},
      {Phase::tuning, true,
       [](auto& talk) {
         go_probing(talk);
         talk.hears(event::Counted{1});
       }},
      {Phase::examining, true, go_examining},
      {Phase::killing, true, go_killing},
      {Phase::resting, true,
       [](auto& talk) {
         go_probing(talk);
         talk.hears_answer(holding(from(third, HolderMode::shared)));
         talk.concludes();
       }},
      {Phase::waiting, false,
       [](auto& talk) {
         go_probing(talk);
         talk.hears_answer(from(third, HolderMode::exclusive));
         talk.concludes();
         talk.hears(event::Left{});
       }},
  };
}

class Ending : public testing::TestWithParam<Place> {
 protected:
  Ending() {
    GetParam().go(talk);
    EXPECT_EQ(talk.phase(), GetParam().phase);
  }

  /// Says good-bye where it is subscribed, closes what it was just opening, and else says nothing.
  void expect_good_bye(const Said& said) {
    if (GetParam().joined) {
      EXPECT_EQ(said, leave);
      EXPECT_EQ(talk.phase(), Phase::leaving);
      EXPECT_FALSE(talk.participant().is_trying());
      EXPECT_EQ(talk.hears(event::Left{}), nothing);
    } else {
      EXPECT_EQ(said, GetParam().phase == Phase::opening ? Said{action::Close{}} : nothing);
    }
    EXPECT_EQ(talk.phase(), Phase::idle);
    EXPECT_EQ(talk.participant().next_due(), std::nullopt);
  }

  Conversation<> talk;
};

TEST_P(Ending, ByTheDeadline) {
  // Much is due by then; the deadline goes first.
  expect_good_bye(talk.after(20s));
  const bool no_answer = GetParam().phase == Phase::opening || GetParam().phase == Phase::joining;
  EXPECT_EQ(talk.result(), no_answer ? Result::failed : Result::busy);
}

TEST_P(Ending, ByTheCaller) {
  expect_good_bye(talk.cancel());
  EXPECT_EQ(talk.result(), Result::cancelled);
  EXPECT_EQ(talk.participant().failure().code, Errc::cancelled);
}

TEST_P(Ending, NotByALoss) {
  if (GetParam().phase == Phase::waiting) {
    EXPECT_EQ(talk.hears(event::Lost{gone}), nothing);
    EXPECT_EQ(talk.after(375ms), Said{action::Open{"L"}}) << "the next try needs another ear";
    return;
  }
  EXPECT_EQ(talk.hears(event::Lost{gone}), nothing);
  EXPECT_EQ(talk.phase(), Phase::waiting);
  if (GetParam().phase == Phase::opening) {
    EXPECT_EQ(talk.after(124ms), nothing) << "a server that can't be reached is not hurried";
    EXPECT_EQ(talk.after(251ms), Said{action::Open{"L"}});
  } else {
    EXPECT_EQ(talk.after(0ms), Said{action::Open{"L"}})
        << "a connection that had gone stale is no reason to wait";
  }
}

TEST_P(Ending, ByALossThatNoRetryCures) {
  if (GetParam().phase == Phase::waiting) return;
  talk.hears(event::Lost{{Errc::auth, "WRONGPASS"}});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure().text, "WRONGPASS");
}

TEST_P(Ending, ByAbandoning) {
  Said out;
  auto copy = talk.participant();
  copy.abandon(out);
  EXPECT_EQ(out, Said{action::Close{}});
  EXPECT_EQ(copy.phase(), Phase::idle);
  EXPECT_EQ(copy.next_due(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(FromEachPhase, Ending, testing::ValuesIn(places()),
                         [](const auto& test) { return testing::PrintToString(test.param.phase); });

// --- leaving -----------------------------------------------------------------------------------------

TEST(Leaving, TheDeadlineComesWhileOneMakesWay) {
  Conversation talk;
  go_probing(talk);
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave);
  EXPECT_EQ(talk.after(10s), nothing) << "it is said already";
  talk.hears(event::Left{});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_EQ(talk.participant().blockers().size(), 1U);
}

TEST(Leaving, TheCallerGivesUpWhileOneMakesWay) {
  Conversation talk;
  go_probing(talk);
  talk.hears_answer(from(third, HolderMode::exclusive));
  talk.concludes();
  EXPECT_EQ(talk.cancel(), nothing);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::cancelled);
}

TEST(Leaving, ALossIsAsGoodAsAGoodBye) {
  Conversation talk;
  go_probing(talk);
  talk.hears_answer(from(third, HolderMode::exclusive));
  talk.concludes();
  talk.hears(event::Lost{gone});
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST(Leaving, AReleaseThatNobodyConfirmedIsALoss) {
  Conversation talk;
  talk.holds_alone();
  talk.release();
  talk.hears(event::Lost{gone});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::lost);
}

// --- holding (R11) -----------------------------------------------------------------------------------

TEST(Holding, ALossIsFinal) {
  Conversation talk;
  talk.holds_alone();
  EXPECT_EQ(talk.hears(event::Lost{gone}), nothing) << "nothing reconnects behind its back";
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::lost);
  EXPECT_EQ(talk.participant().failure().code, Errc::lost);
  EXPECT_EQ(talk.participant().failure().text, gone.text);
  EXPECT_EQ(talk.release(), nothing);
}

TEST(Holding, ThereIsNothingToCancel) {
  Conversation talk;
  talk.holds_alone(until_10_seconds());
  EXPECT_EQ(talk.cancel(), nothing);
  EXPECT_EQ(talk.after(20s), nothing) << "nor does the deadline matter any more";
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Holding, WhatComesTooLateChangesNothing) {
  Conversation talk;
  talk.holds_alone();
  EXPECT_EQ(talk.hears(event::Pinged{talk.channel(), 5, 5}), nothing);
  EXPECT_EQ(talk.hears(event::Counted{0}), nothing);
  EXPECT_EQ(talk.hears(event::Listed{}), nothing);
  EXPECT_EQ(talk.hears(event::Killed{0}), nothing);
  EXPECT_EQ(talk.hears(event::Incremented{7}), nothing);
  EXPECT_EQ(talk.hears(event::Joined{7}), nothing);
  EXPECT_EQ(talk.hears(event::Listening{talk.channel()}), nothing);
  EXPECT_EQ(talk.hears(event::Left{}), nothing);
  EXPECT_EQ(talk.hears(event::Opened{}), nothing);
  for (const Verb verb :
       {Verb::join, Verb::listen, Verb::leave, Verb::ping, Verb::count, Verb::list, Verb::kill}) {
    EXPECT_EQ(talk.hears(event::Refused{verb, gone}), nothing);
  }
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.participant().fence_token(), std::nullopt);
}

// --- not at any price --------------------------------------------------------------------------------

Request once() {
  Request request;
  request.once = true;
  return request;
}

Request fail_when_locked() {
  Request request;
  request.fail_when_locked = true;
  return request;
}

TEST(Once, ALockThatIsHeldIsBusy) {
  for (const Request& request : {once(), fail_when_locked()}) {
    Conversation talk;
    talk.joins_beside(1, request);
    talk.hears_answer(from(third, HolderMode::exclusive));
    EXPECT_EQ(talk.concludes(), leave);
    talk.hears(event::Left{});
    EXPECT_EQ(talk.phase(), Phase::idle);
    EXPECT_EQ(talk.result(), Result::busy);
    ASSERT_EQ(talk.participant().blockers().size(), 1U);
    EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
  }
}

TEST(Once, ALockThatReadersHoldIsBusy) {
  for (const Request& request : {once(), fail_when_locked()}) {
    Conversation talk;
    talk.joins_beside(1, request);
    talk.reached(2);
    talk.hears_answer(holding(from(third, HolderMode::shared)));
    EXPECT_EQ(talk.concludes(), leave);
    talk.hears(event::Left{});
    EXPECT_EQ(talk.result(), Result::busy);
  }
}

TEST(Once, AReaderWhoOnlyTriesIsWaitedFor) {
  Conversation talk;
  talk.joins_beside(1, once());
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::shared));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
}

TEST(Once, WhereNobodyCanTellOnlyOnceGivesUp) {
  for (const bool gives_up : {true, false}) {
    Conversation talk;
    talk.joins_beside(1, gives_up ? once() : fail_when_locked());
    talk.reached(2);
    talk.hears_answer(from(second, HolderMode::pending));
    EXPECT_EQ(talk.concludes(), leave);
    talk.hears(event::Left{});
    EXPECT_EQ(talk.phase(), gives_up ? Phase::idle : Phase::waiting);
  }
}

// --- refusals ------------------------------------------------------------------------------------------

const Failure forbidden{Errc::permission, "NOPERM No permissions to access a channel"};
const Failure loading{Errc::busy, "LOADING Redis is loading the dataset in memory"};

TEST(Refused, AJoinThatIsForbiddenEndsTheAttempt) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears(event::Refused{Verb::join, forbidden}), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure(), forbidden);
}

TEST(Refused, AJoinThatIsPutOffIsTriedAgain) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  talk.hears(event::Refused{Verb::join, loading});
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.after(375ms), Said{talk.join()});
}

TEST(Refused, AJoinThatIsPutOffUntilTheDeadlineIsBusyAndSaysWhy) {
  Conversation talk;
  talk.acquire(until_10_seconds());
  talk.hears(event::Opened{});
  talk.hears(event::Refused{Verb::join, loading});
  talk.after(20s);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_EQ(talk.participant().trouble(), loading.text);
}

TEST(Refused, APingThatIsForbiddenEndsTheAttemptPolitely) {
  Conversation talk;
  talk.joins_beside(1);
  EXPECT_EQ(talk.hears(event::Refused{Verb::ping, forbidden}), leave);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure(), forbidden);
}

TEST(Refused, APingWhoseConnectionBrokeIsAskedAgain) {
  Conversation talk;
  talk.joins_beside(1);
  EXPECT_EQ(talk.hears(event::Refused{Verb::ping, gone}), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
  EXPECT_EQ(talk.after(20ms), Said{talk.listen()});
}

TEST(Refused, AListenThatIsForbiddenEndsTheAttempt) {
  Conversation talk;
  go_probing(talk);
  talk.hears(event::Counted{1});
  ASSERT_EQ(talk.phase(), Phase::tuning);
  EXPECT_EQ(talk.hears(event::Refused{Verb::listen, forbidden}), leave);
}

// --- a server that can't be reached -----------------------------------------------------------------------

TEST(Unreachable, IsTriedAgainUntilTheDeadline) {
  Conversation talk;
  talk.holds_alone();  // so the server has answered once
  talk.release();
  talk.hears(event::Left{});
  Request request;
  request.deadline = Instant(std::chrono::hours(1)) + 60s;
  talk.acquire(request);
  talk.hears(event::Lost{gone});
  int tries = 0;
  while (talk.phase() != Phase::idle) {
    if (talk.after_next_timer() == Said{action::Open{"L"}}) {
      ++tries;
      talk.hears(event::Lost{gone});
    }
  }
  EXPECT_GT(tries, 100);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure(), gone);
}

TEST(Unreachable, ThatNeverAnsweredIsGivenUpAfterAWhile) {
  Conversation talk;
  talk.acquire();
  while (talk.hears(event::Lost{gone}), talk.phase() != Phase::idle) {
    ASSERT_EQ(talk.after_next_timer(), Said{action::Open{"L"}});
    ASSERT_LE(talk.elapsed(), 6s);
  }
  EXPECT_GE(talk.elapsed(), 5s);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.participant().failure(), gone);
}

}  // namespace
}  // namespace sublock::core
