// SPDX-License-Identifier: MIT

// The manual clock under the laws of all clocks, and that nobody but its owner moves it.

#include <laws/clock_laws.hpp>
#include <sublock/clock/manual.hpp>

#include <stdexcept>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;

struct ManualWorld {
  using Clock = ManualClock;

  void pass(Duration by) { clock.advance(by); }

  Clock clock;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Manual, ClockLaws, ManualWorld);

TEST(ManualClock, StandsStillUntilSomebodyMovesIt) {
  ManualClock clock;
  const Instant start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(0ns);
  EXPECT_EQ(clock.now(), start);
  clock.advance(1ns);
  EXPECT_EQ(clock.now() - start, 1ns);
}

TEST(ManualClock, CopiesMoveTogetherAndOthersDoNot) {
  ManualClock clock;
  ManualClock copy = clock;
  const ManualClock other;
  copy.advance(1h);
  EXPECT_EQ(clock.now(), copy.now());
  EXPECT_EQ(clock.now() - other.now(), 1h);
}

TEST(ManualClock, RefusesToGoBack) {
  ManualClock clock;
  const Instant start = clock.now();
  EXPECT_THROW(clock.advance(-1ns), std::invalid_argument);
  EXPECT_EQ(clock.now(), start);
}

}  // namespace
}  // namespace sublock::testing
