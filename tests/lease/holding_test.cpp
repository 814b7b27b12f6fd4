// SPDX-License-Identifier: MIT

// Conversations of owners: extending on time, what confirms it and what does not, and how the lock is lost.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

class Holding : public testing::Test {
 protected:
  void SetUp() override { talk.holds(); }

  void expect_lost(const std::string& why) const {
    EXPECT_EQ(talk.phase(), Phase::idle);
    EXPECT_FALSE(talk.is_held());
    EXPECT_EQ(talk.result(), Result::lost);
    EXPECT_EQ(talk.code(), Errc::lost);
    EXPECT_EQ(talk.why(), why);
  }

  Conversation talk;
};

TEST_F(Holding, TheLeaseIsExtendedInEachInterval) {
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(talk.next_due_in(), 1s);
    EXPECT_EQ(talk.after(1s - 1ns), nothing);
    EXPECT_EQ(talk.after(1ns), Said{extend("1")});
    EXPECT_EQ(talk.hears(extended(true)), nothing);
    EXPECT_TRUE(talk.is_held());
    EXPECT_EQ(talk.confirmed_for(), lease_time);
  }
}

TEST_F(Holding, AnExtensionCountsFromBeforeItWasAskedFor) {
  talk.after(1s);
  talk.passes(300ms);
  talk.hears(extended(true));
  EXPECT_EQ(talk.confirmed_for(), lease_time - 300ms);
  EXPECT_EQ(talk.next_due_in(), 700ms);
}

TEST_F(Holding, AnExtensionIsAskedForOnceAtATime) {
  talk.after(1s);
  EXPECT_EQ(talk.after(500ms), nothing);
  EXPECT_EQ(talk.next_due_in(), 500ms) << "until the lease is over";
}

TEST_F(Holding, AnAnswerThatNeverComesIsALossWhenTheLeaseIsOver) {
  talk.after(1s);
  EXPECT_EQ(talk.after(1s - 1ns), nothing);
  EXPECT_TRUE(talk.is_held());
  EXPECT_EQ(talk.after(1ns), Said{drop("1")}) << "should it be there still, nobody need wait for it";
  expect_lost("its lease could not be extended in time: no answer from the server");
}

TEST_F(Holding, NothingIsClaimedOnceTheLeaseIsOverThoughNobodyLooked) {
  talk.passes(lease_time - 1ns);
  EXPECT_TRUE(talk.is_held());
  talk.passes(1ns);
  EXPECT_TRUE(talk.holder().holds());
  EXPECT_FALSE(talk.is_held());
}

TEST_F(Holding, ARefusedExtensionIsTriedAgainUntilTheLeaseIsOver) {
  EXPECT_EQ(talk.after(1s), Said{extend("1")});
  int times = 0;
  for (; talk.confirmed_for() > 10ms; ++times) {
    EXPECT_EQ(talk.hears(refused(Verb::extend, busy)), nothing);
    EXPECT_EQ(talk.next_due_in(), std::clamp<Duration>(talk.confirmed_for() / 4, 10ms, 250ms))
        << "sooner and sooner";
    EXPECT_EQ(talk.after_next_timer(), Said{extend("1")});
    EXPECT_TRUE(talk.is_held());
  }
  EXPECT_GE(times, 10);
  talk.hears(refused(Verb::extend, busy));
  EXPECT_EQ(talk.after_next_timer(), Said{drop("1")});
  EXPECT_EQ(talk.confirmed_for(), 0ms);
  expect_lost("its lease could not be extended in time: " + busy.text);
}

TEST_F(Holding, ARefusedExtensionThatSucceedsLaterIsNoLoss) {
  for (const Failure& failure : {busy, gone, no_permission}) {
    EXPECT_EQ(talk.after(1s), Said{extend("1")});
    talk.hears(refused(Verb::extend, failure));
    EXPECT_EQ(talk.after(250ms), Said{extend("1")});
    talk.hears(extended(true));
    EXPECT_TRUE(talk.is_held());
    EXPECT_EQ(talk.confirmed_for(), lease_time);
  }
}

TEST_F(Holding, AnExtensionThatWasNotDoneIsALossAtOnce) {
  talk.after(1s);
  EXPECT_EQ(talk.hears(extended(false)), Said{drop("1")});
  expect_lost("the key is gone, or somebody else's");
}

TEST_F(Holding, AnAnswerAfterTheLeaseIsOverComesTooLateForWhoHasLookedMeanwhile) {
  talk.after(1s);
  talk.after(1s);
  EXPECT_EQ(talk.result(), Result::lost);
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
}

TEST_F(Holding, WhatWasSaidToWaitersIsNothingToAnOwner) {
  EXPECT_EQ(talk.hears_message(release_channel("K"), ""), nothing);
  EXPECT_EQ(talk.hears(event::Listening{"K"}), nothing);
  EXPECT_EQ(talk.hears(found_another()), nothing);
  EXPECT_EQ(talk.hears(taken(false)), nothing);
  EXPECT_EQ(talk.hears(dropped(true)), nothing);
  EXPECT_TRUE(talk.is_held());
}

// --- doubts ------------------------------------------------------------------------------------------------

TEST_F(Holding, WhoStoodStillSaysNothingUntilTheLeaseIsExtended) {
  EXPECT_EQ(talk.hears(standstill), Said{extend("1")});
  EXPECT_TRUE(talk.holder().holds());
  EXPECT_FALSE(talk.is_held());
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Holding, AnAnswerOfBeforeItStoodStillEndsNoDoubt) {
  talk.after(1s);
  EXPECT_EQ(talk.hears(standstill), Said{extend("1")});
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_FALSE(talk.is_held());
  EXPECT_EQ(talk.confirmed_for(), 1s) << "nor does it confirm anything";
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Holding, NorDoesOneThatWasRefused) {
  talk.after(1s);
  talk.hears(standstill);
  talk.hears(refused(Verb::extend, gone));
  talk.hears(refused(Verb::extend, gone));
  EXPECT_FALSE(talk.is_held());
  EXPECT_EQ(talk.after(250ms), Said{extend("1")});
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Holding, AnAnswerOfBeforeThatTheKeyIsGoneIsBelieved) {
  talk.after(1s);
  talk.hears(standstill);
  EXPECT_EQ(talk.hears(extended(false)), Said{drop("1")});
  expect_lost("the key is gone, or somebody else's");
}

TEST_F(Holding, WhoStoodStillForLongerThanItsLeaseHasLostIt) {
  talk.passes(lease_time);
  EXPECT_EQ(talk.hears(standstill), Said{drop("1")});
  expect_lost("its lease could not be extended in time: no answer from the server");
}

TEST_F(Holding, EachDoubtWantsAnExtensionOfItsOwn) {
  talk.hears(standstill);
  EXPECT_EQ(talk.hears(standstill), Said{extend("1")});
  talk.hears(extended(true));
  EXPECT_FALSE(talk.is_held());
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
}

}  // namespace
}  // namespace sublock::core::lease
