// SPDX-License-Identifier: MIT
#pragma once

// What one simulated run is made of, drawn from its seed in swarm style: whole kinds of fault are turned
// off in each run, since a run in which everything goes wrong hides what only some of it brings about.

#include <seeded/chance.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::testing {

enum class Fault {
  partition,  ///< a process and the server hear nothing of each other
  deaf,       ///< a process hears nothing
  slow,       ///< what goes to a process and from it takes long
  wedge,      ///< a process stands still, and goes on later
  drop,       ///< the server closes the connections of a process
  crash,      ///< a process dies, and another takes its place
  kill,       ///< the server closes some connection
  restart,    ///< the server closes every connection
  outage,     ///< the server is gone for a while
  no_kill,    ///< CLIENT KILL is refused for a while
  no_list,    ///< CLIENT LIST is refused for a while
  no_tokens,  ///< INCR is refused for a while
  stranger,   ///< somebody subscribes by hand for a while
};

inline constexpr std::pair<Fault, std::string_view> faults[] = {
    {Fault::partition, "partition"}, {Fault::deaf, "deaf"},       {Fault::slow, "slow"},
    {Fault::wedge, "wedge"},         {Fault::drop, "drop"},       {Fault::crash, "crash"},
    {Fault::kill, "kill"},           {Fault::restart, "restart"}, {Fault::outage, "outage"},
    {Fault::no_kill, "no_kill"},     {Fault::no_list, "no_list"}, {Fault::no_tokens, "no_tokens"},
    {Fault::stranger, "stranger"},
};

struct Weather {
  std::size_t players = 2;
  std::size_t processes = 2;
  std::size_t channels = 1;
  unsigned readers = 0;   ///< percent of attempts
  unsigned owners = 0;    ///< percent of players whose lock has a connection of its own
  unsigned fencers = 0;   ///< percent of players who draw tokens
  unsigned patience = 0;  ///< percent of attempts that wait, others look once
  unsigned cancels = 0;   ///< percent of attempts that are cancelled
  bool counts_in_join = true;
  Duration check_interval{};
  Duration unavailable_timeout{};
  Duration self_check_interval{};
  Duration hold_max{};
  Duration think_max{};
  Duration journey_max{};       ///< of most packets
  Duration long_journey_max{};  ///< of a few
  std::vector<Fault> faults;    ///< the kinds that are on
  Duration fault_interval{};    ///< between two, about
  Duration fault_length_max{};
  Duration storm{};          ///< then all faults end
  std::size_t enough = 300;  ///< acquisitions, after which they end as well

  /// Whether the server may refuse a command at all.
  [[nodiscard]] bool has_refusals() const {
    return std::ranges::any_of(faults, [](Fault fault) {
      return fault == Fault::no_kill || fault == Fault::no_list || fault == Fault::no_tokens;
    });
  }
};

[[nodiscard]] inline Weather draw_weather(Chance& chance) {
  using namespace std::chrono_literals;
  Weather weather;
  weather.players = 2 + (chance.percent(70) ? chance.below(6) : chance.below(19));
  weather.processes = 1 + chance.below(weather.players);
  weather.channels = chance.percent(80) ? 1 : 2;
  weather.readers = chance.of<unsigned>({0, 0, 20, 50, 80});
  weather.owners = chance.of<unsigned>({0, 50, 100});
  weather.fencers = chance.of<unsigned>({0, 0, 50});
  weather.patience = chance.of<unsigned>({50, 80, 100});
  weather.cancels = chance.of<unsigned>({0, 10, 30});
  weather.counts_in_join = chance.percent(85);
  // All spans hang on the first, so that a run has about as many tries whatever it is.
  const Duration step = chance.of<Duration>({5ms, 20ms, 100ms, 250ms});
  const Duration silence = step * chance.of<int>({2, 8, 20});
  weather.check_interval = step;
  weather.unavailable_timeout = silence;
  weather.self_check_interval = chance.of<Duration>({0ms, 0ms, step * 2, silence * 2});
  weather.hold_max = chance.of<Duration>({0ms, step / 4, step * 2, step * 8});
  weather.think_max = chance.of<Duration>({step / 50, step / 4, step * 2});
  weather.journey_max = chance.of<Duration>({0ms, step / 100, step / 10});
  weather.long_journey_max = chance.percent(50) ? weather.journey_max : silence * 2;
  for (const auto& [fault, name] : faults) {
    if (chance.percent(40)) weather.faults.push_back(fault);
  }
  weather.fault_interval = chance.of<Duration>({silence / 2, silence * 2, silence * 6});
  weather.fault_length_max = chance.of<Duration>({silence / 2, silence * 3, silence * 8});
  weather.storm = std::max(silence * 10, step * 1000 / static_cast<int>(weather.players));
  return weather;
}

/// For the diary of a run.
[[nodiscard]] inline std::string describe(const Weather& weather) {
  const auto ms = [](Duration span) { return std::chrono::duration<double, std::milli>(span).count(); };
  std::ostringstream out;
  out << weather.players << " players in " << weather.processes << " processes on " << weather.channels
      << " channels; " << weather.readers << "% readers, " << weather.owners << "% owned connections, "
      << weather.fencers << "% fencers, " << weather.patience << "% patient, " << weather.cancels
      << "% cancelled; " << (weather.counts_in_join ? "" : "no count in a join; ") << "C "
      << ms(weather.check_interval) << " ms, U " << ms(weather.unavailable_timeout) << " ms, self-check "
      << ms(weather.self_check_interval) << " ms, holds " << ms(weather.hold_max) << " ms, thinks "
      << ms(weather.think_max) << " ms; packets " << ms(weather.journey_max) << " ms, some "
      << ms(weather.long_journey_max) << " ms; every " << ms(weather.fault_interval) << " ms, for "
      << ms(weather.fault_length_max) << " ms:";
  for (const auto& [fault, name] : faults) {
    if (std::ranges::find(weather.faults, fault) != weather.faults.end()) out << ' ' << name;
  }
  return out.str();
}

}  // namespace sublock::testing
