// SPDX-License-Identifier: MIT
#pragma once

// Every world that can be reached, each once, the nearest first; so that the first fault found is one of the
// shortest.

#include "narrator.hpp"
#include "stage.hpp"

#include <sim/atlas.hpp>
#include <sim/liveness.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::lease_sim {

/// What a search looks for beside faults of safety.
struct Expectations {
  bool lock_can_be_had = false;  ///< by anybody who tries, also if the others do nothing any more
};

struct Findings {
  std::size_t worlds = 0;
  std::size_t steps = 0;
  std::size_t cut = 0;           ///< steps not taken, for lack of room: then less than all was searched
  std::size_t participants = 0;  ///< states of participants
  double seconds = 0;
  bool complete = false;  ///< all of it was searched
  std::string fault;      ///< empty, or what is wrong and how it came about
};

class Search {
 public:
  explicit Search(const Circumstances& how, const Expectations& expectations = {})
      : how_(how), expects_(expectations), cast_(how_), stage_(cast_, how_) {}

  Findings run() {
    const auto start = std::chrono::steady_clock::now();
    note(stage_.beginning(), 0, {});
    for (std::uint32_t at = 0; at < atlas_.size() && findings_.fault.empty(); ++at) expand(at);
    if (expects_.lock_can_be_had && open_.empty()) check_liveness();
    findings_.complete = findings_.fault.empty() && open_.empty();
    findings_.worlds = atlas_.size();
    findings_.participants = cast_.states();
    findings_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return findings_;
  }

 private:
  void expand(std::uint32_t at) {
    const World from = unpacked(open_.front());
    open_.pop_front();
    if (expects_.lock_can_be_had) mark(from);
    for (std::uint8_t who = 0; who < how_.players; ++who) {
      for (unsigned what = 0; what < whats; ++what) {
        const Move move{who, static_cast<What>(what)};
        const Outcome outcome = stage_.play(from, move, to_);
        if (outcome == Outcome::cut) ++findings_.cut;
        if (outcome != Outcome::done) continue;
        ++findings_.steps;
        if (!stage_.complaint().empty()) return report(stage_.complaint(), at, &move);
        const std::uint32_t to = note(to_, at, move);
        if (expects_.lock_can_be_had && is_progress(move.what)) liveness_.add_step(at, to, label(move));
      }
    }
  }

  /// The number of that world, which is to be expanded if it is a new one.
  std::uint32_t note(const World& world, std::uint32_t from, Move move) {
    Packer::Buffer buffer;
    Packer packer(buffer);
    walk(packer, world, how_.players);
    const auto [number, is_new] = atlas_.find_or_add(std::hash<std::string_view>()(packer.packed()));
    if (is_new) {
      open_.emplace_back(packer.packed());
      parents_.push_back(from);
      moves_.push_back(static_cast<std::uint8_t>(move.who * 32U + static_cast<unsigned>(move.what)));
    }
    return number;
  }

  [[nodiscard]] World unpacked(const std::string& packed) const {
    World world;
    Unpacker unpacker(packed);
    walk(unpacker, world, how_.players);
    return world;
  }

  // --- can it still be had? --------------------------------------------------------------------------

  static constexpr std::uint8_t by_world = players_max;

  static std::uint8_t label(Move move) {
    const bool own = move.what == What::read || move.what == What::hear || move.what == What::tick ||
                     move.what == What::wake || move.what == What::acquire;
    return own ? move.who : by_world;
  }

  void mark(const World& world) {
    std::uint8_t trying = 0;
    std::uint8_t holding = 0;
    for (unsigned who = 0; who < how_.players; ++who) {
      const Facts& facts = cast_.facts(world.players[who].state);
      if (facts.trying) trying |= static_cast<std::uint8_t>(1U << who);
      if (facts.phase == Phase::holding) holding |= static_cast<std::uint8_t>(1U << who);
    }
    trying_.push_back(trying);
    holding_.push_back(holding);
  }

  /// Somebody else may be dead: nothing of what he could do is counted on, and a key of his expires.
  void check_liveness() {
    for (std::uint8_t who = 0; who < how_.players && findings_.fault.empty(); ++who) {
      const auto bit = static_cast<std::uint8_t>(1U << who);
      const auto stuck = liveness_.first_without(
          trying_.size(), [&](std::uint32_t at) { return (trying_[at] & bit) != 0; },
          [&](std::uint32_t at) { return (holding_[at] & bit) != 0; },
          [&](std::uint8_t by) { return by == who || by == by_world; });
      if (stuck)
        report("one who waits can't get the lock any more, though nobody else does", *stuck, nullptr);
    }
  }

  /// The way to world `at`, and the step from there, retold.
  void report(const std::string& complaint, std::uint32_t at, const Move* last) {
    std::vector<Move> way;
    if (last != nullptr) way.push_back(*last);
    for (; at != 0; at = parents_[at]) {
      way.push_back({static_cast<std::uint8_t>(moves_[at] / 32), static_cast<What>(moves_[at] % 32)});
    }
    std::reverse(way.begin(), way.end());
    findings_.fault = complaint + ", after " + std::to_string(way.size()) + " steps:\n" +
                      Narrator(cast_, stage_).retell(stage_.beginning(), way);
  }

  Circumstances how_;
  Expectations expects_;
  Cast cast_;
  Stage stage_;
  sim::Atlas atlas_;
  std::deque<std::string> open_;  // worlds known but not yet expanded
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint8_t> moves_;
  World to_;
  sim::Liveness liveness_;
  std::vector<std::uint8_t> trying_;
  std::vector<std::uint8_t> holding_;
  Findings findings_;
};

}  // namespace sublock::lease_sim
