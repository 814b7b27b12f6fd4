// SPDX-License-Identifier: MIT
#pragma once

// From any chrono span or instant to nanoseconds that don't overflow. Pure, but for reading the clock that
// an instant belongs to.

#include <sublock/error.hpp>
#include <sublock/options.hpp>

#include <chrono>
#include <concepts>

namespace sublock {

/// In nanoseconds, within what they can count; less than zero is zero. Throws Errc::usage for NaN.
template <class Rep, class Period>
[[nodiscard]] Duration saturated(const std::chrono::duration<Rep, Period>& span) {
  const std::chrono::duration<double, std::nano> wide = span;
  if (wide.count() >= static_cast<double>(infinite.count())) return infinite;
  if (wide.count() > 0) return std::chrono::duration_cast<Duration>(span);
  if (wide.count() <= 0) return Duration::zero();
  throw LockError({Errc::usage, "a timeout must be a number"});
}

/// How far away a deadline is, also where the difference is more than its type can count. `clock` stands
/// for the steady clock, so that tests may stop it; others are read as they are.
template <class AnyClock, class Span>
[[nodiscard]] Duration time_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                  const ClockPolicy auto& clock) {
  using Wide = std::chrono::duration<double, std::nano>;
  const auto present = [&] {
    if constexpr (std::same_as<AnyClock, std::chrono::steady_clock>) {
      return clock.now();
    } else {
      return AnyClock::now();
    }
  };
  const auto now = present();
  const auto is_far = [](Wide since_epoch) {
    return since_epoch < -infinite / 2 || since_epoch > infinite / 2;
  };
  if (!is_far(deadline.time_since_epoch()) && !is_far(now.time_since_epoch()))
    return saturated(deadline - now);
  return saturated(Wide(deadline.time_since_epoch()) - Wide(now.time_since_epoch()));
}

}  // namespace sublock
