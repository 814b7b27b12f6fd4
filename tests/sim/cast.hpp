// SPDX-License-Identifier: MIT
#pragma once

// The participants of a search, as numbers. Each state of each of them is kept once, as a participant that
// has got there, and what it does on each event is worked out once, by running the shipping code, wire and
// all, and then remembered: so the search pays for the code under search once per distinct step.
//
// That is sound if a participant's state_key() leaves out nothing that matters, which shortcuts_test.cpp
// watches.

#include "script.hpp"

#include <sublock/core/participant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::sim {

inline constexpr std::size_t players_max = 3;

using StateId = std::uint32_t;

/// What the world needs to know of a participant's state, without asking it each time.
struct Facts {
  core::Phase phase = core::Phase::idle;
  HolderMode mode = HolderMode::pending;
  bool trying = false;
  bool succeeding = false;
  std::optional<unsigned> successor;  // whose latest question it knows, and would answer by a grant
  unsigned reached = 0;               // by the ping that it waits for answers to, as far as it has been told
  unsigned suspects = 0;              // connections that it may kill, as a set
  std::array<bool, core::Timers::count> armed{};
  std::optional<bool> settled;  // looked up when first asked for
};

/// What one event does.
struct Step {
  StateId next = 0;
  std::vector<Code> actions;
};

template <class Shipped>
class Cast {
  /// The present time, always: when a timer fires is the stage's affair.
  static constexpr core::Instant now = core::Instant(std::chrono::hours(1));

 public:
  /// The shipping participant; what the stage needs to know of it is looked up where only it can.
  class Participant : public Shipped {
   public:
    using Shipped::Shipped;

    /// The question that it knows of `who` is no more his latest.
    void outdate(unsigned who) {
      core::Ping ping;
      ping.from.holder_id = holder_id(who);
      ping.response_channel = Script::foreign_channel(who, past);
      this->succession_.hear_standing(ping, false, now);
    }

    [[nodiscard]] Facts facts() {
      Facts facts;
      facts.phase = this->phase();
      facts.mode = this->mode();
      facts.trying = this->is_trying();
      facts.succeeding = this->succeeding_;
      if (const auto& successor = this->succession_.successor(now); successor && this->owns()) {
        const unsigned who = player_of(successor->holder_id);
        if (successor->nonce == Script::foreign_channel(who, present)) facts.successor = who;
      }
      facts.reached = static_cast<unsigned>(this->census_.reached().value_or(0));
      const bool suspects = this->is_trying() && facts.phase != core::Phase::leaving &&
                            facts.phase != core::Phase::killing;  // else they are past, or a text
      for (const auto& suspect : this->suspects_) {
        if (suspects) facts.suspects |= 1U << static_cast<unsigned>(suspect.connection_id);
      }
      for (const auto& connection : this->search_.connections()) {
        const bool meant = facts.phase == core::Phase::examining && this->search_.pending();
        if (meant) facts.suspects |= 1U << static_cast<unsigned>(connection.id);
      }
      for (std::size_t i = 0; i < core::Timers::count; ++i) {
        facts.armed[i] = this->timers().armed(static_cast<core::Timer>(i));
      }
      return facts;
    }
  };

  struct Live {
    Participant participant;
    Names names;

    [[nodiscard]] std::string key() const { return replaced(participant.state_key(), names.channel, "@"); }
  };

  /// One participant for each request.
  explicit Cast(std::vector<core::Request> requests, unsigned shared_ears = 0)
      : requests_(std::move(requests)), script_(static_cast<unsigned>(requests_.size()), shared_ears) {
    for (unsigned who = 0; who < size(); ++who) beginnings_.push_back(keep(who, fresh(who, 0)));
  }

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(requests_.size()); }
  [[nodiscard]] const core::Request& request(unsigned who) const { return requests_[who]; }
  [[nodiscard]] const Script& script() const { return script_; }
  /// Of one that has not tried yet: the shell makes a new participant for each attempt.
  [[nodiscard]] StateId beginning(unsigned who) const { return beginnings_[who]; }
  [[nodiscard]] const Facts& facts(StateId id) const { return facts_[id]; }
  [[nodiscard]] std::string key(StateId id) const { return states_[id].live.key(); }
  [[nodiscard]] std::size_t states() const { return states_.size(); }

  const Step& step(unsigned who, StateId from, Code happening) {
    for (const auto& [code, step] : states_[from].steps) {
      if (code == happening) return steps_[step];
    }
    Live live = states_[from].live;
    std::vector<Code> actions = act(who, live, happening);
    steps_.push_back({keep(who, std::move(live)), std::move(actions)});
    states_[from].steps.emplace_back(happening, static_cast<std::uint32_t>(steps_.size() - 1));
    return steps_.back();
  }

  /// Whether the conclusion that the shell lets it draw has been drawn already.
  bool settled(unsigned who, StateId id) {
    if (!facts_[id].settled) {
      const Step& step = this->step(who, id, {Kind::call, decide});
      facts_[id].settled = step.next == id && step.actions.empty();
    }
    return *facts_[id].settled;
  }

  [[nodiscard]] static Live fresh(unsigned who, std::uint64_t seed) {
    return {
        Participant({std::string(lock_channel), holder_id(who), "host", 1, "", 0}, core::Dice({who, seed})),
        {}};
  }

  /// What really happens to a participant, and what it asks for.
  std::vector<Code> act(unsigned who, Live& live, Code happening) {
    std::vector<core::Action> actions;
    switch (happening.kind()) {
      case Kind::call: call(who, live.participant, happening.number(), actions); break;
      case Kind::outdate: live.participant.outdate(happening.number()); break;
      default: {
        Told told;
        script_.tell(told, who, happening, live.names);
        live.participant.on(told.event, now, actions);
      }
    }
    std::vector<Code> codes;
    for (const core::Action& action : actions) {
      const bool inbox = live.participant.phase() != core::Phase::tuning;
      if (inbox && std::holds_alternative<core::action::Listen>(action)) continue;
      if (const auto code = script_.code_of(action, who, happening, live.names)) codes.push_back(*code);
    }
    return codes;
  }

 private:
  void call(unsigned who, Participant& participant, unsigned number,
            std::vector<core::Action>& actions) const {
    switch (number) {
      case acquire: return participant.acquire(requests_[who], now, actions);
      case decide: return participant.decide(now, actions);
      case release: participant.release(now, actions); return;
      case cancel: return participant.cancel(actions);
      default: return participant.fire(static_cast<core::Timer>(number - sim::fire), now, actions);
    }
  }

  struct State {
    Live live;
    std::vector<std::pair<Code, std::uint32_t>> steps;
  };

  StateId keep(unsigned who, Live live) {
    const auto [place, is_new] =
        by_key_.try_emplace(std::to_string(who) + ':' + live.key(), static_cast<StateId>(states_.size()));
    if (is_new) {
      facts_.push_back(live.participant.facts());
      states_.push_back({std::move(live), {}});
    }
    return place->second;
  }

  std::vector<core::Request> requests_;
  Script script_;
  std::vector<StateId> beginnings_;
  std::deque<State> states_;
  std::vector<Facts> facts_;
  std::deque<Step> steps_;  // references stay good
  std::map<std::string, StateId> by_key_;
};

}  // namespace sublock::sim
