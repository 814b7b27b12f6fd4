// SPDX-License-Identifier: MIT
#pragma once

// What a caller may choose, and the check at the door. Durations are nanoseconds, so that any chrono
// unit converts; `infinite` means for ever, zero means once.

#include <sublock/core/dice.hpp>
#include <sublock/core/name.hpp>
#include <sublock/error.hpp>
#include <sublock/explain.hpp>
#include <sublock/observation.hpp>
#include <sublock/policies.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace sublock {

/// As long as it takes.
inline constexpr Duration infinite = Duration::max();

/// How one lock object behaves. Copied when the lock is made; a lock refuses impossible values there.
template <TransportPolicy Transport, ElectionPolicy Election, ReaperPolicy Reaper, ClockPolicy Clock>
struct LockOptions {
  /// What `acquire()` takes; `lock()` is always exclusive and `lock_shared()` always shared. The
  /// default is exclusive.
  LockMode mode = LockMode::exclusive;
  /// How long `acquire()` waits, connecting included. Zero: one attempt, whose answers may take up to
  /// `unavailable_timeout`. The default is 5 s.
  Duration timeout = std::chrono::seconds(5);
  /// Time between two looks of one who waits, each time multiplied by a random 0.5 to 1.5, whether or not
  /// somebody has told him that it is his turn; the first try is immediate. More than zero. The default is 250 ms.
  Duration check_interval = std::chrono::milliseconds(250);
  /// How long a probe waits for answers before it holds their absence against anybody; a silent holder
  /// is asked twice before it is killed, and is spared as long as answers of others come in. More than
  /// zero. The default is 1 s.
  Duration unavailable_timeout = std::chrono::seconds(1);
  /// Give up as soon as it is certain that somebody else has the lock. The default is to wait.
  bool fail_when_locked = false;
  /// How often a holder publishes on its own channel to hear whether it still hears; one that does not
  /// come back within `unavailable_timeout`, or this interval if that is shorter, is a loss. For
  /// networks in which a connection may look alive and be forgotten by the server. Zero, the default:
  /// only the connection's own health checks.
  Duration self_check_interval = Duration::zero();
  /// Draw a fencing token, by INCR of the key `<channel>-fence`, before the lock counts as held; for
  /// exclusive locks only. The default is not to.
  bool fencing = false;
  /// Told to whoever waits for us, beside host and pid. Up to 256 bytes of UTF-8. Empty by default.
  std::string label = {};
  /// 32 lowercase hex digits that name this object on the channel. Empty, the default: random ones.
  std::string holder_id = {};
  /// Told to elections that look at it; `LowestIdElection` doesn't. The default is 0.
  std::int64_t priority = 0;
  /// Where 128 random bits come from, for names and for jitter. Empty, the default: from the system. A
  /// simulation that must repeat brings its own.
  std::function<core::Dice::Seed()> entropy = {};
  /// Called once for each loss, on a thread of its own; may release, may take its time; exceptions end
  /// there. None by default.
  std::function<void(const LockLost&)> on_lost = {};
  /// Called by the thread that acquires, with something an operator should know, such as strangers on
  /// the channel; must not throw. None by default.
  std::function<void(std::string_view)> on_warning = {};
  /// Told of all that this object does and meets, with durations; see Observer. None by default.
  Observer observer = {};
  /// How to build a connection, where the lock isn't given one.
  typename Transport::Options connection = {};
  /// Which of two pending writers goes first.
  Election election = {};
  /// Which silent holders may be killed.
  Reaper reaper = {};
  /// How late it is.
  Clock clock = {};
};

/// What one `acquire` may choose differently from the lock's options.
struct AcquireOptions {
  /// Empty, here and below: as the option of that name.
  std::optional<LockMode> mode = {};
  std::optional<Duration> timeout = {};         ///< zero: one attempt
  std::optional<Duration> check_interval = {};  ///< between two looks
  std::optional<bool> fail_when_locked = {};    ///< rather than wait
  /// Asks to give up; the wait then ends with Errc::cancelled and leaves nothing behind.
  std::stop_token stop = {};
};

/// Refuses a time to wait that is less than nothing.
inline void check_timeout(std::string_view channel, Duration timeout) {
  if (timeout >= Duration::zero()) return;
  throw LockError({Errc::usage, about(channel,
                                      "a timeout can't be negative; sublock::infinite waits for ever, "
                                      "zero tries once")});
}

/// Refuses, with Errc::usage, a channel that is no legal name and options that make no sense.
template <class Options>
void check_options(std::string_view channel, const Options& options) {
  core::check_channel(channel);
  const auto refuse = [channel](const std::string& why) {
    throw LockError({Errc::usage, about(channel, why)});
  };
  if (options.check_interval <= Duration::zero()) refuse("check_interval must be more than zero");
  if (options.unavailable_timeout <= Duration::zero()) refuse("unavailable_timeout must be more than zero");
  if (options.self_check_interval < Duration::zero()) {
    refuse("self_check_interval can't be negative; zero turns it off");
  }
  check_timeout(channel, options.timeout);
  if (!options.holder_id.empty()) core::check_holder_id(options.holder_id);
  core::check_label(options.label);
}

/// The same for what one acquire asks for.
template <class Options>
void check_acquire(std::string_view channel, const Options& options, const AcquireOptions& how) {
  if (options.fencing && how.mode.value_or(options.mode) == LockMode::shared) {
    throw LockError(
        {Errc::usage, about(channel, "readers draw no fencing tokens: only writers can be ordered")});
  }
  if (how.timeout) check_timeout(channel, *how.timeout);
  if (how.check_interval && *how.check_interval <= Duration::zero()) {
    throw LockError({Errc::usage, about(channel, "check_interval must be more than zero")});
  }
}

}  // namespace sublock
