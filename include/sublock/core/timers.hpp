// SPDX-License-Identifier: MIT
#pragma once

// What a participant waits for besides events. A timer is armed for an instant that was computed from
// a given `now`; nobody here asks a clock.

#include <sublock/core/holder.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace sublock::core {

enum class Timer : std::size_t {
  deadline,  ///< the caller's patience is over
  patience,  ///< a probe has waited long enough for its answers
  recount,   ///< answers are missing: has somebody gone instead?
  again,     ///< time to look, or to try, once more
};

class Timers {
 public:
  static constexpr std::size_t count = 4;

  void arm(Timer timer, Instant due) { due_[index(timer)] = due; }
  void disarm(Timer timer) { due_[index(timer)].reset(); }

  /// All but the deadline, which belongs to the whole attempt.
  void disarm_steps() {
    for (const Timer timer : {Timer::patience, Timer::recount, Timer::again}) disarm(timer);
  }

  [[nodiscard]] bool armed(Timer timer) const { return due_[index(timer)].has_value(); }

  /// The earliest instant at which one of them is due.
  [[nodiscard]] std::optional<Instant> next_due() const {
    std::optional<Instant> earliest;
    for (const auto& due : due_) {
      if (due && (!earliest || *due < *earliest)) earliest = due;
    }
    return earliest;
  }

  /// Takes one timer off that is due by `now`, the deadline first.
  [[nodiscard]] std::optional<Timer> take_due(Instant now) {
    for (std::size_t i = 0; i < count; ++i) {
      if (due_[i] && *due_[i] <= now) {
        due_[i].reset();
        return static_cast<Timer>(i);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t index(Timer timer) { return static_cast<std::size_t>(timer); }

  std::array<std::optional<Instant>, count> due_{};
};

}  // namespace sublock::core
