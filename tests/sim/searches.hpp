// SPDX-License-Identifier: MIT
#pragma once

// How the tests of this folder ask for a search, and what they print.

#include "search.hpp"

#include <sublock/election/lowest_id.hpp>
#include <sublock/reaper/client_list.hpp>
#include <support/extent.hpp>

#include <iostream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::sim {

using support::Extent;
using support::extent;

/// Those written small hear by ears that they share.
[[nodiscard]] inline Circumstances cast_as(std::string_view mix, Circumstances how) {
  for (std::size_t who = 0; who < mix.size(); ++who) {
    if (mix[who] == 'w' || mix[who] == 'r') how.shared_ears |= 1U << who;
  }
  return how;
}

/// The participants, `W` for each writer and `R` for each reader; the earlier is elected first.
[[nodiscard]] inline std::vector<core::Request> requests(std::string_view mix,
                                                         const Circumstances& circumstances) {
  std::vector<core::Request> all;
  for (const char who : mix) {
    core::Request request;
    const bool writes = who == 'W' || who == 'w';
    request.mode = writes ? LockMode::exclusive : LockMode::shared;
    request.fencing = circumstances.fencing && writes;
    if (circumstances.self_checks) request.self_check_interval = std::chrono::seconds(3);
    if (circumstances.deadlines) request.deadline = core::Instant(std::chrono::hours(2));
    all.push_back(request);
  }
  return all;
}

/// One search, and the least extent that includes it.
struct Case {
  std::string name;
  std::string mix;
  Circumstances circumstances;
  Expectations expectations{};
  Extent least = Extent::standard;

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.mix; }
};

[[nodiscard]] inline std::vector<Case> affordable(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case& one) { return one.least > extent(); });
  return cases;
}

inline void print(std::string_view what, const Findings& found) {
  std::cout << "[   STATES ] " << what << ": " << found.worlds << " states, " << found.steps << " steps, "
            << found.participants << " states of single participants, " << found.seconds << " s"
            << (found.complete ? ", searched to the end" : "") << '\n';
}

template <core::Rules rules = core::Rules{}>
Findings search(std::string_view mix, const Circumstances& circumstances,
                const Expectations& expectations = {}) {
  using Shipped = core::Participant<LowestIdElection, ClientListReaper, rules>;
  return Search<Shipped>(requests(mix, circumstances), cast_as(mix, circumstances), expectations).run();
}

}  // namespace sublock::sim
