// SPDX-License-Identifier: MIT
#pragma once

// A way through the worlds, retold as lines that a person can follow.

#include "stage.hpp"

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::lease_sim {

[[nodiscard]] constexpr std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, 8> names = {"idle",    "opening", "taking",  "looking",
                                                     "waiting", "proving", "holding", "dropping"};
  return names[static_cast<std::size_t>(phase)];
}

[[nodiscard]] constexpr std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 13> names = {
      "take",  "extend",   "drop",    "look",   "increment",   "opened",
      "taken", "extended", "dropped", "looked", "incremented", "the connection is gone",
      "busy"};
  return names[static_cast<std::size_t>(kind)];
}

[[nodiscard]] constexpr std::string_view name_of(What what) {
  constexpr std::array<std::string_view, whats> names = {"a unit of time passes",
                                                         "is asked to acquire",
                                                         "reads:",
                                                         "hears that it is listening",
                                                         "does what is due",
                                                         "reaches its deadline",
                                                         "releases",
                                                         "is cancelled",
                                                         "waits no longer for the good-bye",
                                                         "is told to doubt",
                                                         "falls asleep",
                                                         "wakes",
                                                         "the server executes:",
                                                         "the server executes, of a former connection:",
                                                         "the server executes, of a former connection:",
                                                         "the server executes, of a former connection:",
                                                         "the server is too busy to:",
                                                         "the rest of a former connection never arrives",
                                                         "the rest of a former connection never arrives",
                                                         "the rest of a former connection never arrives",
                                                         "the connection breaks",
                                                         "the line is lost"};
  return names[static_cast<std::size_t>(what)];
}

class Narrator {
 public:
  Narrator(Cast& cast, Stage& stage) : cast_(cast), stage_(stage) {}

  std::string retell(World world, const std::vector<Move>& way) {
    Order names = {0, 1, 2};
    for (const Move move : way) {
      World next;
      stage_.play(world, move, next);
      const Order order = stage_.order();
      const auto now = std::ranges::find(order, move.who) - order.begin();
      tell(world, move, next.players[static_cast<std::size_t>(now)], names[move.who]);
      Order renamed{};
      for (std::size_t i = 0; i < names.size(); ++i) renamed[i] = names[order[i]];
      names = renamed;
      if (next.owner == World::nobody) {
        out_ << "  [no key]\n";
      } else {
        out_ << "  [key of " << letter(names[next.owner]) << ", mark " << int{next.mark} << ", "
             << int{next.left} << " left]\n";
      }
      world = next;
    }
    return out_.str();
  }

 private:
  static char letter(std::uint8_t name) { return static_cast<char>('A' + name); }

  void tell(const World& world, Move move, const Player& after, std::uint8_t name) {
    const Player& before = world.players[move.who];
    out_ << "  ";
    if (move.what != What::pass) out_ << letter(name) << ' ';
    out_ << name_of(move.what);
    switch (move.what) {
      case What::read: tell(before.answers.front()); break;
      case What::serve:
      case What::refuse: tell(before.commands.front()); break;
      case What::serve_former_0:
      case What::serve_former_1:
      case What::serve_former_2: tell(before.former[*former_of(move.what)].front()); break;
      default: break;
    }
    const Phase was = cast_.facts(before.state).phase;
    const Phase is = cast_.facts(after.state).phase;
    if (was != is && move.what != What::pass) out_ << "  -> " << name_of(is);
  }

  void tell(Code code) {
    out_ << ' ' << name_of(code.kind);
    if (code.kind == Kind::unreachable || code.kind == Kind::busy) {
      out_ << " (" << name_of(static_cast<Kind>(code.number)) << ')';
    } else {
      out_ << ' ' << int{code.number};
    }
  }

  Cast& cast_;
  Stage& stage_;
  std::ostringstream out_;
};

}  // namespace sublock::lease_sim
