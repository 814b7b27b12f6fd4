// SPDX-License-Identifier: MIT

// Words that look random and can be thrown again.

#include <gtest/gtest.h>
#include <sublock/core/dice.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace sublock::core {
namespace {

using std::chrono::milliseconds;

TEST(Dice, NamesAre32LowercaseHexDigits) {
  Dice dice({1, 2});
  for (int i = 0; i < 1000; ++i) {
    const std::string id = dice.fresh_id();
    EXPECT_EQ(id.size(), 32U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  }
}

TEST(Dice, NamesDontRepeat) {
  Dice dice({1, 2});
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(dice.fresh_id());
  EXPECT_EQ(ids.size(), 10'000U);
}

TEST(Dice, TheSameSeedThrowsTheSame) {
  Dice one({3, 4});
  Dice other({3, 4});
  EXPECT_EQ(one.fresh_id(), other.fresh_id());
  EXPECT_EQ(one.jittered(milliseconds(100)), other.jittered(milliseconds(100)));
  EXPECT_EQ(one, other);
}

TEST(Dice, EachHalfOfTheSeedCounts) {
  const std::string id = Dice({1, 2}).fresh_id();
  EXPECT_NE(Dice({5, 2}).fresh_id(), id);
  EXPECT_NE(Dice({1, 5}).fresh_id(), id);
}

TEST(Dice, JitterIsHalfToOneAndAHalf) {
  Dice dice({1, 2});
  Duration least = Duration::max();
  Duration most{};
  Duration sum{};
  for (int i = 0; i < 10'000; ++i) {
    const Duration pause = dice.jittered(milliseconds(100));
    least = std::min(least, pause);
    most = std::max(most, pause);
    sum += pause;
  }
  EXPECT_GE(least, milliseconds(50));
  EXPECT_LT(least, milliseconds(52));
  EXPECT_LT(most, milliseconds(150));
  EXPECT_GT(most, milliseconds(148));
  EXPECT_NEAR(static_cast<double>(sum.count()) / 10'000, 1e8, 2e6);
}

TEST(Dice, JitterDoesNotOverflow) {
  Dice dice({1, 2});
  for (int i = 0; i < 100; ++i) {
    const Duration pause = dice.jittered(Duration::max());
    EXPECT_GE(pause, Duration::max() / 2 - milliseconds(1));
  }
}

}  // namespace
}  // namespace sublock::core
