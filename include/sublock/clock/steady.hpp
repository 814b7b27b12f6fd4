// SPDX-License-Identifier: MIT
#pragma once

// The real clock: the only place that asks the system what time it is.

#include <sublock/policies.hpp>

namespace sublock {

/// Monotonic time of the machine. Stands still while the machine is suspended, on Linux.
struct SteadyClock {
  [[nodiscard]] Instant now() const noexcept { return std::chrono::steady_clock::now(); }
};

static_assert(ClockPolicy<SteadyClock>);

}  // namespace sublock
