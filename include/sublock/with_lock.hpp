// SPDX-License-Identifier: MIT
#pragma once

// A body that runs while a lock is held, and what its caller hears of a loss meanwhile. Knows no lock by name.

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace sublock::detail {

/// `lock` is held; `release(&lock)`, true if it was held until then, gives it back however `work(std::stop_token)`
/// or `work()` ends. Returns what it returns; throws what it throws, and where it does not, what
/// `lock.ensure_held()` throws if the lock was not held any more.
template <class Lock, class Release, class Work>
decltype(auto) with_lock(Lock& lock, Release release, Work&& work) {
  std::unique_ptr<Lock, Release> guard(&lock, release);
  const auto give_back = [&] {
    // Once and no more: by now it may be another thread's.
    if (!release(guard.release())) lock.ensure_held();
  };
  const auto run = [&]() -> decltype(auto) {
    if constexpr (std::invocable<Work, std::stop_token>) {
      return std::invoke(std::forward<Work>(work), lock.stop_token());
    } else {
      return std::invoke(std::forward<Work>(work));
    }
  };
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    give_back();
  } else {
    decltype(auto) result = run();
    give_back();
    if constexpr (std::is_reference_v<decltype(result)>) {
      return static_cast<decltype(result)>(result);
    } else {
      return result;  // moved: it may be of a type that can't be copied
    }
  }
}

}  // namespace sublock::detail
