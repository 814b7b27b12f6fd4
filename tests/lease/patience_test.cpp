// SPDX-License-Identifier: MIT

// Conversations of those who will not wait, or no longer: a deadline has one last try, and who tries once is told
// at once.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

class Patience : public testing::Test {
 protected:
  Conversation talk;
};

TEST_F(Patience, ADeadlineHasOneLastTry) {
  talk.waits(until(100ms));
  EXPECT_EQ(talk.next_due_in(), 100ms);
  EXPECT_EQ(talk.after(100ms), Said{take("2")}) << "it may have become free since";
  EXPECT_EQ(talk.next_due_in(), 50ms) << "which is short";
  EXPECT_EQ(talk.hears(taken(true)), Said{deafen});
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Patience, ALastTryThatFindsItTakenIsTheEnd) {
  talk.waits(until(100ms));
  talk.after(100ms);
  EXPECT_EQ(talk.hears(taken(false)), Said{look});
  EXPECT_EQ(talk.hears(found_another()), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_TRUE(talk.holder().report().blocker.has_value());
}

TEST_F(Patience, ALastTryWithoutAnswerIsTakenBack) {
  talk.waits(until(100ms));
  talk.after(100ms);
  EXPECT_EQ(talk.after(50ms), (Said{drop("2"), tell}));
  EXPECT_EQ(talk.phase(), Phase::dropping);
  talk.hears(taken(true));
  talk.hears(dropped(true));
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
}

TEST_F(Patience, ATakeInDoubtIsTakenBackAtTheDeadline) {
  talk.takes(until(100ms));
  talk.hears(refused(Verb::take, gone));
  EXPECT_EQ(talk.after(100ms), (Said{drop("1"), tell}));
  talk.hears(dropped(false));
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.why(), "the connection is gone");
}

TEST_F(Patience, AServerThatDoesNotAnswerIsSaidNotTo) {
  talk.takes(until(100ms));
  EXPECT_EQ(talk.after(100ms), (Said{drop("1"), tell}));
  talk.hears(dropped(false));
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.why(), "the server did not answer in time");
}

TEST_F(Patience, ABusyServerIsNoFailure) {
  talk.takes(until(100ms));
  talk.hears(refused(Verb::take, busy));
  talk.after(100ms);
  talk.hears(refused(Verb::take, busy));
  talk.after(50ms);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_EQ(talk.why(), busy.text);
}

TEST_F(Patience, WhoWaitsForALineIsNotKeptLongerThanHeWants) {
  talk.acquire(until(100ms));
  EXPECT_EQ(talk.after(100ms), Said{close});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
}

// --- once --------------------------------------------------------------------------------------------------

TEST_F(Patience, WhoTriesOnceIsToldWhoseItIs) {
  talk.takes(once());
  EXPECT_EQ(talk.hears(taken(false)), Said{look});
  EXPECT_EQ(talk.hears(found_another()), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_TRUE(talk.holder().report().blocker.has_value());
}

TEST_F(Patience, WhoTriesOnceMayTryAgainWhereItHasBecomeFreeMeanwhile) {
  talk.takes(once());
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_nothing), Said{take("2")});
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_nothing), nothing) << "but not for ever";
  EXPECT_EQ(talk.result(), Result::busy);
}

TEST_F(Patience, WhoTriesOnceTakesBackWhatIsInDoubt) {
  talk.takes(once());
  EXPECT_EQ(talk.hears(refused(Verb::take, gone)), (Said{drop("1"), tell}));
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::connect);
}

TEST_F(Patience, WhoTriesOnceDoesNotWaitForABusyServer) {
  talk.takes(once());
  EXPECT_EQ(talk.hears(refused(Verb::take, busy)), nothing) << "nothing was done, so nothing is taken back";
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
}

TEST_F(Patience, WhoTriesOnceGetsAFreeKey) {
  talk.takes(once());
  talk.hears(taken(true));
  EXPECT_TRUE(talk.is_held());
}

}  // namespace
}  // namespace sublock::core::lease
