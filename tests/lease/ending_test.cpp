// SPDX-License-Identifier: MIT

// Conversations that end: the key is given back, or the attempt is given up, and no key is left behind.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

class Ending : public testing::Test {
 protected:
  /// Waiting to hear that the key is gone.
  void expect_dropping(const Said& said, const std::string& mark) const {
    EXPECT_EQ(said, (Said{drop(mark), tell}));
    EXPECT_EQ(talk.phase(), Phase::dropping);
    EXPECT_FALSE(talk.holder().holds());
  }

  void expect_cancelled() const {
    EXPECT_EQ(talk.phase(), Phase::idle);
    EXPECT_EQ(talk.result(), Result::cancelled);
    EXPECT_EQ(talk.next_due_in(), std::nullopt);
  }

  Conversation talk;
};

// --- release -----------------------------------------------------------------------------------------------

TEST_F(Ending, WhoReleasesDropsTheKeyAndTellsThoseWhoWait) {
  talk.holds();
  expect_dropping(talk.release(), "1");
  EXPECT_TRUE(talk.released());
  EXPECT_EQ(talk.hears(dropped(true)), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::released);
}

TEST_F(Ending, WhoseKeyWasGoneIsToldThatItWasLost) {
  talk.holds();
  talk.release();
  talk.hears(dropped(false));
  EXPECT_EQ(talk.result(), Result::lost);
  EXPECT_EQ(talk.why(), "the key was not ours any more");
}

TEST_F(Ending, WhoReleasesAfterTheLeaseIsOverIsToldThatItWasLost) {
  talk.holds();
  talk.passes(lease_time);
  EXPECT_EQ(talk.release(), Said{drop("1")}) << "which touches nobody else's key";
  EXPECT_FALSE(talk.released());
  EXPECT_EQ(talk.result(), Result::lost);
}

TEST_F(Ending, OnlyAnOwnerReleases) {
  EXPECT_EQ(talk.release(), nothing);
  EXPECT_FALSE(talk.released());
  talk.waits();
  EXPECT_EQ(talk.release(), nothing);
  EXPECT_FALSE(talk.released());
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST_F(Ending, AnExtensionUnderWayDoesNotDisturbTheRelease) {
  talk.holds();
  talk.after(1s);
  expect_dropping(talk.release(), "1");
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_EQ(talk.phase(), Phase::dropping);
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::released);
}

TEST_F(Ending, ADropWithoutAnswerIsRepeatedAtOnce) {
  talk.holds();
  talk.release();
  EXPECT_EQ(talk.hears(refused(Verb::drop, gone)), nothing);
  EXPECT_EQ(talk.next_due_in(), 25ms);
  expect_dropping(talk.after(25ms), "1");
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::released);
}

TEST_F(Ending, ADropThatIsNotAllowedIsNotRepeated) {
  talk.holds();
  talk.release();
  talk.hears(refused(Verb::drop, no_permission));
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::lost) << "nobody has confirmed that it was ours";
}

TEST_F(Ending, WhoWaitsNoLongerForTheConfirmationHasNone) {
  talk.holds();
  talk.release();
  EXPECT_EQ(talk.abandon(), Said{close});
  EXPECT_EQ(talk.result(), Result::lost);
}

TEST_F(Ending, ADoubtDoesNotKeepAnybodyFromGivingBack) {
  talk.holds();
  talk.hears(standstill);
  expect_dropping(talk.release(), "1");
  talk.hears(extended(true));
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::released);
}

// --- cancel, from every phase --------------------------------------------------------------------------------

TEST_F(Ending, CancelledWhileItOpens) {
  talk.acquire();
  EXPECT_EQ(talk.cancel(), Said{close});
  expect_cancelled();
}

TEST_F(Ending, CancelledWhileItTakes) {
  talk.takes();
  expect_dropping(talk.cancel(), "1");
  EXPECT_EQ(talk.hears(taken(true)), nothing) << "it is not wanted any more";
  EXPECT_EQ(talk.phase(), Phase::dropping);
  talk.hears(dropped(true));
  expect_cancelled();
}

TEST_F(Ending, CancelledWhileItLooks) {
  talk.takes();
  talk.hears(taken(false));
  EXPECT_EQ(talk.cancel(), nothing) << "it is somebody else's";
  expect_cancelled();
  EXPECT_EQ(talk.hears(found_nothing), nothing);
}

TEST_F(Ending, CancelledWhileItWaits) {
  talk.waits();
  EXPECT_EQ(talk.cancel(), nothing);
  expect_cancelled();
  EXPECT_EQ(talk.hears_message(release_channel("K"), ""), nothing);
}

TEST_F(Ending, CancelledWhileATakeIsInDoubt) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  expect_dropping(talk.cancel(), "1");
  talk.hears(dropped(true));
  expect_cancelled();
}

TEST_F(Ending, CancelledWhileItLooksForWhatBecameOfATake) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  talk.after_next_timer();
  expect_dropping(talk.cancel(), "1");
  EXPECT_EQ(talk.hears(talk.found_own()), nothing);
  talk.hears(dropped(true));
  expect_cancelled();
}

TEST_F(Ending, CancelledWhileItProves) {
  talk.takes(fenced());
  talk.hears(taken(true));
  expect_dropping(talk.cancel(), "1");
  talk.hears(event::Incremented{1});
  talk.hears(extended(true));
  EXPECT_EQ(talk.phase(), Phase::dropping);
  talk.hears(dropped(true));
  expect_cancelled();
}

TEST_F(Ending, CancelledTooLate) {
  talk.holds();
  EXPECT_EQ(talk.cancel(), nothing);
  EXPECT_TRUE(talk.is_held());
  talk.release();
  EXPECT_EQ(talk.cancel(), nothing);
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::released);
}

TEST_F(Ending, WhoIsCancelledAndWaitsNoLongerIsCancelledAllTheSame) {
  talk.takes();
  talk.cancel();
  EXPECT_EQ(talk.abandon(), Said{close});
  expect_cancelled();
}

}  // namespace
}  // namespace sublock::core::lease
