// SPDX-License-Identifier: MIT
#pragma once

// Every world that can be reached, each once, the nearest first; so that the first fault found is one of
// the shortest.

#include "atlas.hpp"
#include "checker.hpp"
#include "liveness.hpp"
#include "narrator.hpp"
#include "stage.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::sim {

/// One step, and the world it leads to.
struct Way {
  Move move;
  std::uint64_t hash = 0;
  std::size_t start = 0;
  std::size_t size = 0;
};

/// What liveness asks of each world. Sets of participants are bits.
struct Marks {
  std::uint8_t holding = 0;
  std::uint8_t eager = 0;     ///< those who have a try left, besides the one that they may be in
  std::uint8_t hindered = 0;  ///< those who can't go on here for a bound of the search, see Outcome
  bool trying = false;        ///< anybody
  bool deserted = false;      ///< nobody is on the channel, nor on the way to it
};

struct Findings {
  std::size_t worlds = 0;
  std::size_t steps = 0;
  std::size_t postponed = 0;  ///< steps not taken, for questions were unread
  std::size_t cut =
      0;  ///< steps not taken, for lack of room: more than none means less than all was searched
  std::size_t participants = 0;  ///< states of participants, over all of them
  double seconds = 0;
  bool complete = false;  ///< all of it was searched
  std::string fault;      ///< empty, or what is wrong and how it came about
};

template <class Participant>
class Search {
 public:
  Search(std::vector<core::Request> requests, const Circumstances& circumstances,
         const Expectations& expectations = {})
      : cast_(std::move(requests), circumstances.shared_ears),
        how_(circumstances),
        stage_(cast_, how_),
        checker_(cast_, expectations),
        expects_(expectations) {
    // A reduced search passes over the order of things, which is what all but the safety of owners is about.
    how_.reduced = circumstances.reduced && !expectations.quiet_means_done && !expectations.readers_agree &&
                   !expectations.asked_twice && !expectations.lock_can_be_had;
  }

  /// Tells `visit` of each world when it is found.
  void watch(std::function<void(const World&)> visit) { visit_ = std::move(visit); }

  [[nodiscard]] const Cast<Participant>& cast() const { return cast_; }

  /// Stops at the first fault, or where more than `worlds_max` are known.
  Findings run(std::size_t worlds_max = 0xfffffff0) {
    const auto start = std::chrono::steady_clock::now();
    to_ = stage_.beginning();
    remember({});  // the way to the beginning, which is no step
    follow(0);
    findings_.steps = 0;
    for (std::uint32_t at = 0; at < atlas_.size() && findings_.fault.empty(); ++at) {
      if (atlas_.size() > worlds_max) break;
      expand(at);
    }
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
    if (how_.reduced) {
      for (std::uint8_t who = 0; who < cast_.size(); ++who) {
        if (expand_alone(from, who, at)) return;
      }
    }
    bool quiet = true;
    std::uint8_t hindered = 0;
    for (std::uint8_t who = 0; who < cast_.size(); ++who) {
      for (unsigned what = 0; what < whats; ++what) {
        const Move move{who, static_cast<What>(what)};
        const Outcome outcome = stage_.play(from, move, to_);
        if (outcome == Outcome::impossible) continue;
        if (is_delivery(move.what)) quiet = false;
        if (outcome == Outcome::postponed) ++findings_.postponed;
        if (outcome == Outcome::cut) ++findings_.cut;
        if (outcome != Outcome::done) {
          hindered |= static_cast<std::uint8_t>(1U << who);
          continue;
        }
        const std::string complaint = checker_.complaint(to_, move, stage_.hasty());
        if (!complaint.empty()) return report(complaint, at, &move);
        remember(move);
      }
    }
    follow(at);
    if (expects_.lock_can_be_had) mark(from, hindered);
    if (quiet) {
      const std::string complaint = checker_.complaint_when_quiet(from);
      if (!complaint.empty()) report(complaint, at, nullptr);
    }
  }

  /// Only what `who` may do next, where that is enough: nothing that others do matters to it, nor can the
  /// checker see any of it, and what can't be kept from happening leads somewhere new, so that nobody is put
  /// off for ever. (A stubborn set, as in partial order reduction of a breadth-first search.) False where it
  /// is not.
  bool expand_alone(const World& from, std::uint8_t who, std::uint32_t at) {
    if (!stage_.stands_alone(from, who)) return false;
    bool enough = true;
    for (unsigned what = 0; enough && what < whats; ++what) {
      const Move move{who, static_cast<What>(what)};
      if (!is_own(move.what) && move.what != What::lose_ear) continue;
      const Outcome outcome = stage_.play(from, move, to_);
      if (outcome == Outcome::impossible) continue;
      enough = outcome == Outcome::done && cast_.facts(to_.players[who].state).phase != core::Phase::holding;
      if (enough) remember(move);
    }
    const bool leads_on = std::ranges::any_of(ways_, [&](const Way& way) {
      return stage_.stays_possible(way.move.what) && !atlas_.contains(way.hash);
    });
    if (enough && leads_on) {
      follow(at);
      return true;
    }
    forget_ways();
    return false;
  }

  /// The way to `to_`, until all ways from the present world are known.
  void remember(Move move) {
    Packer::Buffer buffer;
    Packer packer(buffer);
    walk(packer, to_, cast_.size());
    const std::string_view packed = packer.packed();
    const std::uint64_t hash = std::hash<std::string_view>()(packed);
    atlas_.expect(hash);
    ways_.push_back({move, hash, ends_.size(), packed.size()});
    ends_ += packed;
  }

  /// Notes where all the ways lead that were remembered.
  void follow(std::uint32_t at) {
    for (const Way& way : ways_) {
      ++findings_.steps;
      const auto [number, is_new] = atlas_.find_or_add(way.hash);
      if (expects_.lock_can_be_had && is_progress(way.move.what)) {
        liveness_.add_step(at, number, label(way.move));
      }
      if (!is_new) continue;
      open_.emplace_back(ends_, way.start, way.size);
      if (visit_) visit_(unpacked(open_.back()));
      parents_.push_back(at);
      moves_.push_back(static_cast<std::uint8_t>(way.move.who * 32U + static_cast<unsigned>(way.move.what)));
    }
    forget_ways();
  }

  void forget_ways() {
    ways_.clear();
    ends_.clear();
  }

  [[nodiscard]] World unpacked(const std::string& packed) const {
    World world;
    Unpacker unpacker(packed.data());
    walk(unpacker, world, cast_.size());
    return world;
  }

  // --- can it still be had? --------------------------------------------------------------------------

  static constexpr std::uint8_t by_server = players_max;
  static constexpr std::uint8_t by_time = players_max + 1;  // the server notices that an ear is gone

  static std::uint8_t label(Move move) {
    if (move.what == What::close_ghost_ear) return by_time;
    return is_served(move.what) ? by_server : move.who;
  }

  void mark(const World& world, std::uint8_t hindered) {
    Marks marks;
    marks.hindered = hindered;
    marks.deserted = true;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      const Player& player = world.players[who];
      const Facts& facts = cast_.facts(player.state);
      const auto bit = static_cast<std::uint8_t>(1U << who);
      if (facts.phase == core::Phase::holding) marks.holding |= bit;
      // One who has left a ghost of himself on the channel must wait until the server knows it for one.
      if (player.tries > 0 && !player.ghost.counted) marks.eager |= bit;
      if (facts.trying) marks.trying = true;
      if (facts.trying || player.ear.counted || player.ghost.up) marks.deserted = false;
    }
    marks_.push_back(marks);
  }

  void check_liveness() {
    const auto any = [](std::uint8_t) { return true; };
    check(
        "nobody can get the lock any more, though somebody may try once more",
        [](const Marks& marks) { return marks.eager != 0; },
        [](const Marks& marks) { return marks.holding != 0; }, any);
    check(
        "somebody is stuck: he can neither get the lock nor leave",
        [](const Marks& marks) { return marks.trying; },
        [](const Marks& marks) { return marks.holding != 0 || marks.deserted; }, any);
    if (!expects_.silence_can_be_overcome) return;
    for (std::uint8_t who = 0; who < cast_.size(); ++who) {
      const auto bit = static_cast<std::uint8_t>(1U << who);
      check(
          "participant " + std::to_string(who) + " can't get the lock if the others say nothing any more",
          [bit](const Marks& marks) { return (marks.eager & bit) != 0; },
          [bit](const Marks& marks) { return ((marks.holding | marks.hindered) & bit) != 0; },
          [who](std::uint8_t by) { return by == who || by == by_server; });
    }
  }

  void check(const std::string& complaint, const auto& must, const auto& good, const auto& allowed) {
    if (!findings_.fault.empty()) return;
    const auto stuck = liveness_.first_without(
        marks_.size(), [&](std::uint32_t at) { return must(marks_[at]); },
        [&](std::uint32_t at) { return good(marks_[at]); }, allowed);
    if (stuck) report(complaint, *stuck, nullptr);
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
                      Narrator<Participant>(cast_, stage_).retell(stage_.beginning(), way);
  }

  Cast<Participant> cast_;
  Circumstances how_;
  Stage<Participant> stage_;
  Checker<Participant> checker_;
  Atlas atlas_;
  std::deque<std::string> open_;  // worlds known but not yet expanded
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint8_t> moves_;
  World to_;
  std::vector<Way> ways_;  // from the world that is being expanded
  std::string ends_;       // where they lead, packed, one after the other
  Expectations expects_;
  std::function<void(const World&)> visit_;
  Liveness liveness_;
  std::vector<Marks> marks_;
  Findings findings_;
};

}  // namespace sublock::sim
