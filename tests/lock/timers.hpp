// SPDX-License-Identifier: MIT
#pragma once

// Something that happens by itself a moment later, in real time: what another process would do while the
// test's own thread waits in a lock.

#include <support/eventually.hpp>

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace sublock::testing {

/// Waits for `act` to return before it ends.
class Timer {
 public:
  Timer(std::chrono::nanoseconds span, std::function<void()> act)
      : thread_([span, act = std::move(act)] {
          static_cast<void>(support::throughout(span, [] { return true; }));
          act();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace sublock::testing
