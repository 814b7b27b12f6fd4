// SPDX-License-Identifier: MIT
#pragma once

// The words for one attempt: who tries, what for, how far he is and how it ended.

#include <sublock/core/holder.hpp>

#include <cstdint>
#include <string>

namespace sublock::core {

/// Who takes part; fixed for the object's life.
struct Identity {
  std::string channel;
  std::string holder_id;
  std::string host;
  std::int64_t pid = 0;
  std::string label;
  std::int64_t priority = 0;
};

/// What one attempt is allowed to cost.
struct Request {
  LockMode mode = LockMode::exclusive;
  Instant deadline = Instant::max();
  Duration check_interval = std::chrono::milliseconds(250);
  Duration unavailable_timeout = std::chrono::seconds(1);
  Duration self_check_interval = Duration::zero();  ///< while holding; zero for never
  bool fencing = false;                             ///< draw a fencing token before the lock counts as held
  std::string server = "the server";                ///< as errors call it
  bool polite = false;            ///< ask from outside first: somebody waited when we last let go
  bool once = false;              ///< don't wait: give up on the first look that doesn't lead to the lock
  bool fail_when_locked = false;  ///< give up once it is certain that somebody else has it
};

enum class Phase : std::uint8_t {
  idle,       ///< not trying
  opening,    ///< waiting for an ear
  joining,    ///< waiting for the join to be confirmed
  tuning,     ///< joined; waiting for the next response channel
  probing,    ///< joined; waiting for answers
  examining,  ///< joined; waiting for the list of connections
  killing,    ///< joined; waiting for the kill to be confirmed
  resting,    ///< joined; will ask again in a moment
  fencing,  ///< owns it as far as others can tell; waiting for the fencing token and for proof that it counts
  holding,  ///< has the lock
  granting,  ///< no owner any more; waiting to hear that the server has delivered the grant
  leaving,   ///< waiting for the unsubscribe to be confirmed
  waiting,   ///< not joined; listens on an inbox, and will try again in a moment
};

/// How the last attempt, or the hold after it, ended.
enum class Result : std::uint8_t { none, acquired, busy, failed, cancelled, released, lost };

}  // namespace sublock::core
