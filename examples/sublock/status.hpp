// SPDX-License-Identifier: MIT
#pragma once

// What the command says with its exit status, once for all verbs, and how it speaks on stderr. The numbers are
// those of sysexits.h, beside flock's 1 for a conflict and the shell's for a command that can't be run.

#include <sublock/redis_lock.hpp>

#include <iostream>
#include <string_view>

namespace command {

enum Status : int {
  done = 0,
  conflict = 1,       ///< somebody else has the lock; for `who`: nobody has
  warned = 1,         ///< of `doctor`: there is a warning
  troubled = 2,       ///< of `doctor`: there is a problem
  usage = 64,         ///< the words make no sense
  unreachable = 69,   ///< no Redis there, or it stopped answering
  system_error = 71,  ///< the system lacks something: processes, memory, descriptors
  lost = 74,          ///< the lock was held and got lost
  undecided = 75,     ///< somebody is on the channel and does not answer
  protocol = 76,      ///< what answered is no Redis
  refused = 77,       ///< Redis refused the credentials, or a permission is missing
  not_executable = 126,
  not_found = 127,
};

[[nodiscard]] constexpr Status status_of(sublock::Errc code) noexcept {
  using sublock::Errc;
  switch (code) {
    case Errc::busy:
    case Errc::doubtful: return undecided;
    case Errc::lost:
    case Errc::not_held: return lost;
    case Errc::permission:
    case Errc::auth: return refused;
    case Errc::connect: return unreachable;
    case Errc::protocol: return protocol;
    case Errc::usage: return usage;
    case Errc::already_held:
    case Errc::cancelled: break;
  }
  return system_error;
}

/// One line on stderr, in which what is said begins with who says it.
inline void say(std::string_view text) { std::cerr << "sublock: " << text << std::endl; }

}  // namespace command
