// SPDX-License-Identifier: MIT
#pragma once

// Core vocabulary: who is on a channel and what it says of itself. Plain values only; nothing here
// knows bytes, sockets, threads or what time it is.

#include <sublock/core/printable.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace sublock {

/// What the caller asks for: alone, or together with other readers.
enum class LockMode { exclusive, shared };

/// As it may be called in a log, or as a label of a metric.
[[nodiscard]] constexpr std::string_view name_of(LockMode mode) noexcept {
  return mode == LockMode::exclusive ? "exclusive" : "shared";
}

namespace core {

/// Every clock of the library counts on the steady clock's scale, so that time is one type.
using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;
/// Seconds since 1970, by somebody's wall clock. For others to read; nothing here is decided by it.
using WallTime = std::chrono::duration<double>;

/// `start + wait`, or the end of time where that would overflow.
[[nodiscard]] constexpr Instant saturating_add(Instant start, Duration wait) noexcept {
  return wait > Instant::max() - start ? Instant::max() : start + wait;
}

/// What a participant says of itself on the wire. A reader is `shared` from the moment it joins.
enum class HolderMode { exclusive, pending, shared };

[[nodiscard]] constexpr std::string_view name_of(HolderMode mode) noexcept {
  switch (mode) {
    case HolderMode::exclusive: return "exclusive";
    case HolderMode::pending: return "pending";
    case HolderMode::shared: return "shared";
  }
  return "unknown";
}

/// What an election may look at: only what a participant announces and never changes while joined.
struct Candidate {
  std::string holder_id;      ///< any string; 32 lowercase hex digits for participants of ours
  std::int64_t priority = 0;  ///< 0 for peers that announce none

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// One answer to a probe, as far as its sender told us.
struct Holder {
  std::string holder_id{};                  ///< 32 hex digits
  HolderMode mode = HolderMode::exclusive;  ///< what it says it is
  /// Exclusive, or first in line while readers drain. Empty: a peer that predates the field.
  std::optional<bool> elected{};
  bool legacy = false;        ///< an answer that no known protocol explains: counts as an exclusive holder
  bool sublock = false;       ///< the sender speaks our extension, so that the fields below mean something
  bool leaving = false;       ///< has given up and only waits for its unsubscribe to be confirmed
  bool next = false;          ///< tells the pinging waiter that it comes first once the lock is free
  std::string host{};         ///< as its system calls it
  std::int64_t pid = 0;       ///< on that host
  std::string label{};        ///< what its user calls it
  std::int64_t priority = 0;  ///< for elections that look at it
  std::string ear{};          ///< the shared ear that it hears by; empty for one of its own
  /// For how long it has held the lock; empty while it doesn't.
  std::optional<std::chrono::milliseconds> held_for{};
  /// For how long it has been trying; told only to one who looks on from outside.
  std::optional<std::chrono::milliseconds> waiting_for{};

  friend bool operator==(const Holder&, const Holder&) = default;
};

/// "exclusive 3f2a… (host web-3, pid 812, label "importer", for 4200 ms)"
inline std::ostream& operator<<(std::ostream& out, const Holder& holder) {
  out << name_of(holder.mode) << ' ' << printable(holder.holder_id);
  if (holder.legacy) return out << " (an old or unknown protocol)";
  if (!holder.sublock) return out;
  out << " (host " << printable(holder.host) << ", pid " << holder.pid;
  if (!holder.label.empty()) out << ", label \"" << printable(holder.label) << '"';
  if (holder.held_for) out << ", for " << holder.held_for->count() << " ms";
  if (holder.waiting_for) out << ", waiting for " << holder.waiting_for->count() << " ms";
  if (holder.leaving) out << ", leaving";
  return out << ')';
}

/// A connection as the server lists it.
struct Connection {
  std::int64_t id = 0;  ///< the server's client id, never used twice by one server
  std::string name;     ///< as set by CLIENT SETNAME; may be empty

  friend bool operator==(const Connection&, const Connection&) = default;
};

}  // namespace core

using core::Holder;
using core::HolderMode;

}  // namespace sublock
