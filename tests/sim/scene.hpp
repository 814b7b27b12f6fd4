// SPDX-License-Identifier: MIT
#pragma once

// The parts of a world in motion that both sides touch: connections and how they end, and response channels.

#include "circumstances.hpp"
#include "world.hpp"

#include <algorithm>

namespace sublock::sim {

/// With `lean`, a scene leaves out what nobody would notice: messages that change nothing in who hears
/// them, whenever he does, and answers that are ignored. shortcut_test.cpp compares it with the whole.
template <class Participant>
class Scene {
 protected:
  Scene(Cast<Participant>& cast, const Circumstances& circumstances) : cast_(cast), how_(circumstances) {}

  [[nodiscard]] const Facts& facts(const Player& player) const { return cast_.facts(player.state); }

  Player& player(unsigned who) { return world_->players[who]; }

  void put(auto& queue, Code code) {
    if (!queue.push(code)) outcome_ = Outcome::cut;
  }

  // --- connections and how they end ------------------------------------------------------------------

  /// The attempt, or the hold, is over. The shell drops the line, and with it what is on its way.
  void hang_up(unsigned who) {
    Player& one = player(who);
    one.state = cast_.beginning(who);
    one.asked = 0;
    one.drew = Drew::nothing;
    if (one.tries == 0) one.timeouts = 0;
    one.ear_news.clear();
    forget_answers(one);
    retire_channel(who);
    if (one.ear.up && (one.ear.counted || !one.ear.in.empty())) become_ghost(one);
  }

  static void forget_answers(Player& one) {
    one.mouth_news.clear();
    one.mouth.rewrite([](Code& code) { return code.kind() != Kind::check && mark_unanswered(code); });
    one.ghost_mouth.rewrite([](Code& code) { return code.kind() != Kind::check; });
  }

  /// False for a command that does nothing, as far as anybody can tell here, but answer.
  static bool mark_unanswered(Code& code) {
    if (code.kind() == Kind::count || code.kind() == Kind::list || code.kind() == Kind::increment)
      return false;
    if (code.kind() == Kind::grant && grant_age(code) == past) return false;
    if (code.kind() != Kind::publish && code.kind() != Kind::check) code = code.with_mark();
    return true;
  }

  void become_ghost(Player& one) {
    if (one.ghost.up) outcome_ = Outcome::cut;
    one.ghost = one.ear;
    one.ear = {};
    one.ear_news.clear();
    bury_if_still(one.ghost);
  }

  /// A ghost that nobody counts, now or later, is no different from none.
  static void bury_if_still(Ear& ghost) {
    if (!ghost.counted && ghost.in.empty()) ghost = {};
  }

  static Code refusal(Code code) {
    const auto refused = [](core::Verb verb) { return Code(Kind::refused, static_cast<unsigned>(verb)); };
    switch (code.kind()) {
      case Kind::ping:
      case Kind::pinged:
      case Kind::grant:
      case Kind::delivered: return refused(core::Verb::ping);
      case Kind::count:
      case Kind::counted: return refused(core::Verb::count);
      case Kind::list:
      case Kind::listed: return refused(core::Verb::list);
      case Kind::kill:
      case Kind::killed: return refused(core::Verb::kill);
      case Kind::increment:
      case Kind::incremented: return refused(core::Verb::increment);
      default: return code;
    }
  }

  void break_mouth(Player& one) {
    if (!one.ghost_mouth.empty()) outcome_ = Outcome::cut;
    for (const Code command : one.mouth) {
      const bool answered = command.kind() != Kind::publish && command.kind() != Kind::check;
      if (!command.marked() && answered) put(one.mouth_news, refusal(command));
    }
    one.mouth.rewrite(mark_unanswered);
    for (const Code command : one.mouth) put(one.ghost_mouth, command);
    one.mouth.clear();
  }

  /// Those in lists on their way, in kills on their way, and under suspicion.
  [[nodiscard]] unsigned meant_connections(const World& world) const {
    unsigned set = 0;
    const auto add = [&set](const auto& queue) {
      for (const Code code : queue) {
        if (code.kind() == Kind::listed || code.kind() == Kind::kill) set |= code.number();
      }
    };
    for (unsigned who = 0; who < cast_.size(); ++who) {
      const Player& one = world.players[who];
      set |= facts(one).suspects;
      add(one.mouth), add(one.mouth_news), add(one.ghost_mouth);
    }
    return set;
  }

  // --- response channels -----------------------------------------------------------------------------

  /// His present response channel becomes a past one wherever it is named. What would be said on it is
  /// forgotten at once: he ignores it when he hears it, and nobody else ever does.
  void retire_channel(unsigned who) {
    const auto age = [&](Code& code) {
      if (code.kind() == Kind::grant && grant_to(code) == who) {
        const Code aged(Kind::grant, of_grant(who, past));
        code = code.marked() ? aged.with_mark() : aged;
      }
      const bool his =
          (code.kind() == Kind::heard || code.kind() == Kind::ping) && cast_.script().pinger(code) == who;
      if (!his) return;
      const Code aged(code.kind(), of_ping(ping_payload(code), past));
      code = code.marked() ? aged.with_mark() : aged;
    };
    const auto keep_said = [&](Code& code) {
      age(code);
      if (how_.lean && code.kind() == Kind::ping && is_idle(code)) return false;
      if (code.kind() == Kind::grant && code.marked() && grant_age(code) == past) return false;
      return code.kind() != Kind::publish || reply_to(code) != who;
    };
    for (unsigned other = 0; other < cast_.size(); ++other) {
      Player& one = player(other);
      if (facts(one).successor == who) one.state = cast_.step(other, one.state, {Kind::outdate, who}).next;
      one.ear_news.rewrite([&](Code& code) {
        age(code);
        return worth_hearing(other, code);
      });
      one.mouth.rewrite(keep_said);
      one.ghost_mouth.rewrite(keep_said);
    }
    Player& self = player(who);
    self.ear_news.rewrite([](Code& code) {
      if (code.kind() == Kind::listening) code = {Kind::listening, past};
      return code.kind() != Kind::answered && code.kind() != Kind::granted;
    });
    // A count asked for until now comes before the next ping has told whom it reached, and so tells nothing.
    self.mouth_news.rewrite([&](Code& code) {
      return code.kind() != Kind::pinged && !(how_.lean && code.kind() == Kind::counted);
    });
    self.mouth.rewrite(
        [&](Code& code) { return code.kind() != Kind::tally && !(how_.lean && code.kind() == Kind::count); });
    for (Ear* ear : {&self.ear, &self.ghost}) {
      ear->in.rewrite([](Code& code) {
        if (code.kind() == Kind::join && code.marked()) {
          code = Code(Kind::join, past).with_mark();
        } else if (code.kind() == Kind::join || code.kind() == Kind::listen) {
          code = {code.kind(), past};
        }
        return true;
      });
      if (ear->hears == Ear::Hears::present_channel) ear->hears = Ear::Hears::past_channel;
    }
  }

  /// A ping that nobody waits for, of one who is no candidate: answering it is lost on everybody (R6).
  [[nodiscard]] bool is_idle(Code ping) const {
    return ping_age(ping) == past && !cast_.script().pinged_by_writer(ping);
  }

  /// A past ping makes its sender a candidate, and to an owner a successor, though one who is granted nothing:
  /// nothing to a reader, nor to who won't ask again before all that is on his ear by now is read.
  [[nodiscard]] bool worth_hearing(unsigned who, Code code) const {
    if (!how_.lean || code.kind() != Kind::heard || ping_age(code) == present) return true;
    const core::Phase phase = facts(world_->players[who]).phase;
    const bool decided = phase == core::Phase::granting || phase == core::Phase::leaving;
    return !is_idle(code) && !decided && cast_.request(who).mode == LockMode::exclusive;
  }

  Cast<Participant>& cast_;
  Circumstances how_;
  World* world_ = nullptr;
  Outcome outcome_ = Outcome::done;
};

}  // namespace sublock::sim
