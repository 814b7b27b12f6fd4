// SPDX-License-Identifier: MIT
#pragma once

// What may happen next in a world, one thing at a time, and what the world is then: the server executes a
// command, a participant is told something, concludes, loses patience; its caller gives up or gives back; a
// connection breaks.

#include "server.hpp"

#include <algorithm>
#include <cstdint>

namespace sublock::sim {

template <class Participant>
class Stage : private Server<Participant> {
 public:
  Stage(Cast<Participant>& cast, const Circumstances& circumstances)
      : Server<Participant>(cast, circumstances) {}

  [[nodiscard]] World beginning() const {
    World world;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      world.players[who].state = cast_.beginning(who);
      world.players[who].tries = static_cast<std::uint8_t>(how_.tries);
      world.players[who].timeouts = static_cast<std::uint8_t>(how_.timeouts);
      world.players[who].ear.up = true;
    }
    world.kills = static_cast<std::uint8_t>(how_.kills);
    world.losses = static_cast<std::uint8_t>(how_.losses);
    world.breaks = static_cast<std::uint8_t>(how_.breaks);
    world.faults = static_cast<std::uint8_t>(how_.faults);
    return world;
  }

  /// `to` is what `move` makes of `from`; of no meaning unless the outcome is `done`.
  Outcome play(const World& from, Move move, World& to) {
    if (!possible(from, move)) return Outcome::impossible;
    to = from;
    world_ = &to;
    outcome_ = Outcome::done;
    hasty_ = false;
    go(move.who, move.what);
    return outcome_;
  }

  /// Whether nothing that others do, the server and faults included, changes what `who` can do next, nor
  /// how that ends: then it is enough to look at what happens if he is the next to do something. What
  /// others add to queues he has news in does not matter to him yet; what they take from the queues he
  /// adds to, or age in them, comes to the same before and after. The loss of his ear is his own in that
  /// sense too. (A break is not, and a reset overtakes the news he has; so none of those while this is asked.)
  [[nodiscard]] bool stands_alone(const World& world, unsigned who) const {
    if (how_.resets || (world.faults > 0 && world.breaks > 0)) return false;
    const Player& one = world.players[who];
    if (facts(one).phase == core::Phase::holding) return false;
    if (one.mouth_news.empty()) {
      for (const Code command : one.mouth) {
        if (!command.marked() && command.kind() != Kind::publish) return false;
      }
    }
    if (has_news(one) || !one.ear.up) return true;
    const unsigned bit = connection_bit(who, one.ear.generation, cast_.size());
    return !one.ear.counted && one.ear.in.empty() && (world.kills == 0 || world.faults == 0) &&
           (meant_connections(world) & bit) == 0;
  }

  /// Whether nothing that others do could keep `what` from happening: what all may suffer together is limited.
  [[nodiscard]] bool stays_possible(What what) const {
    return what != What::lose_ear && (how_.faults == Circumstances::endless || !is_fault(what));
  }

  /// Somebody was to be killed who had not been asked twice, in the last play().
  [[nodiscard]] bool hasty() const { return hasty_; }

 private:
  using Scene<Participant>::cast_;
  using Scene<Participant>::how_;
  using Scene<Participant>::world_;
  using Scene<Participant>::player;
  using Scene<Participant>::facts;
  using Scene<Participant>::put;
  using Scene<Participant>::outcome_;
  using Scene<Participant>::become_ghost;
  using Scene<Participant>::break_mouth;
  using Scene<Participant>::bury_if_still;
  using Scene<Participant>::forget_answers;
  using Scene<Participant>::hang_up;
  using Scene<Participant>::meant_connections;
  using Scene<Participant>::retire_channel;
  using Server<Participant>::kill;
  using Server<Participant>::serve;

  [[nodiscard]] bool possible(const World& world, Move move) {
    const Player& one = world.players[move.who];
    const Facts& self = facts(one);
    if (world.faults == 0 && is_fault(move.what)) return false;
    switch (move.what) {
      case What::acquire: return self.phase == core::Phase::idle && one.tries > 0;
      case What::hear_ear: return has_news(one);
      case What::hear_loss: {
        const auto& news = one.ear_news;
        return how_.resets && news.size() > 1 &&
               std::find(news.begin(), news.end(), Code(Kind::lost)) != news.end();
      }
      case What::hear_mouth: return !one.mouth_news.empty();
      case What::decide: return !cast_.settled(move.who, one.state);
      case What::fire_deadline: return may_fire(move.who, one, core::Timer::deadline);
      case What::fire_patience: return one.timeouts > 0 && may_fire(move.who, one, core::Timer::patience);
      case What::fire_recount:
        return how_.recounts && may_fire(move.who, one, core::Timer::recount) && !counting(one);
      case What::fire_again:
        return may_fire(move.who, one, core::Timer::again) &&
               (self.phase != core::Phase::waiting || one.tries > 0);
      case What::release: return self.phase == core::Phase::holding;
      case What::cancel: return how_.cancels && self.trying;
      case What::serve_ear: return one.ear.up && !one.ear.in.empty();
      case What::serve_mouth: return !one.mouth.empty();
      case What::serve_ghost_ear: return one.ghost.up && !one.ghost.in.empty();
      case What::serve_ghost_mouth:
      case What::drop_ghost_mouth: return !one.ghost_mouth.empty();
      case What::close_ghost_ear: return one.ghost.up;
      case What::kill_ear: return world.kills > 0 && one.ear.up && self.phase != core::Phase::idle;
      case What::lose_ear: return world.losses > 0 && one.ear.up && self.phase != core::Phase::idle;
      case What::break_mouth:
        return world.breaks > 0 && !one.mouth.empty() && self.phase != core::Phase::idle;
      case What::break_mouth_unheard:
        return world.breaks > 0 && !one.mouth_news.empty() && self.phase != core::Phase::idle;
    }
    return false;
  }

  static bool has_news(const Player& one) {
    return !one.ear_news.empty() && !is_untold(one.ear_news.front());
  }

  /// The shell concludes before it looks at the timers.
  bool may_fire(unsigned who, const Player& one, core::Timer timer) {
    return facts(one).armed[static_cast<std::size_t>(timer)] && cast_.settled(who, one.state);
  }

  /// One count at a time: the next would tell the same.
  static bool counting(const Player& one) {
    return std::any_of(one.mouth.begin(), one.mouth.end(),
                       [](Code code) { return code.kind() == Kind::count; }) ||
           std::any_of(one.mouth_news.begin(), one.mouth_news.end(),
                       [](Code code) { return code.kind() == Kind::counted; });
  }

  void go(unsigned who, What what) {
    Player& one = player(who);
    if (is_fault(what)) use_up(world_->faults);
    switch (what) {
      case What::acquire: --one.tries; return step(who, {Kind::call, acquire});
      case What::hear_ear: {
        const Code news = one.ear_news.front();
        one.ear_news.pop();
        return news.kind() == Kind::lost ? lose(who) : step(who, news);
      }
      case What::hear_loss: return lose(who);
      case What::hear_mouth: {
        const Code news = one.mouth_news.front();
        one.mouth_news.pop();
        if (news.kind() == Kind::incremented) {
          one.drew = news.number() == present ? Drew::as_counted : Drew::as_ghost;
        }
        return step(who, news);
      }
      case What::decide: return step(who, {Kind::call, decide});
      case What::fire_deadline: return fire(who, core::Timer::deadline);
      case What::fire_patience: use_up(one.timeouts); return fire(who, core::Timer::patience);
      case What::fire_recount: return fire(who, core::Timer::recount);
      case What::fire_again:
        if (facts(one).phase == core::Phase::waiting) --one.tries;
        return fire(who, core::Timer::again);
      case What::release: return step(who, {Kind::call, release});
      case What::cancel: return step(who, {Kind::call, cancel});
      case What::serve_ear: return serve(who, one.ear, &one.ear_news);
      case What::serve_ghost_ear: serve(who, one.ghost, nullptr); return bury_if_still(one.ghost);
      case What::close_ghost_ear: one.ghost = {}; return;
      case What::serve_mouth: return serve(who, one.mouth);
      case What::serve_ghost_mouth: return serve(who, one.ghost_mouth);
      case What::drop_ghost_mouth: return one.ghost_mouth.clear();
      case What::kill_ear: use_up(world_->kills); return kill(one);
      case What::lose_ear:
        use_up(world_->losses);
        become_ghost(one);
        return lose(who);
      case What::break_mouth: use_up(world_->breaks); return break_mouth(one);
      case What::break_mouth_unheard:
        use_up(world_->breaks);
        one.mouth_news.rewrite([](Code& code) {
          code = Scene<Participant>::refusal(code);
          return true;
        });
        return break_mouth(one);
    }
  }

  static void use_up(std::uint8_t& left) {
    if (left != Circumstances::endless) --left;
  }

  // --- participants --------------------------------------------------------------------------------

  void fire(unsigned who, core::Timer timer) {
    step(who, {Kind::call, sim::fire + static_cast<unsigned>(timer)});
  }

  void step(unsigned who, Code happening) {
    const Step& step = cast_.step(who, player(who).state, happening);
    player(who).state = step.next;
    for (const Code action : step.actions) perform(who, action);
    settle_down(who);
  }

  void settle_down(unsigned who) {
    Player& one = player(who);
    switch (facts(one).phase) {
      case core::Phase::idle: return hang_up(who);
      case core::Phase::waiting:
        // Not joined: its channel is heard by nobody until it joins anew, with another.
        retire_channel(who);
        if (one.tries == 0) hang_up(who);  // the caller has had enough
        return;
      case core::Phase::resting:
        if (facts(one).succeeding) return;
        [[fallthrough]];
      case core::Phase::killing:
      case core::Phase::fencing:
      case core::Phase::holding:
      case core::Phase::granting:
      case core::Phase::leaving:
        // It won't ask again without a channel of its own for that (R5), and what it hears until then of
        // its last question, or of answers to it, it does not weigh.
        if (how_.lean) retire_channel(who);
        return;
      default: return;
    }
  }

  void perform(unsigned who, Code action) {
    Player& one = player(who);
    switch (action.kind()) {
      case Kind::open:
        if (action.number() == closing) return one.ear_news.clear();
        if (!one.ear.up) connect(who);
        return put(one.ear_news, Kind::opened);
      case Kind::join:
        one.asked = 0;
        retire_channel(who);
        return say(one.ear, action);
      case Kind::listen:
        if (unread(who) > how_.backlog) {
          outcome_ = Outcome::postponed;
          return;
        }
        if (action.number() == fresh_channel) retire_channel(who);
        return say(one.ear, {Kind::listen, present});
      case Kind::leave: return say(one.ear, action);
      case Kind::ping:
        if (how_.count_questions) one.asked = static_cast<std::uint8_t>(std::min(2, one.asked + 1));
        return put(one.mouth, action);
      case Kind::kill: hasty_ = how_.count_questions && one.asked < 2; return put(one.mouth, action);
      default: return put(one.mouth, action);
    }
  }

  /// A connection that nobody means who names one; so numbers can be used again.
  void connect(unsigned who) {
    Player& one = player(who);
    const unsigned meant = meant_connections(*world_);
    for (unsigned generation = 0; (generation + 1) * cast_.size() <= 9; ++generation) {
      const unsigned bit = connection_bit(who, generation, cast_.size());
      if ((meant & bit) != 0 || (one.ghost.up && one.ghost.generation == generation)) continue;
      one.ear = {.up = true, .generation = static_cast<std::uint8_t>(generation)};
      return;
    }
    outcome_ = Outcome::cut;
  }

  void say(Ear& ear, Code command) {
    if (ear.up) put(ear.in, command);  // else it is lost on the way, and he will learn why
  }

  /// Questions of his that somebody has still to read.
  unsigned unread(unsigned who) {
    unsigned most = 0;
    const auto his = [&](const auto& queue, Kind kind) {
      return static_cast<unsigned>(std::count_if(queue.begin(), queue.end(), [&](Code code) {
        return code.kind() == kind && cast_.script().pinger(code) == who;
      }));
    };
    for (unsigned other = 0; other < cast_.size(); ++other) {
      most = std::max(most, his(player(other).ear_news, Kind::heard));
    }
    return most + his(player(who).mouth, Kind::ping) + his(player(who).ghost_mouth, Kind::ping);
  }

  /// Told that his ear is gone: nothing of it, nor of commands before, arrives any more.
  void lose(unsigned who) {
    player(who).ear_news.clear();
    forget_answers(player(who));
    step(who, Kind::lost);
  }

  bool hasty_ = false;
};

}  // namespace sublock::sim
