// SPDX-License-Identifier: MIT

// Conversations of those who want a key: taking it, looking whose it is, waiting, and hearing that it is free.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

class Taking : public testing::Test {
 protected:
  Conversation talk;
};

TEST_F(Taking, AFreeKeyIsHeldAtOnce) {
  talk.takes();
  EXPECT_FALSE(talk.holder().holds());
  EXPECT_EQ(talk.hears(taken(true)), nothing);
  EXPECT_TRUE(talk.is_held());
  EXPECT_EQ(talk.result(), Result::acquired);
  EXPECT_EQ(talk.holder().fence_token(), std::nullopt);
}

TEST_F(Taking, TheLeaseCountsFromBeforeItWasAskedFor) {
  talk.takes();
  talk.passes(300ms);
  talk.hears(taken(true));
  EXPECT_EQ(talk.confirmed_for(), lease_time - 300ms);
  EXPECT_EQ(talk.next_due_in(), 700ms) << "and so does the interval of extensions";
}

TEST_F(Taking, ALeaseThatIsOverWhenItIsHeardOfIsNone) {
  talk.takes();
  talk.passes(lease_time);
  EXPECT_EQ(talk.hears(taken(true)), Said{drop("1")});
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.hears(dropped(false)), nothing);
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")});
}

TEST_F(Taking, ALeaseThatIsAlmostOverIsOne) {
  talk.takes();
  talk.passes(lease_time - 1ns);
  EXPECT_EQ(talk.hears(taken(true)), nothing);
  EXPECT_TRUE(talk.is_held());
  talk.passes(1ns);
  EXPECT_FALSE(talk.is_held());
}

TEST_F(Taking, AReleaseIsNotForgottenWhereItIsHeardBeforeAnAnswerThatIsOlder) {
  talk.waits();
  talk.hears(event::Listening{"K"});
  for (const bool while_looking : {false, true}) {
    EXPECT_EQ(talk.phase(), Phase::taking);
    if (!while_looking) {
      EXPECT_EQ(talk.hears_message(release_channel("K"), ""), nothing);
    }
    talk.hears(taken(false));
    if (while_looking) {
      EXPECT_EQ(talk.hears_message(release_channel("K"), ""), nothing);
    }
    const Said again = talk.hears(found_another());
    ASSERT_EQ(again.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<action::Take>(again[0])) << "he tries again instead of waiting";
  }
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another()), nothing) << "once";
}

// --- somebody else has it --------------------------------------------------------------------------------

TEST_F(Taking, WhoIsRefusedLooksAndListensAndTriesAgainOnceHeListens) {
  talk.takes();
  EXPECT_EQ(talk.hears(taken(false)), Said{look});
  EXPECT_EQ(talk.phase(), Phase::looking);
  EXPECT_EQ(talk.hears(found_another()), Said{hear});
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.hears(event::Listening{"K"}), Said{take("2")}) << "it may have become free before";
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another()), nothing) << "he hears already";
}

TEST_F(Taking, WhoFindsNothingTakesItAtOnce) {
  talk.takes();
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_nothing), Said{take("2")});
  talk.hears(taken(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Taking, WhoWaitsLooksNowAndThen) {
  talk.waits();
  EXPECT_GE(talk.next_due_in(), 250ms);
  EXPECT_LE(talk.next_due_in(), 750ms);
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")});
}

TEST_F(Taking, WhoWaitsTriesAgainWhenTheKeyExpires) {
  talk.takes();
  talk.hears(taken(false));
  talk.hears(found_another(30ms));
  EXPECT_EQ(talk.next_due_in(), 31ms) << "what is left is told in whole milliseconds";
  EXPECT_EQ(talk.after(31ms), Said{take("2")});
}

TEST_F(Taking, AKeyWithoutExpiryIsWaitedForToo) {
  talk.takes(until(1s));
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another(std::nullopt)), Said{hear});
  EXPECT_LE(talk.next_due_in(), 750ms);
  EXPECT_EQ(talk.after(1s), Said{take("2")});
  talk.hears(taken(false));
  talk.hears(found_another(std::nullopt));
  EXPECT_EQ(talk.result(), Result::busy);
  ASSERT_TRUE(talk.holder().report().blocker.has_value());
  EXPECT_EQ(talk.holder().report().blocker->left, std::nullopt) << "for the error that says so";
}

TEST_F(Taking, ReleasesAreHeardOf) {
  const std::string free = release_channel("K");
  for (const auto& [channel, payload] : {std::pair(free, std::string()),
                                         {free, "rubbish"},
                                         {"__keyspace@0__:K", "del"},
                                         {"__keyspace@0__:K", "expired"},
                                         {"__keyspace@0__:K", "evicted"}}) {
    Conversation one;
    one.waits();
    EXPECT_EQ(one.hears_message(channel, payload), Said{take("2")}) << channel << ' ' << payload;
    EXPECT_EQ(one.hears_message(channel, payload), nothing) << "one try at a time";
  }
}

TEST_F(Taking, AllElseThatIsHeardIsNoRelease) {
  talk.waits();
  EXPECT_EQ(talk.hears_message("__keyspace@0__:K", "set"), nothing);
  EXPECT_EQ(talk.hears_message("K", "free"), nothing);
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST_F(Taking, WhoHasItHearsNoMore) {
  talk.waits();
  talk.hears_message(release_channel("K"), "");
  EXPECT_EQ(talk.hears(taken(true)), Said{deafen});
}

TEST_F(Taking, WhoMayNotListenLooksFromTimeToTime) {
  talk.waits();
  const Said said = talk.hears(refused(Verb::listen, no_permission));
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(std::get<action::Warn>(said[0]).text.find("NOPERM"), std::string::npos);
  talk.after_next_timer();
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another()), nothing) << "he doesn't ask again";
}

TEST_F(Taking, WhoCouldNotListenJustNowAsksAgain) {
  talk.waits();
  talk.hears(refused(Verb::listen, gone));
  talk.after_next_timer();
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another()), Said{hear});
}

TEST_F(Taking, SomethingElseThanALockIsAnErrorThatNamesItsType) {
  talk.takes();
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(event::Looked{"hash", {}, {}}), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::protocol);
  EXPECT_NE(talk.why().find("hash"), std::string::npos);
}

TEST_F(Taking, RubbishUnderTheKeyIsSomebodyElses) {
  for (const std::string rubbish : {"", "not json", "[]", "5", "null", "{\"uuid\":\"\xff\"}"}) {
    Conversation one;
    one.takes();
    one.hears(taken(false));
    EXPECT_EQ(one.hears(event::Looked{"string", rubbish, 1s}), Said{hear}) << rubbish;
    EXPECT_EQ(one.phase(), Phase::waiting);
  }
}

TEST_F(Taking, WhoTookItOverFromAnotherWhoLeftItWithoutExpirySaysSo) {
  talk.takes();
  const Said said = talk.hears(event::Keyed{Verb::take, true, true});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<action::Warn>(said[0]));
  EXPECT_TRUE(talk.is_held());
}

// --- nobody knows ----------------------------------------------------------------------------------------

TEST_F(Taking, ATakeWithoutAnswerIsLookedUpAndProven) {
  talk.takes();
  EXPECT_EQ(talk.hears(refused(Verb::take, gone)), nothing);
  EXPECT_LE(talk.next_due_in(), 375ms);
  EXPECT_EQ(talk.after_next_timer(), Said{look});
  talk.passes(100ms);
  EXPECT_EQ(talk.hears(talk.found_own()), Said{extend("1")});
  EXPECT_EQ(talk.phase(), Phase::proving);
  talk.passes(100ms);
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_TRUE(talk.is_held());
  EXPECT_EQ(talk.confirmed_for(), lease_time - 100ms) << "from when the extension was sent";
}

TEST_F(Taking, ATakeWithoutAnswerThatWasNotDoneIsFollowedByAnother) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  talk.after_next_timer();
  EXPECT_EQ(talk.hears(found_nothing), Said{take("2")});
}

TEST_F(Taking, ATakeWithoutAnswerThatCameTooLateIsWaitedBehind) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  talk.after_next_timer();
  EXPECT_EQ(talk.hears(found_another()), Said{hear});
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")}) << "it is known now that it was in vain";
}

TEST_F(Taking, WhatIsFoundAndGoneAgainIsNotHeld) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  talk.after_next_timer();
  talk.hears(talk.found_own());
  EXPECT_EQ(talk.hears(extended(false)), Said{drop("1")});
  EXPECT_EQ(talk.phase(), Phase::waiting);
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")});
}

TEST_F(Taking, WhileATakeIsInDoubtNobodyTakesAnew) {
  talk.waits();
  talk.after_next_timer();
  talk.hears(refused(Verb::take, gone));
  EXPECT_EQ(talk.hears_message(release_channel("K"), ""), nothing);
  EXPECT_EQ(talk.hears(event::Listening{"K"}), nothing) << "it would stand in its own way";
  EXPECT_EQ(talk.after_next_timer(), Said{look});
}

TEST_F(Taking, ALookWithoutAnswerIsRepeated) {
  talk.takes();
  talk.hears(refused(Verb::take, gone));
  talk.after_next_timer();
  EXPECT_EQ(talk.hears(refused(Verb::look, gone)), nothing);
  EXPECT_EQ(talk.after_next_timer(), Said{look});
}

TEST_F(Taking, WhoMayNotLookTakesAnew) {
  talk.takes();
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(refused(Verb::look, no_permission)), nothing);
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")});
}

// --- a server that can't, or won't ------------------------------------------------------------------------

TEST_F(Taking, ABusyServerIsWaitedFor) {
  talk.takes();
  for (int times = 2; times < 10; ++times) {
    EXPECT_EQ(talk.hears(refused(Verb::take, busy)), nothing);
    EXPECT_EQ(talk.after_next_timer(), Said{take(std::to_string(times))}) << "it has not been done";
  }
  talk.hears(taken(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Taking, WhoMayNotTakeIsTold) {
  talk.takes();
  EXPECT_EQ(talk.hears(refused(Verb::take, no_permission)), (Said{drop("1"), tell}));
  talk.hears(refused(Verb::drop, no_permission));
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::permission);
}

}  // namespace
}  // namespace sublock::core::lease
