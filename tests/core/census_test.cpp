// SPDX-License-Identifier: MIT

// What a probe has found out: complete, open or void (R4).

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/core/census.hpp>

namespace sublock::core {
namespace {

using namespace testing_ids;

/// Taken by the second participant, who has heard his own ping; it has reached `count`.
Census probe_of(std::size_t count) {
  Census census(second);
  census.hear_echo();
  census.reach(count, count);
  return census;
}

Holder of_old_protocol() {
  Holder holder;
  holder.legacy = true;
  return holder;
}

TEST(Census, IsOpenUntilItKnowsWhomItReached) {
  Census census(second);
  census.hear_echo();
  EXPECT_EQ(census.standing(), Census::Standing::open);
  EXPECT_EQ(census.missing(), 0U) << "nobody is missed before it is known who is there";
  census.reach(1, 1);
  EXPECT_EQ(census.standing(), Census::Standing::complete);
}

TEST(Census, IsOpenUntilItHearsItself) {
  Census census(second);
  census.reach(2, 2);
  census.add(from(first, HolderMode::pending));
  EXPECT_EQ(census.standing(), Census::Standing::open);
  EXPECT_FALSE(census.heard_itself());
  census.hear_echo();
  EXPECT_EQ(census.standing(), Census::Standing::complete);
}

TEST(Census, IsCompleteWithAsManyAnswersAsSubscribers) {
  Census census = probe_of(3);
  EXPECT_EQ(census.missing(), 2U);
  census.add(from(first, HolderMode::pending));
  EXPECT_EQ(census.standing(), Census::Standing::open);
  census.add(from(third, HolderMode::shared));
  EXPECT_EQ(census.standing(), Census::Standing::complete);
  EXPECT_EQ(census.missing(), 0U);
}

TEST(Census, CountsAnIdOnce) {
  Census census = probe_of(3);
  census.add(from(first, HolderMode::pending));
  census.add(from(first, HolderMode::pending));
  EXPECT_EQ(census.missing(), 1U);
}

TEST(Census, TakesTwoAnswersThatContradictEachOtherForTheStrictest) {
  for (const HolderMode other : {HolderMode::shared, HolderMode::exclusive}) {
    Census census = probe_of(2);
    census.add(from(first, HolderMode::pending));
    census.add(from(first, other));
    EXPECT_EQ(census.answers().at(first).mode, HolderMode::exclusive);
  }
  Census leaves = probe_of(2);
  leaves.add(leaving(first));
  leaves.add(from(first, HolderMode::pending));
  EXPECT_EQ(leaves.answers().at(first).mode, HolderMode::exclusive);
}

TEST(Census, IsVoidWithMoreAnswersThanSubscribers) {
  Census census = probe_of(2);
  census.add(from(first, HolderMode::pending));
  census.add(from(third, HolderMode::pending));
  EXPECT_EQ(census.standing(), Census::Standing::forged);
}

TEST(Census, IsVoidWithMoreAnswersThanSubscribersEvenUnheard) {
  Census census(second);
  census.add(from(first, HolderMode::pending));
  census.reach(1, 1);
  EXPECT_EQ(census.standing(), Census::Standing::forged) << "we are counted, so there is no room for another";
}

TEST(Census, IsVoidIfSomebodyAnswersInOurName) {
  Census census = probe_of(3);
  census.add(from(second, HolderMode::pending));
  EXPECT_EQ(census.standing(), Census::Standing::forged);
  EXPECT_EQ(census.missing(), 2U) << "and nobody else's answer is given by it";
}

TEST(Census, CountsEachOfTheOldProtocolForItself) {
  Census census = probe_of(3);
  census.add(of_old_protocol());
  EXPECT_EQ(census.standing(), Census::Standing::open);
  census.add(of_old_protocol());
  EXPECT_EQ(census.standing(), Census::Standing::complete);
  EXPECT_TRUE(census.legacy_answered());
}

TEST(Census, LeavesStrangersOutOfAccount) {
  Census census = probe_of(3);
  census.add(from(first, HolderMode::pending));
  census.discount_strangers();
  EXPECT_EQ(census.strangers(), 1U);
  EXPECT_EQ(census.standing(), Census::Standing::complete);
}

TEST(Census, NoticesThatOthersListenByPattern) {
  Census census(second);
  census.reach(2, 3);
  EXPECT_TRUE(census.overheard());
  census.reach(2, 2);
  EXPECT_FALSE(census.overheard());
}

TEST(Census, NamesWhoAnswered) {
  Census census = probe_of(3);
  census.add(from(third, HolderMode::pending));
  EXPECT_EQ(census.answered(), (std::vector<std::string>{second, third}));
  EXPECT_TRUE(census.has_answered(third));
  EXPECT_FALSE(census.has_answered(first));
}

TEST(Census, OfAnOutsiderExpectsNoEcho) {
  Census census;
  census.reach(1, 1);
  EXPECT_EQ(census.standing(), Census::Standing::open);
  census.add(from(second, HolderMode::exclusive));
  EXPECT_EQ(census.standing(), Census::Standing::complete);
  census.add(from(third, HolderMode::pending));
  EXPECT_EQ(census.standing(), Census::Standing::forged);
}

TEST(Census, OfAnOutsiderOnAnEmptyChannelIsComplete) {
  Census census;
  census.reach(0, 0);
  EXPECT_EQ(census.standing(), Census::Standing::complete);
}

TEST(Census, DoesNotGrowForEver) {
  Census census = probe_of(2);
  for (std::size_t i = 0; i <= Census::ids_max; ++i) {
    census.add(from(std::to_string(i), HolderMode::pending));
  }
  EXPECT_EQ(census.standing(), Census::Standing::forged);
  EXPECT_EQ(census.answers().size(), Census::ids_max);
}

TEST(Census, HasAKeyThatTellsStatesApart) {
  Census open(second);
  Census heard = open;
  heard.hear_echo();
  Census reached = heard;
  reached.reach(2, 2);
  Census answered = reached;
  answered.add(from(first, HolderMode::pending));
  Census elected = reached;
  elected.add(from(first, HolderMode::pending, true));
  Census left = reached;
  left.add(leaving(first));
  const std::set<std::string> keys = {open.state_key(),     heard.state_key(),   reached.state_key(),
                                      answered.state_key(), elected.state_key(), left.state_key()};
  EXPECT_EQ(keys.size(), 6U);
}

}  // namespace
}  // namespace sublock::core
