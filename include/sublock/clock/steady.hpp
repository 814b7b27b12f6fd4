// SPDX-License-Identifier: MIT
#pragma once

// The real clock: the only place that asks the system what time it is.

#include <sublock/policies.hpp>

namespace sublock {

/// Monotonic time of the machine. Stands still while the machine is suspended, on Linux.
struct SteadyClock {
  /// CLOCK_MONOTONIC.
  [[nodiscard]] Instant now() const noexcept { return std::chrono::steady_clock::now(); }
  /// The system's, which others may set.
  [[nodiscard]] WallTime wall() const noexcept { return std::chrono::system_clock::now().time_since_epoch(); }
};

static_assert(WallClockPolicy<SteadyClock>);

}  // namespace sublock
