// SPDX-License-Identifier: MIT
#pragma once

// What is going to happen to a soak's processes and server, and when: drawn from one seed, so that the same
// seed brings the same faults. Nothing is done here.

#include <cstdint>
#include <random>
#include <vector>

namespace soak {

enum class What {
  freeze,         ///< SIGSTOP to one process, and SIGCONT after `length`
  freeze_holder,  ///< the same to whoever says that it holds
  kill_ear,       ///< CLIENT KILL of a connection that subscribes
  kill_mouth,     ///< of one that doesn't
  crash,          ///< SIGKILL to the server, which is back after `length`
  shut_down,      ///< the same with a good-bye
};

struct Fault {
  double at = 0;  ///< seconds after the start
  What what = What::freeze;
  unsigned whom = 0;  ///< which process, holder or connection among those there are, modulo their number
  double length = 0;  ///< seconds
};

/// Draws from a generator whose numbers are the same everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  double between(double least, double most) {
    return least + (most - least) * static_cast<double>(random_() >> 11U) * 0x1p-53;
  }
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  unsigned any() { return below(1U << 30U); }

 private:
  std::mt19937_64 random_;
};

/// Some faults a second, in order of time. The server gets a few seconds to itself between two of its ends.
[[nodiscard]] inline std::vector<Fault> plan(std::uint64_t seed, double seconds) {
  constexpr double between_ends = 6;
  Draw draw(seed);
  std::vector<Fault> faults;
  double server_quiet_until = 2;
  for (double at = draw.between(0.1, 0.5); at < seconds; at += draw.between(0.1, 0.8)) {
    const unsigned die = draw.below(20);
    if (die < 10) {
      // Half of them too short for anybody to lose patience.
      const double length = die % 2 == 0 ? draw.between(0.05, 0.5) : draw.between(0.5, 4);
      faults.push_back({at, die < 4 ? What::freeze : What::freeze_holder, draw.any(), length});
    } else if (die < 17) {
      faults.push_back({at, die < 14 ? What::kill_ear : What::kill_mouth, draw.any(), 0});
    } else if (at >= server_quiet_until) {
      server_quiet_until = at + between_ends;
      faults.push_back({at, die == 17 ? What::shut_down : What::crash, 0, draw.between(0, 1)});
    }
  }
  return faults;
}

}  // namespace soak
