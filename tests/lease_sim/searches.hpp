// SPDX-License-Identifier: MIT
#pragma once

// How the tests of this folder ask for a search, and what they print.

#include "search.hpp"

#include <support/extent.hpp>

#include <iostream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::lease_sim {

using support::Extent;
using support::extent;

/// One search, and the least extent that includes it.
struct Case {
  std::string name;
  Circumstances circumstances;
  Extent least = Extent::standard;

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }
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

[[nodiscard]] inline Findings search(const Circumstances& circumstances,
                                     const Expectations& expectations = {}) {
  return Search(circumstances, expectations).run();
}

}  // namespace sublock::lease_sim
