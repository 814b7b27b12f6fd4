// SPDX-License-Identifier: MIT
#pragma once

// How the tests of this folder ask for a search, how much of it they can afford, and what they print.

#include "search.hpp"

#include <sublock/election/lowest_id.hpp>
#include <sublock/reaper/client_list.hpp>

#include <cstdlib>
#include <iostream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::sim {

/// Sanitizers make a search ten times slower, and find what they are for in a small one.
enum class Extent { small, standard, large };

/// SUBLOCK_SEARCH=large in the environment asks for hours and gigabytes, SUBLOCK_SEARCH=small for seconds.
[[nodiscard]] inline Extent extent() {
  const char* wanted = std::getenv("SUBLOCK_SEARCH");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (wanted != nullptr && std::string_view(wanted) == "large") return Extent::large;
  if (wanted != nullptr && std::string_view(wanted) == "small") return Extent::small;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return Extent::small;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return Extent::small;
#else
  return Extent::standard;
#endif
#else
  return Extent::standard;
#endif
}

/// The participants, `W` for each writer and `R` for each reader; the earlier is elected first.
[[nodiscard]] inline std::vector<core::Request> requests(std::string_view mix,
                                                         const Circumstances& circumstances) {
  std::vector<core::Request> all;
  for (const char who : mix) {
    core::Request request;
    request.mode = who == 'W' ? LockMode::exclusive : LockMode::shared;
    request.fencing = circumstances.fencing && who == 'W';
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
  return Search<Shipped>(requests(mix, circumstances), circumstances, expectations).run();
}

}  // namespace sublock::sim
