// SPDX-License-Identifier: MIT
#pragma once

// What a caller may choose of a lock that is a lease, and the check at the door. The names are those of Ruby's
// redis_getlock.

#include <sublock/core/dice.hpp>
#include <sublock/error.hpp>
#include <sublock/explain_lease.hpp>
#include <sublock/observation.hpp>
#include <sublock/policies.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace sublock {

/// How one lock object behaves. Copied when the lock is made; a lock refuses impossible values there.
template <LeaseTransportPolicy Transport, WallClockPolicy Clock>
struct GetlockOptions {
  /// How long `lock()` and `synchronize()` wait, connecting included. Zero: one attempt. Negative, the default:
  /// as long as it takes.
  Duration timeout = std::chrono::seconds(-1);
  /// For how long the key outlives its last extension: whoever waits behind a dead owner waits that long, and
  /// who is cut off from the server for that long has lost the lock. Whole milliseconds. The default is 2 s.
  Duration expire = std::chrono::seconds(2);
  /// Between two extensions. Less than `expire`: what is left between the two is for an extension that fails,
  /// and is tried again. The default is 1 s.
  Duration interval = std::chrono::seconds(1);
  /// How long one attempt and `unlock()` wait for the server's answer. More than zero. The default is 1 s.
  Duration unavailable_timeout = std::chrono::seconds(1);
  /// Draw a fencing token, by INCR of the key `<key>-fence`, before the lock counts as held. The default is not
  /// to.
  bool fencing = false;
  /// Told what happens, for debugging, by the thread that locks or unlocks; must not throw. None by default.
  std::function<void(std::string_view)> logger = {};
  /// Called once for each loss, on a thread of its own; may unlock, may take its time; exceptions end there.
  /// None by default.
  std::function<void(const LockLost&)> on_lost = {};
  /// Told of all that this object does and meets, with durations; see Observer. None by default.
  Observer observer = {};
  /// Where 128 random bits come from, for names and for jitter. Empty, the default: from the system.
  std::function<core::Dice::Seed()> entropy = {};
  /// How to build a connection, where the lock isn't given one.
  typename Transport::Options connection = {};
  /// How late it is, and how late others say it is.
  Clock clock = {};
};

/// Refuses, with Errc::usage, options that make no sense.
template <class Options>
void check_getlock_options(std::string_view key, const Options& options) {
  const auto refuse = [key](const std::string& why) {
    throw LockError({Errc::usage, about_key(key) + ": " + why});
  };
  constexpr Duration longest = std::chrono::hours(24 * 365);  // beyond, Redis' own clock might overflow
  if (options.expire % std::chrono::milliseconds(1) != Duration::zero()) {
    refuse("expire must be whole milliseconds, which is what Redis counts");
  }
  if (options.expire <= Duration::zero()) refuse("expire must be more than zero");
  if (options.expire > longest) refuse("expire can't be longer than a year");
  if (options.interval <= Duration::zero()) refuse("interval must be more than zero");
  if (options.interval >= options.expire) {
    refuse("expire must be longer than interval, or the lock would end before it is extended");
  }
  if (options.unavailable_timeout <= Duration::zero()) refuse("unavailable_timeout must be more than zero");
}

}  // namespace sublock
