// SPDX-License-Identifier: MIT
#pragma once

// One simulated run: players who take locks, a storm of faults, and what a run must not do. Everything is
// drawn from the seed, and time is virtual.

#include <seeded/baton_pacing.hpp>
#include <seeded/referee.hpp>
#include <seeded/weather.hpp>
#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/in_memory.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::testing {

using namespace std::chrono_literals;

/// What came of a run.
struct Report {
  std::size_t acquisitions = 0;
  std::size_t losses = 0;
  std::size_t kills = 0;
  std::size_t faults = 0;
  Duration slowest{};  ///< from the end of all faults to the last one who got the lock
  std::uint64_t trace = 0;
  std::vector<std::string> violations;
  std::vector<std::string> diary;
};

template <class Election>
class Player;

/// A process of the simulation: a connection that its players share, and their common fate.
template <class Election>
struct Process {
  std::shared_ptr<InMemoryTransport> connection;
  std::vector<Player<Election>*> players;
  std::uint64_t life = 0;      ///< raised when it dies and another takes its place
  bool is_in_trouble = false;  ///< one lasting fault at a time
  Duration stood_still_for{};  ///< in all
};

/// What players and storm share.
template <class Election>
struct Stage {
  explicit Stage(std::uint64_t seed)
      : chance(seed),
        weather(draw_weather(chance)),
        pacing(std::make_shared<BatonPacing>(clock, chance.split())),
        redis(pacing),
        dice(chance.split()) {}

  /// A rule is broken; the run goes on, and the test fails.
  void accuse(const std::string& text) {
    report.violations.push_back(text);
    say("VIOLATION " + text);
  }

  void say(const std::string& text) {
    for (const char byte : text) pacing->note(static_cast<unsigned char>(byte));
    if (!keeps_diary) return;
    std::ostringstream out;
    out << std::fixed << std::setprecision(6) << std::chrono::duration<double>(clock.now() - start).count()
        << ' ' << text;
    report.diary.push_back(out.str());
  }

  ManualClock clock;
  const Instant start = clock.now();
  Chance chance;
  const Weather weather;
  std::shared_ptr<BatonPacing> pacing;
  InMemoryRedis redis;
  Chance dice;  ///< where the locks' own randomness comes from
  Referee referee;
  Report report;
  bool keeps_diary = false;
  bool is_calm = false;  ///< all faults have ended, for good
  Instant calm_since{};
  std::size_t done = 0;                        ///< players who have come to their end
  std::map<std::string, std::int64_t> tokens;  ///< the greatest one of each channel
  std::vector<std::unique_ptr<Process<Election>>> processes;
};

}  // namespace sublock::testing
