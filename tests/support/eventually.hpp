// SPDX-License-Identifier: MIT
#pragma once

// Waiting for a condition with a bound, for what only another process or a server can bring about.

#include <poll.h>

#include <chrono>
#include <ctime>

namespace support {

using namespace std::chrono_literals;

using TestClock = std::chrono::steady_clock;

/// Whether `condition()` came true within the bound; asked again every two milliseconds, and once more at
/// the very end.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, TestClock::duration within = 10s) {
  const auto deadline = TestClock::now() + within;
  for (;;) {
    const bool late = TestClock::now() >= deadline;
    if (condition()) return true;
    if (late) return false;
    const timespec pause{0, 2'000'000};
    ::ppoll(nullptr, 0, &pause, nullptr);
  }
}

/// Whether `condition()` stays true for the whole span: for what must not happen.
template <class Condition>
[[nodiscard]] bool throughout(TestClock::duration span, Condition condition) {
  return !eventually([&] { return !condition(); }, span);
}

}  // namespace support
