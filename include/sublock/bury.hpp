// SPDX-License-Identifier: MIT
#pragma once

// Where a forked child puts what it has inherited and must neither use nor destroy.

#include <atomic>
#include <utility>

namespace sublock {

/// Keeps something reachable for ever: what a forked child must neither use nor destroy.
template <class T>
void bury(T value) {
  struct Grave {
    T value;
    Grave* next;
  };
  static std::atomic<Grave*> graves = nullptr;
  auto* grave = new Grave{std::move(value), graves.load()};
  while (!graves.compare_exchange_weak(grave->next, grave)) {
  }
}

}  // namespace sublock
