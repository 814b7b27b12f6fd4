// SPDX-License-Identifier: MIT
#pragma once

// What may happen next in a world, one thing at a time, what the world is then, and whether that may be: an
// outside checker, for a leaseholder is never asked whether it is right.

#include "cast.hpp"
#include "likeness.hpp"
#include "server.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace sublock::lease_sim {

class Stage {
 public:
  Stage(Cast& cast, const Circumstances& circumstances) : cast_(cast), how_(circumstances) {
    // Who compares no marks, or uses them again, can make a difference by commands that others can't.
    const Rule rule = how_.broken;
    const bool marks_count =
        rule != Rule::fresh_mark && rule != Rule::compare_in_extend && rule != Rule::compare_in_drop;
    how_.lean = how_.lean && marks_count;
  }

  [[nodiscard]] World beginning() const {
    World world;
    for (unsigned who = 0; who < how_.players; ++who) {
      world.players[who].tries = static_cast<std::uint8_t>(how_.tries);
    }
    world.breaks = static_cast<std::uint8_t>(how_.breaks);
    world.losses = static_cast<std::uint8_t>(how_.losses);
    world.refusals = static_cast<std::uint8_t>(how_.refusals);
    world.doubts = static_cast<std::uint8_t>(how_.doubts);
    world.sleeps = static_cast<std::uint8_t>(how_.sleeps);
    return world;
  }

  /// `to` is what `move` makes of `from`; of no meaning unless the outcome is `done`.
  Outcome play(const World& from, Move move, World& to) {
    if (!is_possible(from, move)) return Outcome::impossible;
    to = from;
    world_ = &to;
    outcome_ = Outcome::done;
    complaint_.clear();
    go(move.who, move.what);
    if (outcome_ != Outcome::done) return outcome_;
    if (complaint_.empty()) complaint_ = complaint_about(to);
    order_ = Likeness(to, how_).normalize();
    return outcome_;
  }

  /// About the last play(); empty while all is well.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  /// How participants have changed places in it.
  [[nodiscard]] const Order& order() const { return order_; }

 private:
  [[nodiscard]] bool is_possible(const World& world, Move move) const {
    const Player& one = world.players[move.who];
    const Facts& self = cast_.facts(one.state);
    const bool idle = self.phase == Phase::idle;
    if (const auto former = former_of(move.what)) return !one.former[*former].empty();
    switch (move.what) {
      case What::pass: return move.who == 0;
      case What::wake: return one.asleep;
      case What::serve: return !one.commands.empty();
      case What::refuse: return world.refusals > 0 && !one.commands.empty();
      case What::break_connection:
        return world.breaks > 0 && one.open && (!one.commands.empty() || !one.answers.empty());
      default: break;
    }
    if (one.asleep) return false;
    switch (move.what) {
      case What::acquire: return idle && one.tries > 0;
      case What::read: return !one.answers.empty();
      case What::hear: return one.subscribing;
      case What::tick: return self.due;
      case What::reach_deadline: return how_.deadlines && self.trying;
      case What::release: return self.phase == Phase::holding;
      case What::cancel: return how_.cancels && self.trying;
      case What::abandon: return how_.cancels && self.phase == Phase::dropping;
      case What::doubt: return one.stalled || (world.doubts > 0 && one.open);
      case What::sleep: return world.sleeps > 0 && one.open;
      case What::lose_line: return world.losses > 0 && one.open;
      default: return false;
    }
  }

  void go(unsigned who, What what) {
    Player& one = world_->players[who];
    switch (what) {
      case What::pass: return pass();
      case What::acquire: --one.tries; return step(who, {Kind::acquire});
      case What::read: {
        const Code answer = one.answers.front();
        one.answers.pop();
        return step(who, answer);
      }
      case What::hear: one.subscribing = false; return step(who, {Kind::listening});
      case What::tick: return step(who, {Kind::tick});
      case What::reach_deadline: return step(who, {Kind::deadline});
      case What::release: return step(who, {Kind::release});
      case What::cancel: return step(who, {Kind::cancel});
      case What::abandon: return step(who, {Kind::abandon});
      case What::doubt:
        if (!one.stalled) --world_->doubts;
        one.stalled = false;
        return step(who, {Kind::doubted});
      case What::sleep:
        --world_->sleeps;
        one.asleep = true;
        return;
      case What::wake: return wake(who);
      case What::serve: {
        const Code command = one.commands.front();
        one.commands.pop();
        return put(one.answers, Server(*world_, how_).serve(who, command));
      }
      case What::serve_former_0:
      case What::serve_former_1:
      case What::serve_former_2: return serve_former(who, one.former[*former_of(what)]);
      case What::refuse: {
        --world_->refusals;
        const Code command = one.commands.front();
        one.commands.pop();
        return put(one.answers, {Kind::busy, static_cast<std::uint8_t>(command.kind)});
      }
      case What::drop_former_0:
      case What::drop_former_1:
      case What::drop_former_2: return one.former[*former_of(what)].clear();
      case What::break_connection: --world_->breaks; return break_connection(one);
      case What::lose_line:
        --world_->losses;
        close(one);
        return step(who, {Kind::lost});
    }
  }

  void pass() {
    Server(*world_, how_).age();
    for (unsigned who = 0; who < how_.players; ++who) {
      Player& one = world_->players[who];
      const bool idle = cast_.facts(one.state).phase == Phase::idle;
      if (!idle && !one.asleep) step(who, {Kind::age});
    }
  }

  void wake(unsigned who) {
    Player& one = world_->players[who];
    one.asleep = false;
    if (!one.open) return;
    if (!how_.late_doubts && how_.broken != Rule::doubt_first) return step(who, {Kind::doubted});
    one.stalled = true;
  }

  void serve_former(unsigned who, auto& queue) {
    const Code command = queue.front();
    queue.pop();
    Server(*world_, how_).serve(who, command);
  }

  // --- participants ----------------------------------------------------------------------------------

  void step(unsigned who, Code what) {
    Player& one = world_->players[who];
    const Facts before = cast_.facts(one.state);
    const Step& step = cast_.step(one.state, what);
    const Facts facts = cast_.facts(step.next);
    one.state = step.next;
    if (step.drew) one.token = what.number;
    if (!facts.drawn) one.token = 0;
    for (const Code said : step.actions) perform(who, said);
    if (facts.phase == Phase::holding && before.phase != Phase::holding) begin_hold(one, facts);
    if (facts.phase == Phase::idle) close(one);
  }

  void perform(unsigned who, Code said) {
    Player& one = world_->players[who];
    switch (said.kind) {
      case Kind::open:
        one.open = true;
        if (how_.lean) return step(who, {Kind::opened});  // later is no other than to have asked later
        return put(one.answers, {Kind::opened});
      case Kind::close: return close(one);
      case Kind::hear: one.subscribing = one.open; return;
      case Kind::deafen: one.subscribing = false; return;
      case Kind::renew: return Likeness(*world_, how_).renew_mark(who);
      default:
        if (one.open) put(one.commands, said);  // else nobody is there to say it to
        return;
    }
  }

  void put(auto& queue, Code code) {
    if (!queue.push(code)) outcome_ = Outcome::cut;
  }

  void put_aside(Player& one) {
    if (one.commands.empty()) return;
    const auto free = std::ranges::find_if(one.former, [](const auto& queue) { return queue.empty(); });
    if (free == one.former.end()) {
      outcome_ = Outcome::cut;
    } else {
      *free = one.commands;
    }
    one.commands.clear();
  }

  /// The line, and nothing is heard any more of what was said on it.
  void close(Player& one) {
    put_aside(one);
    one.answers.clear();
    one.open = one.subscribing = one.stalled = false;
  }

  /// Of each command it is told that nobody knows.
  void break_connection(Player& one) {
    for (Code& answer : one.answers) {
      switch (answer.kind) {
        case Kind::taken: answer = unreachable(Kind::take); break;
        case Kind::extended: answer = unreachable(Kind::extend); break;
        case Kind::dropped: answer = unreachable(Kind::drop); break;
        case Kind::looked: answer = unreachable(Kind::look); break;
        case Kind::incremented: answer = unreachable(Kind::increment); break;
        default: break;
      }
    }
    for (const Code command : one.commands) put(one.answers, unreachable(command.kind));
    put_aside(one);
  }

  static Code unreachable(Kind command) { return {Kind::unreachable, static_cast<std::uint8_t>(command)}; }

  // --- what may never be -----------------------------------------------------------------------------

  /// Until it is told that it has slept, nobody believes what it says.
  [[nodiscard]] bool is_heard(const Player& one) const {
    return !one.asleep && (!one.stalled || how_.broken == Rule::doubt_first);
  }

  void begin_hold(const Player& one, const Facts& facts) {
    if (!is_heard(one)) return;
    if (!facts.claims) complaint_ = "somebody got what had expired by then";
    if (!how_.fencing) return;
    if (one.token <= world_->highest) complaint_ = "a token that is not higher than all before";
    world_->highest = std::max(world_->highest, one.token);
  }

  [[nodiscard]] std::string complaint_about(const World& world) const {
    unsigned owners = 0;
    bool without_key = false;
    bool outdone = false;
    for (unsigned who = 0; who < how_.players; ++who) {
      const Player& one = world.players[who];
      const Facts& facts = cast_.facts(one.state);
      const bool has_key = world.owner == who && world.mark == present;
      const bool gave_back = facts.phase == Phase::idle && facts.result == core::Result::released;
      if (gave_back && has_key) return "a key that was given back is there again";
      if (!facts.claims || !is_heard(one)) continue;
      ++owners;
      without_key = without_key || !has_key;
      outdone = outdone || one.token < world.highest;
    }
    if (owners > 1) return "two owners";
    if (outdone) return "an owner whose token is not the highest";
    if (without_key && how_.key_is_his) return "an owner without the key";
    if (world.owner != World::nobody && world.left > how_.expire) return "a key that never expires";
    return {};
  }

  Cast& cast_;
  Circumstances how_;
  World* world_ = nullptr;
  Outcome outcome_ = Outcome::done;
  std::string complaint_;
  Order order_{};
};

}  // namespace sublock::lease_sim
