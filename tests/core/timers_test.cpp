// SPDX-License-Identifier: MIT

// What a participant waits for besides events.

#include <gtest/gtest.h>
#include <sublock/core/timers.hpp>

namespace sublock::core {
namespace {

using std::chrono::milliseconds;

constexpr Instant start{std::chrono::hours(1)};

TEST(Timers, NothingIsDueAtFirst) {
  Timers timers;
  EXPECT_EQ(timers.next_due(), std::nullopt);
  EXPECT_EQ(timers.take_due(Instant::max()), std::nullopt);
}

TEST(Timers, TheEarliestIsNextWhateverItsKind) {
  Timers timers;
  timers.arm(Timer::deadline, start + milliseconds(30));
  timers.arm(Timer::again, start + milliseconds(10));
  timers.arm(Timer::patience, start + milliseconds(20));
  EXPECT_EQ(timers.next_due(), start + milliseconds(10));
}

TEST(Timers, IsDueAtItsInstantAndNotBefore) {
  Timers timers;
  timers.arm(Timer::patience, start);
  EXPECT_EQ(timers.take_due(start - milliseconds(1)), std::nullopt);
  EXPECT_TRUE(timers.armed(Timer::patience));
  EXPECT_EQ(timers.take_due(start), Timer::patience);
}

TEST(Timers, IsTakenOnce) {
  Timers timers;
  timers.arm(Timer::recount, start);
  EXPECT_EQ(timers.take_due(start), Timer::recount);
  EXPECT_FALSE(timers.armed(Timer::recount));
  EXPECT_EQ(timers.take_due(start), std::nullopt);
}

TEST(Timers, TheDeadlineGoesFirst) {
  Timers timers;
  timers.arm(Timer::again, start);
  timers.arm(Timer::deadline, start + milliseconds(1));
  EXPECT_EQ(timers.take_due(start + milliseconds(1)), Timer::deadline);
  EXPECT_EQ(timers.take_due(start + milliseconds(1)), Timer::again);
}

TEST(Timers, ArmingAgainMovesIt) {
  Timers timers;
  timers.arm(Timer::again, start);
  timers.arm(Timer::again, start + milliseconds(5));
  EXPECT_EQ(timers.take_due(start), std::nullopt);
}

TEST(Timers, StepsEndWithoutTheDeadline) {
  Timers timers;
  for (const Timer timer : {Timer::deadline, Timer::patience, Timer::recount, Timer::again}) {
    timers.arm(timer, start);
  }
  timers.disarm_steps();
  EXPECT_TRUE(timers.armed(Timer::deadline));
  for (const Timer timer : {Timer::patience, Timer::recount, Timer::again}) EXPECT_FALSE(timers.armed(timer));
}

TEST(Timers, TheEndOfTimeIsNotPassed) {
  EXPECT_EQ(saturating_add(start, Duration::max()), Instant::max());
  EXPECT_EQ(saturating_add(start, milliseconds(1)), start + milliseconds(1));
}

}  // namespace
}  // namespace sublock::core
