// SPDX-License-Identifier: MIT

// Conversations of those who have the key and must prove it before it counts: for a token that was drawn, or because
// the process stood still.

#include "conversation.hpp"

namespace sublock::core::lease {
namespace {

class Proving : public testing::Test {
 protected:
  void proves() {
    talk.takes(fenced());
    EXPECT_EQ(talk.hears(taken(true)), (Said{draw, extend("1")})) << "in this order";
    EXPECT_EQ(talk.phase(), Phase::proving);
  }

  Conversation talk;
};

// --- tokens ------------------------------------------------------------------------------------------------

TEST_F(Proving, ATokenCountsOnceTheKeyWasExtendedAfterIt) {
  proves();
  EXPECT_EQ(talk.hears(event::Incremented{42}), nothing);
  EXPECT_FALSE(talk.holder().holds());
  EXPECT_EQ(talk.holder().fence_token(), std::nullopt) << "not before it counts";
  EXPECT_EQ(talk.hears(extended(true)), nothing);
  EXPECT_TRUE(talk.is_held());
  EXPECT_EQ(talk.holder().fence_token(), 42);
}

TEST_F(Proving, TheLeaseCountsFromTheProof) {
  talk.takes(fenced());
  talk.passes(400ms);
  talk.hears(taken(true));
  talk.passes(100ms);
  talk.hears(event::Incremented{42});
  talk.hears(extended(true));
  EXPECT_EQ(talk.confirmed_for(), lease_time - 100ms);
}

TEST_F(Proving, WhoseKeyIsGoneBeforeTheProofStartsOver) {
  proves();
  talk.hears(event::Incremented{42});
  EXPECT_EQ(talk.hears(extended(false)), Said{drop("1")});
  EXPECT_FALSE(talk.holder().holds());
  EXPECT_EQ(talk.after_next_timer(), Said{take("2")});
  EXPECT_EQ(talk.hears(taken(true)), (Said{draw, extend("2")})) << "with a token of its own";
  talk.hears(extended(true));
  EXPECT_FALSE(talk.holder().holds()) << "the former one is forgotten";
  talk.hears(event::Incremented{43});
  EXPECT_EQ(talk.holder().fence_token(), 43);
}

TEST_F(Proving, AProofThatIsOldWhenItComesIsNone) {
  proves();
  talk.hears(event::Incremented{42});
  talk.passes(lease_time);
  EXPECT_EQ(talk.hears(extended(true)), Said{drop("1")});
  EXPECT_FALSE(talk.holder().holds());
}

TEST_F(Proving, ATokenThatCannotBeDrawnNowIsDrawnLater) {
  proves();
  EXPECT_EQ(talk.hears(refused(Verb::increment, busy)), nothing);
  EXPECT_EQ(talk.hears(extended(true)), nothing) << "there is no token";
  EXPECT_FALSE(talk.holder().holds());
  EXPECT_EQ(talk.next_due_in(), 250ms);
  EXPECT_EQ(talk.after(250ms), (Said{draw, extend("1")}));
  talk.hears(event::Incremented{5});
  talk.hears(extended(true));
  EXPECT_EQ(talk.holder().fence_token(), 5);
}

TEST_F(Proving, AProofThatIsLostIsAskedForAgainWithATokenOfItsOwn) {
  proves();
  talk.hears(event::Incremented{42});
  EXPECT_EQ(talk.hears(refused(Verb::extend, gone)), nothing);
  EXPECT_EQ(talk.after(250ms), (Said{draw, extend("1")}));
  EXPECT_EQ(talk.hears(event::Incremented{43}), nothing);
  talk.hears(extended(true));
  EXPECT_EQ(talk.holder().fence_token(), 43);
}

TEST_F(Proving, ACounterThatMayNotBeUsedEndsIt) {
  proves();
  EXPECT_EQ(talk.hears(refused(Verb::increment, no_permission)), (Said{drop("1"), tell}));
  talk.hears(extended(true));
  EXPECT_EQ(talk.phase(), Phase::dropping);
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::failed);
  EXPECT_EQ(talk.code(), Errc::permission);
}

TEST_F(Proving, ExtensionsThatMayNotBeAskedForEndIt) {
  proves();
  EXPECT_EQ(talk.hears(refused(Verb::extend, no_permission)), (Said{drop("1"), tell}));
  talk.hears(dropped(true));
  EXPECT_EQ(talk.result(), Result::failed);
}

TEST_F(Proving, EndsWithTheDeadline) {
  Request request = until(100ms);
  request.fencing = true;
  talk.takes(request);
  talk.hears(taken(true));
  EXPECT_EQ(talk.after(100ms), (Said{drop("1"), tell})) << "what is ours is not left behind";
  talk.hears(dropped(true));
  EXPECT_FALSE(talk.holder().holds());
  EXPECT_EQ(talk.result(), Result::failed);
}

TEST_F(Proving, WhoTriesOnceLeavesNothingBehindEither) {
  Request request = once();
  request.fencing = true;
  talk.takes(request);
  talk.hears(taken(true));
  const Said said = talk.hears(extended(false));
  EXPECT_EQ(std::ranges::count(said, tell), 1);
  talk.hears(dropped(false));
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::busy);
  EXPECT_NE(talk.why().find("taken away"), std::string::npos);
}

// --- doubts ------------------------------------------------------------------------------------------------

TEST_F(Proving, WhoStoodStillWhileItTookMustProveIt) {
  talk.takes();
  EXPECT_EQ(talk.hears(standstill), nothing);
  EXPECT_EQ(talk.hears(taken(true)), Said{extend("1")}) << "its clock may have stood still too";
  EXPECT_FALSE(talk.holder().holds());
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
}

TEST_F(Proving, WhoStoodStillWhileItProvedMustProveItAnew) {
  proves();
  EXPECT_EQ(talk.hears(standstill), (Said{draw, extend("1")}));
  talk.hears(event::Incremented{42});
  EXPECT_EQ(talk.hears(extended(true)), nothing) << "of before";
  EXPECT_FALSE(talk.holder().holds());
  talk.hears(event::Incremented{43});
  talk.hears(extended(true));
  EXPECT_TRUE(talk.is_held());
  EXPECT_EQ(talk.holder().fence_token(), 43);
}

TEST_F(Proving, WhoStoodStillAndIsToldOfBeforeThatTheKeyIsGoneNeedNotWait) {
  proves();
  talk.hears(standstill);
  talk.hears(event::Incremented{42});
  EXPECT_EQ(talk.hears(extended(false)), Said{drop("1")});
  EXPECT_EQ(talk.phase(), Phase::waiting);
}

TEST_F(Proving, ADoubtOfBeforeATakeIsNone) {
  talk.waits();
  talk.hears(standstill);
  talk.after_next_timer();
  EXPECT_EQ(talk.hears(taken(true)), Said{deafen});
  EXPECT_TRUE(talk.is_held());
}

}  // namespace
}  // namespace sublock::core::lease
