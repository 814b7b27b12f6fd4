// SPDX-License-Identifier: MIT

// Conversations in which the line is lost, or cannot be had: what was asked before is answered no more, and what
// became of it must be found out.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

const event::Lost lost{gone};

class Line : public testing::Test {
 protected:
  /// A line is had again.
  Said returns() {
    EXPECT_EQ(talk.phase(), Phase::opening);
    EXPECT_EQ(talk.after_next_timer(), Said{open});
    return talk.hears(event::Opened{});
  }

  Conversation talk;
};

TEST_F(Line, IsAskedForBeforeAllElse) {
  EXPECT_EQ(talk.acquire(), Said{open});
  EXPECT_EQ(talk.phase(), Phase::opening);
  EXPECT_EQ(talk.hears(event::Opened{}), Said{take("1")});
}

TEST_F(Line, ThatIsLostIsOpenedAgainSoon) {
  talk.waits();
  EXPECT_EQ(talk.hears(lost), nothing);
  EXPECT_GE(talk.next_due_in(), 125ms);
  EXPECT_LE(talk.next_due_in(), 375ms);
  EXPECT_EQ(returns(), Said{take("2")});
  talk.hears(taken(false));
  EXPECT_EQ(talk.hears(found_another()), Said{hear})
      << "nothing is heard on a new line unless it is asked for";
}

TEST_F(Line, ThatIsLostWithATakeIsFollowedByALook) {
  talk.takes();
  EXPECT_EQ(talk.hears(lost), nothing);
  EXPECT_EQ(returns(), Said{look}) << "else its own key would stand in its way";
  EXPECT_EQ(talk.hears(talk.found_own()), Said{extend("1")});
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Line, ThatIsLostWithATakeThatNeverCameIsFollowedByAnother) {
  talk.takes();
  talk.hears(lost);
  EXPECT_EQ(returns(), Said{look});
  EXPECT_EQ(talk.hears(found_nothing), Said{take("2")});
}

TEST_F(Line, ThatIsLostWithAnExtensionIsNoReasonNeverToBelieveAnother) {
  talk.takes(fenced());
  EXPECT_EQ(talk.hears(taken(true)), (Said{draw, extend("1")}));
  talk.hears(lost);
  EXPECT_EQ(returns(), Said{look});
  EXPECT_EQ(talk.hears(talk.found_own()), (Said{draw, extend("1")}));
  talk.hears(event::Incremented{8});
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held()) << "the extension that was lost is waited for no more";
  EXPECT_EQ(talk.holder().fence_token(), 8);
}

TEST_F(Line, ThatIsLostTakesTheLockWithIt) {
  talk.holds();
  EXPECT_EQ(talk.hears(lost), Said{drop("1")});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::lost);
  EXPECT_EQ(talk.why(), "the connection is gone");
}

TEST_F(Line, ThatIsLostDuringTheReleaseLeavesItUnconfirmed) {
  talk.holds();
  talk.release();
  EXPECT_EQ(talk.hears(lost), nothing);
  EXPECT_EQ(talk.result(), Result::lost);
}

TEST_F(Line, ThatIsLostDuringACancelChangesNothing) {
  talk.takes();
  talk.cancel();
  EXPECT_EQ(talk.hears(lost), nothing);
  EXPECT_EQ(talk.result(), Result::cancelled);
}

TEST_F(Line, ThatCannotBeHadIsTriedForAtLeastFiveSeconds) {
  talk.acquire();
  Duration elapsed{};
  while (talk.phase() == Phase::opening && elapsed < 10s) {
    talk.hears(lost);
    if (talk.phase() != Phase::opening) break;
    elapsed += *talk.next_due_in();
    EXPECT_EQ(talk.after_next_timer(), Said{open});
  }
  EXPECT_GE(elapsed, 5s);
  EXPECT_LE(elapsed, 5s + 375ms);
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::connect);
}

TEST_F(Line, ThatHasBeenHadOnceIsTriedForUntilTheDeadline) {
  talk.takes(until(60s));
  for (int second = 1; second < 60; ++second) {
    talk.hears(lost);
    EXPECT_EQ(talk.after(1s), Said{open}) << second;
  }
  EXPECT_EQ(talk.hears(lost), nothing);
  EXPECT_EQ(talk.after(1s), Said{close});
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.why(), "the connection is gone");
}

TEST_F(Line, ThatIsRefusedForGoodEndsIt) {
  talk.acquire();
  EXPECT_EQ(talk.hears(event::Lost{{Errc::auth, "WRONGPASS"}}), Said{close});
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::auth);
}

TEST_F(Line, ThatIsRefusedForGoodEndsItInTheMiddleOfATakeToo) {
  talk.takes();
  EXPECT_EQ(talk.hears(event::Lost{{Errc::usage, "READONLY"}}), Said{close}) << "there is nobody to tell";
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::failed);
}

}  // namespace
}  // namespace sublock::core::lease
