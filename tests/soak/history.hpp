// SPDX-License-Identifier: MIT
#pragma once

// What has happened in a soak: what was done to whom, and what the processes said, read into holds. All times
// are seconds of CLOCK_MONOTONIC. No opinion here on whether any of it is right.

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace soak {

/// What takes the lock from whoever has it, at some instant between the two.
struct Cause {
  double from = 0;
  double to = 0;
  std::optional<unsigned> victim;  ///< nobody in particular: whoever holds
};

struct Freeze {
  unsigned whom = 0;
  double from = 0;
  double to = 0;
};

/// From GOT to the word before giving back, or to LOST.
struct Hold {
  unsigned who = 0;
  bool exclusive = false;
  double tried = 0;
  double got = 0;
  double ended = 0;
  std::optional<double> lost;  ///< when it said so
  std::optional<long> token;
};

/// One process, by its lines: "12345.678901 WORD text".
struct Tale {
  std::vector<Hold> holds;
  double longest_wait = 0;  ///< from the first TRY after a hold to the next GOT
  long failures = 0;
};

[[nodiscard]] inline Tale read(unsigned who, bool exclusive, const std::vector<std::string>& lines) {
  Tale tale;
  std::optional<double> waiting_since;
  double tried = 0;
  bool inside = false;
  for (const std::string& line : lines) {
    const double at = std::strtod(line.c_str(), nullptr);
    const std::string_view words = std::string_view(line).substr(std::min(line.find(' ') + 1, line.size()));
    const std::string_view word = words.substr(0, words.find(' '));
    if (word == "TRY") {
      tried = at;
      if (!waiting_since) waiting_since = at;
    } else if (word == "FAILED") {
      ++tale.failures;
    } else if (word == "GOT") {
      tale.longest_wait = std::max(tale.longest_wait, at - waiting_since.value_or(at));
      waiting_since.reset();
      Hold hold{who, exclusive, tried, at, at, {}, {}};
      if (const auto equals = words.find("token="); equals != std::string_view::npos)
        hold.token = std::strtol(words.data() + equals + 6, nullptr, 10);
      tale.holds.push_back(hold);
      inside = true;
    } else if (!tale.holds.empty() && (word == "LEAVING" || word == "LOST")) {
      if (inside) tale.holds.back().ended = at;
      inside = false;
      if (word == "LOST") tale.holds.back().lost = at;
    }
  }
  return tale;
}

}  // namespace soak
