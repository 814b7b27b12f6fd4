// SPDX-License-Identifier: MIT
#pragma once

// A way through the worlds, retold as lines that a person can follow.

#include "stage.hpp"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::sim {

[[nodiscard]] constexpr std::string_view name_of(core::Phase phase) {
  constexpr std::array<std::string_view, 13> names = {"idle",      "opening", "joining", "tuning",  "probing",
                                                      "examining", "killing", "resting", "fencing", "holding",
                                                      "granting",  "leaving", "waiting"};
  return names[static_cast<std::size_t>(phase)];
}

[[nodiscard]] constexpr std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 31> names = {
      "opened",  "joined",  "listening", "a ping",  "an answer", "a grant", "a check",     "left",
      "lost",    "pinged",  "delivered", "counted", "listed",    "killed",  "incremented", "refused",
      "call",    "outdate", "open",      "join",    "listen",    "leave",   "ping",        "grant",
      "publish", "check",   "count",     "list",    "increment", "kill",    "tally"};
  return names[static_cast<std::size_t>(kind)];
}

[[nodiscard]] constexpr std::string_view name_of(What what) {
  constexpr std::array<std::string_view, whats> names = {
      "is asked to acquire",
      "reads its ear:",
      "sees the end of its ear before all else that was on it",
      "reads its mouth:",
      "concludes",
      "reaches its deadline",
      "loses patience",
      "counts again",
      "has waited long enough",
      "releases",
      "is cancelled",
      "ear: the server executes",
      "mouth: the server executes",
      "ear that was lost: the server executes",
      "mouth that broke: the server executes",
      "ear that was lost: the server notices",
      "mouth that broke: the rest never arrives",
      "ear: the server drops it",
      "loses its ear",
      "mouth: breaks",
      "mouth: breaks, with the answers on it"};
  return names[static_cast<std::size_t>(what)];
}

template <class Participant>
class Narrator {
 public:
  Narrator(Cast<Participant>& cast, Stage<Participant>& stage) : cast_(cast), stage_(stage) {}

  std::string retell(World world, const std::vector<Move>& way) {
    std::ostringstream out;
    for (const Move move : way) {
      World next;
      stage_.play(world, move, next);
      tell(out, world, move, next);
      world = next;
    }
    return out.str();
  }

 private:
  void tell(std::ostream& out, const World& before, Move move, const World& after) {
    const Player& player = before.players[move.who];
    const bool writes = cast_.request(move.who).mode == LockMode::exclusive;
    out << "  " << (writes ? "writer " : "reader ") << static_cast<int>(move.who) << ' '
        << name_of(move.what);
    switch (move.what) {
      case What::hear_ear: tell(out, player.ear_news.front()); break;
      case What::hear_mouth: tell(out, player.mouth_news.front()); break;
      case What::serve_ear: tell(out, player.ear.in.front()); break;
      case What::serve_mouth: tell(out, player.mouth.front()); break;
      case What::serve_ghost_ear: tell(out, player.ghost.in.front()); break;
      case What::serve_ghost_mouth: tell(out, player.ghost_mouth.front()); break;
      default: break;
    }
    const core::Phase was = cast_.facts(player.state).phase;
    const core::Phase is = cast_.facts(after.players[move.who].state).phase;
    if (was != is) out << "  -> " << name_of(is);
    out << '\n';
  }

  void tell(std::ostream& out, Code code) {
    out << ' ' << name_of(code.kind());
    switch (code.kind()) {
      case Kind::heard:
      case Kind::ping:
        out << " of " << cast_.script().pinger(code) << (ping_age(code) == past ? ", an old one" : "");
        break;
      case Kind::answered: out << ' ' << core::decode_reply(cast_.script().payload(code.number())); break;
      case Kind::publish:
        out << " to " << reply_to(code) << ": "
            << core::decode_reply(cast_.script().payload(reply_payload(code)));
        break;
      case Kind::grant:
        out << " to " << grant_to(code) << (grant_age(code) == past ? ", an old one" : "");
        break;
      case Kind::joined:
        out << ' ' << joined_count(code) << ", readers " << joined_readers(code) << ", writers "
            << joined_writers(code);
        break;
      case Kind::delivered:
      case Kind::pinged:
      case Kind::count:
      case Kind::counted:
      case Kind::listed:
      case Kind::kill:
      case Kind::refused: out << ' ' << code.number(); break;
      default: break;
    }
  }

  Cast<Participant>& cast_;
  Stage<Participant>& stage_;
};

}  // namespace sublock::sim
