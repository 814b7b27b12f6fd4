// SPDX-License-Identifier: MIT

// The real clock under the laws of all clocks.

#include <laws/clock_laws.hpp>
#include <sublock/clock/steady.hpp>

namespace sublock::testing {
namespace {

struct SteadyWorld {
  using Clock = SteadyClock;

  /// Looks until it is so: a few milliseconds, and no sleep whose length one would have to trust.
  void pass(Duration by) const {
    const Instant start = clock.now();
    while (clock.now() - start < by) std::this_thread::yield();
  }

  Clock clock;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Steady, ClockLaws, SteadyWorld);

TEST(SteadyClock, IsTheSystemsSteadyClock) {
  const auto before = std::chrono::steady_clock::now();
  const Instant now = SteadyClock{}.now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, std::chrono::steady_clock::now());
}

}  // namespace
}  // namespace sublock::testing
