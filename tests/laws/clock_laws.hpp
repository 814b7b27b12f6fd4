// SPDX-License-Identifier: MIT
#pragma once

// The laws of ClockPolicy. A clock is asked for through a world, since only whoever made it knows how
// its time passes.
//
// | a world needs   | meaning                                            |
// | --------------- | -------------------------------------------------- |
// | `Clock`         | the model under test                               |
// | `clock`         | one of it                                          |
// | `pass(by)`      | lets at least so much time pass on it              |

#include <gtest/gtest.h>
#include <sublock/policies.hpp>

#include <chrono>
#include <thread>
#include <vector>

namespace sublock::testing {

template <class World>
class ClockLaws : public ::testing::Test {
 protected:
  World world;
};

TYPED_TEST_SUITE_P(ClockLaws);

TYPED_TEST_P(ClockLaws, TimeNeverGoesBack) {
  Instant last = this->world.clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = this->world.clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TYPED_TEST_P(ClockLaws, TimePasses) {
  const Instant start = this->world.clock.now();
  this->world.pass(std::chrono::milliseconds(2));
  EXPECT_GE(this->world.clock.now() - start, std::chrono::milliseconds(2));
}

TYPED_TEST_P(ClockLaws, ACopyIsAHandleOnTheSameClock) {
  const typename TypeParam::Clock copy = this->world.clock;
  this->world.pass(std::chrono::milliseconds(1));
  const Instant before = this->world.clock.now();
  const Instant between = copy.now();
  const Instant after = this->world.clock.now();
  EXPECT_LE(before, between);
  EXPECT_LE(between, after);
}

TYPED_TEST_P(ClockLaws, AnyThreadMayAsk) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([clock = this->world.clock] {
      Instant last = clock.now();
      for (int k = 0; k < 1'000; ++k) {
        const Instant now = clock.now();
        EXPECT_GE(now, last);
        last = now;
      }
    });
  }
  this->world.pass(std::chrono::milliseconds(1));
}

TYPED_TEST_P(ClockLaws, DeadlinesHaveRoomOnBothSides) {
  const Instant now = this->world.clock.now();
  EXPECT_GT(now - std::chrono::seconds(1), Instant::min());
  EXPECT_LT(now + std::chrono::hours(24 * 365), Instant::max());
}

REGISTER_TYPED_TEST_SUITE_P(ClockLaws, TimeNeverGoesBack, TimePasses, ACopyIsAHandleOnTheSameClock,
                            AnyThreadMayAsk, DeadlinesHaveRoomOnBothSides);

}  // namespace sublock::testing
