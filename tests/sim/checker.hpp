// SPDX-License-Identifier: MIT
#pragma once

// An outside observer, with the only opinion on what is wrong. It sees who believes to hold the lock and
// whom the server counts, and asks no participant whether all is well.

#include "stage.hpp"

#include <string>

namespace sublock::sim {

/// What is looked for besides two owners at once.
struct Expectations {
  bool quiet_means_done = false;  ///< when all that was said has arrived, nobody is left waiting for a word
  bool readers_agree = false;     ///< one who waits for readers only never makes way
  bool asked_twice = false;       ///< nobody is killed before he was asked twice
  bool lock_can_be_had = false;   ///< from everywhere; needs the memory for all steps between worlds
  bool silence_can_be_overcome = false;  ///< by each alone, whatever the others have done last
};

template <class Participant>
class Checker {
 public:
  Checker(const Cast<Participant>& cast, const Expectations& expectations)
      : cast_(cast), expects_(expectations) {}

  /// What is wrong with `world`, into which `move` has led; empty if nothing is.
  [[nodiscard]] std::string complaint(const World& world, Move move, bool hasty) const {
    unsigned owners = 0;
    unsigned readers = 0;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      const Player& player = world.players[who];
      if (facts(player).phase != core::Phase::holding || !player.ear.counted) continue;
      (facts(player).mode == HolderMode::exclusive ? owners : readers) += 1;
    }
    if (owners > 1) return "two owners";
    for (unsigned who = 0; who < cast_.size(); ++who) {
      const Player& player = world.players[who];
      if (player.drew == Drew::as_ghost && facts(player).phase == core::Phase::holding) {
        return "a fencing token was drawn by one who had lost the lock";
      }
    }
    if (owners == 1 && readers > 0) return "an owner beside a reader";
    const Facts& mover = facts(world.players[move.who]);
    const bool told_of_loss = move.what == What::hear_loss || move.what == What::lose_ear;
    if ((told_of_loss || deaf(world.players[move.who])) && mover.phase == core::Phase::holding) {
      return "somebody holds the lock who knows that his ear is gone";
    }
    if (expects_.readers_agree && move.what == What::decide && mover.phase == core::Phase::leaving) {
      return "a reader makes way for readers";
    }
    if (expects_.asked_twice && hasty) return "somebody is killed who was asked but once";
    return {};
  }

  /// The same for a world in which nothing is on its way any more.
  [[nodiscard]] std::string complaint_when_quiet(const World& world) const {
    if (!expects_.quiet_means_done) return {};
    for (unsigned who = 0; who < cast_.size(); ++who) {
      switch (facts(world.players[who]).phase) {
        case core::Phase::idle:
        case core::Phase::waiting:
        case core::Phase::resting:
        case core::Phase::holding: break;
        default: return "all has been said, and somebody still waits for an answer";
      }
    }
    return {};
  }

 private:
  /// His ear is gone, and he has been told.
  static bool deaf(const Player& player) { return !player.ear.up && player.ear_news.empty(); }

  [[nodiscard]] const Facts& facts(const Player& player) const { return cast_.facts(player.state); }

  const Cast<Participant>& cast_;
  Expectations expects_;
};

}  // namespace sublock::sim
