// SPDX-License-Identifier: MIT
#pragma once

// What time it is for all processes alike, and letting some of it pass.

#include <poll.h>
#include <time.h>

#include <chrono>
#include <cstdint>

namespace bench {

/// Part of what is measured, never a way to wait for something.
inline void let_pass(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec span{seconds.count(), (time - seconds).count()};
  ::ppoll(nullptr, 0, &span, nullptr);
}

/// The time that all processes share.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace bench
