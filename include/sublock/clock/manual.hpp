// SPDX-License-Identifier: MIT
#pragma once

// A clock that stands still until somebody moves it, for tests and for simulation.

#include <sublock/policies.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>

namespace sublock {

/// A handle on a shared instant: copies show the same time. Thread-safe.
class ManualClock {
 public:
  /// The same for all copies.
  [[nodiscard]] Instant now() const noexcept { return Instant(Duration(since_start_->load())); }

  /// As if it had been started in 1970.
  [[nodiscard]] WallTime wall() const noexcept { return now().time_since_epoch(); }

  /// Throws std::invalid_argument for a step back: a steady clock never does that.
  void advance(Duration step) {
    if (step < Duration::zero()) throw std::invalid_argument("a ManualClock can't go back");
    since_start_->fetch_add(step.count());
  }

 private:
  // Starts an hour in, so that code which subtracts from now() meets no negative time.
  std::shared_ptr<std::atomic<Duration::rep>> since_start_ =
      std::make_shared<std::atomic<Duration::rep>>(Duration(std::chrono::hours(1)).count());
};

static_assert(WallClockPolicy<ManualClock>);

}  // namespace sublock
