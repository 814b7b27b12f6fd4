// SPDX-License-Identifier: MIT
#pragma once

// What a lock object tells whoever observes it: values for a metric, a log or a trace. How they come about is
// in witness.hpp.

#include <sublock/core/event.hpp>
#include <sublock/core/holder.hpp>
#include <sublock/error.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {

/// One thing that a lock object did, or met.
struct Observation {
  /// Each attempt begins with `attempt` and ends with `got` or `not_got`; each hold ends with `released`,
  /// `handed_over` or `lost`.
  enum class Kind : std::uint8_t {
    attempt,      ///< somebody asked this object for the lock
    probe,        ///< it asked who has it, and was answered or gave up asking: `took` since it asked
    wait,         ///< somebody else has it, so it waits, which is told once: `took` since the attempt
    got,          ///< it has the lock: `took` since the attempt
    not_got,      ///< it gave up, and `code` says why: `took` since the attempt
    released,     ///< the lock was given back: `took` since it was got, as in the next two
    handed_over,  ///< the same, and the next in line has it already
    lost,         ///< it was lost, and `code` is Errc::lost
    reaped,    ///< connections of holders who did not answer were closed, or a key without expiry taken over
    stranger,  ///< somebody subscribes to the channel who takes no part
    warning,   ///< something else that an operator should know
  };

  /// What it was.
  Kind kind = Kind::attempt;
  /// The channel, or the key.
  std::string name;
  /// This object's id; of RedisGetlock, the uuid of its last try.
  std::string holder_id;
  /// What was asked for, or is held.
  LockMode mode = LockMode::exclusive;
  /// When it was, by the lock's own clock. It is told a moment later, or as late as the attempt ends.
  core::Instant at = {};
  /// How long it took, by the same clock; zero where nothing is said of it above.
  core::Duration took = core::Duration::zero();
  /// For `got`: handed to us by the holder before us, so nobody had to be asked.
  bool by_grant = false;
  /// Why, where `kind` says so; else zero.
  Errc code = {};
  /// A sentence for a log, or nothing.
  std::string text = {};
  /// For `probe`, `wait` and `not_got`: everybody else who is known to be there.
  std::vector<Holder> others = {};
};

/// Told of each observation: by the thread that acquires or releases, and of a loss by a thread of its own, before
/// `on_lost`. Of one object they come one at a time and in order, but for what `probe()` asks, so that one thread may
/// tell what another has seen, and `on_lost`, which waits for nobody, may come first then; of several objects at once.
/// It may ask the lock `held()` and take its time, but what it takes delays the call it is told from; others are still
/// answered meanwhile. Exceptions end there.
using Observer = std::function<void(const Observation&)>;

/// Tells it to the observer, if there is one.
inline void tell(const Observer& observer, const Observation& seen) noexcept {
  try {
    if (observer) observer(seen);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a lock does not fail because nobody could write it down
  }
}

/// As it may be called in a log, or as a label of a metric.
[[nodiscard]] constexpr std::string_view name_of(Observation::Kind kind) {
  switch (kind) {
    case Observation::Kind::attempt: return "attempt";
    case Observation::Kind::probe: return "probe";
    case Observation::Kind::wait: return "wait";
    case Observation::Kind::got: return "got";
    case Observation::Kind::not_got: return "not_got";
    case Observation::Kind::released: return "released";
    case Observation::Kind::handed_over: return "handed_over";
    case Observation::Kind::lost: return "lost";
    case Observation::Kind::reaped: return "reaped";
    case Observation::Kind::stranger: return "stranger";
    case Observation::Kind::warning: return "warning";
  }
  return "unknown";
}

}  // namespace sublock
