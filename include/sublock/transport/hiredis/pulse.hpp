// SPDX-License-Identifier: MIT
#pragma once

// Has the process stood still? The keeper beats a few times a second; a beat that is late by more than a
// moment means SIGSTOP, a suspended machine, or a stopped VM.

#include <sublock/core/holder.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace sublock::hiredis {

/// Counts in boot time, which goes on while the machine is suspended. Thread-safe.
class Pulse {
 public:
  static constexpr core::Duration interval = std::chrono::milliseconds(250);
  /// How late a beat may be before nothing is certain any more.
  static constexpr core::Duration late_max = std::chrono::seconds(1);

  void beat() noexcept { last_ = boot_time().count(); }

  /// For how long nobody has looked; zero while all is well.
  [[nodiscard]] core::Duration gap() const noexcept {
    const std::int64_t last = last_;
    if (last == not_yet) return core::Duration::zero();
    const core::Duration since = boot_time() - core::Duration(last);
    return since > interval + late_max ? since : core::Duration::zero();
  }

 private:
  static constexpr std::int64_t not_yet = -1;

  static core::Duration boot_time() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  std::atomic<std::int64_t> last_ = not_yet;
};

}  // namespace sublock::hiredis
