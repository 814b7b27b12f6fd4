// SPDX-License-Identifier: MIT

// The protocol without any I/O: how long a holder thinks about one ping. And everything that can be counted
// rather than timed.

#include "costs.hpp"
#include "row.hpp"

#include <benchmark/benchmark.h>

#include <iomanip>
#include <iostream>
#include <memory>
#include <vector>

namespace bench {

std::vector<Row> core_step() {
  constexpr int steps = 10'000;
  const auto per_step = [](auto&& act) {
    return 1000.0 / steps * median_of(1, [&] {
             for (int i = 0; i < steps; ++i) benchmark::DoNotOptimize(act());
           });
  };
  const auto entries = [=] {
    const auto core = std::make_shared<CoreStep>();
    return std::vector<Entry>{
        {"encoding the answer", [=] { return per_step([&] { return core->encode(); }); }},
        {"sublock", [=] { return per_step([&] { return core->step(); }); }}};
  };
  return {{"core step: one ping answered, no I/O", "ns", {}, 40, entries}};
}

void print_costs() {
  std::cout << '\n'
            << std::left << std::setw(46) << "counted in memory, exact" << std::right << std::setw(12)
            << "round trips" << std::setw(10) << "commands" << std::setw(10) << "messages" << std::setw(13)
            << "allocations\n";
  for (const Cost& cost : costs()) {
    std::cout << std::left << std::setw(46) << cost.what << std::right << std::setw(12) << cost.round_trips
              << std::setw(10) << cost.commands << std::setw(10) << cost.messages << std::setw(12)
              << cost.allocations << '\n';
  }
}

}  // namespace bench
