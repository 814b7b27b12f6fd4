// SPDX-License-Identifier: MIT
#pragma once

// The participants of a search, as numbers. Each state of a leaseholder is kept once, as a leaseholder of the
// code that ships which has got there, and what it does on each event is worked out once and then remembered.
// It is always noon: what lies before and behind is moved, and whole units of time are all that counts.
//
// Less than a unit is no time at all here, so whatever is to be done in less than that may be done at once; and
// nothing need ever be done in time. Both only add to what may happen.

#include "circumstances.hpp"
#include "world.hpp"

#include <sublock/core/lease/leaseholder.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::lease_sim {

namespace action = core::lease::action;
namespace event = core::event;
using core::Duration;
using core::Instant;
using core::lease::Phase;

/// What the world needs to know of a leaseholder's state.
struct Facts {
  Phase phase = Phase::idle;
  core::Result result = core::Result::none;
  bool claims = false;  // that it has the lock
  bool trying = false;
  bool due = false;
  bool drawn = false;  // has a token
};

/// What one event does.
struct Step {
  StateId next = 0;
  std::vector<Code> actions;
  bool drew = false;  // the token that it has now has come with this event
};

/// The leaseholder that ships, with one rule broken from outside, and with all that it knows laid open.
class Probe : public core::lease::Leaseholder {
 public:
  static constexpr Duration unit = std::chrono::seconds(1);
  static constexpr Instant noon = Instant(std::chrono::hours(12));

  explicit Probe(const Circumstances& how)
      : Leaseholder("key", core::Dice({1, 2})), broken_(how.broken), exact_(how.exact) {
    wanted_.expire = unit * how.expire;
    wanted_.interval = unit;
    wanted_.fencing = how.fencing;
    canonize();
  }

  /// The marks in what is said are those of before and after.
  struct Said {
    Actions actions;
    std::string mark_before;
    bool drew = false;
  };

  Said happen(Code what) {
    Said said{{}, mark(), false};
    const auto token_before = token_;
    if (!is_ignored(what)) {
      before(what);
      tell(what, said.actions);
    }
    after(what, said, token_before);
    said.drew = what.kind == Kind::incremented && token_ == fresh_token;
    return said;
  }

  /// Two that have the same name do the same from now on.
  [[nodiscard]] std::string name() const {
    std::string name;
    const auto add = [&name](auto value) { name += static_cast<char>(value); };
    for (const bool flag : {contacted_, hears_, rang_, unsure_, proven_, doubted_, tried_last_, tried_twice_})
      add(flag);
    add(phase_), add(result_), add(after_), add(extensions_ + 64), add(token_.has_value());
    for (const Instant time : {deadline_, again_, sent_at_, confirmed_until_}) {
      add(time == Instant::max() ? 100 : (time - noon) / unit + 50);
    }
    return name;
  }

  [[nodiscard]] Facts facts() const {
    const bool claims = broken_ == Rule::mind_the_expiry ? holds() && !doubted_ : holds() && !doubtful(noon);
    const auto due = next_due();
    return {phase(), result(), claims, is_trying(), due && *due <= noon, token_.has_value()};
  }

  /// Puts away what nobody looks at, and what is told apart elsewhere.
  void canonize() {
    if (phase_ == Phase::idle && result_ != core::Result::none) {
      const bool released = result_ == core::Result::released;
      // NOLINTNEXTLINE(cppcoreguidelines-slicing): of this one, only whether it gave the key back is left
      static_cast<Leaseholder&>(*this) = Leaseholder("key", core::Dice({1, 2}));
      result_ = released ? core::Result::released : core::Result::lost;
    }
    identity_.uuid = "present";
    mark_ = core::lease::mark_of(identity_.uuid);
    dice_ = core::Dice({1, 2});
    request_ = wanted_;
    trouble_ = failure_ = {};
    blocker_.reset();
    started_ = noon;
    for (Instant* time : {&again_, &deadline_}) {
      if (*time != Instant::max()) *time = noon + std::max(*time - noon, Duration::zero()) / unit * unit;
    }
    confirmed_until_ = std::max(confirmed_until_, noon);
    sent_at_ = std::max(sent_at_, noon - wanted_.expire - unit);
    if (token_) token_ = old_token;
    if (exact_) return;
    const bool proves = phase_ == Phase::proving || phase_ == Phase::holding;
    if (!proves && broken_ != Rule::token_of_this_proof) token_.reset();
    if (!proves) confirmed_until_ = noon;
    if (!proves && phase_ != Phase::taking && broken_ != Rule::prove_what_is_found) sent_at_ = noon;
  }

 private:
  static constexpr std::int64_t old_token = 1;
  static constexpr std::int64_t fresh_token = 2;

  void tell(Code what, Actions& out) {
    const bool done = what.number != 0;
    switch (what.kind) {
      case Kind::opened: return on(event::Opened{}, noon, out);
      case Kind::taken: return on(event::Keyed{core::Verb::take, done}, noon, out);
      case Kind::extended: return on(event::Keyed{core::Verb::extend, done}, noon, out);
      case Kind::dropped: return on(event::Keyed{core::Verb::drop, done}, noon, out);
      case Kind::looked: return on(found(what.number), noon, out);
      case Kind::incremented: return on(event::Incremented{fresh_token}, noon, out);
      case Kind::unreachable:
        return on(event::Refused{verb_of(what.number), {Errc::connect, "the connection broke"}}, noon, out);
      case Kind::busy: return on(event::Refused{verb_of(what.number), {Errc::busy, "BUSY"}}, noon, out);
      case Kind::listening: return on(event::Listening{"channel"}, noon, out);
      case Kind::doubted: return on(event::Doubted{"stood still"}, noon, out);
      case Kind::lost: return on(event::Lost{{Errc::connect, "gone"}}, noon, out);
      case Kind::acquire: return acquire(wanted_, noon, out);
      case Kind::release: return static_cast<void>(release(noon, out));
      case Kind::cancel: return cancel(out);
      case Kind::abandon: return abandon(out);
      case Kind::deadline: deadline_ = noon; return tick(noon, out);
      case Kind::tick: return tick(noon, out);
      case Kind::age:
        for (Instant* time : {&again_, &deadline_, &sent_at_, &confirmed_until_}) {
          if (*time != Instant::max()) *time -= unit;
        }
        return;
      default: throw std::logic_error("nothing that happens to a leaseholder");
    }
  }

  [[nodiscard]] event::Looked found(unsigned what) const {
    if (what == no_key) return {"none", {}, {}};
    const std::string mark = what == own_key ? mark_ : core::lease::mark_of("foreign");
    return {"string", core::lease::value_of(mark, {}), unit};
  }

  static core::Verb verb_of(unsigned command) {
    switch (static_cast<Kind>(command)) {
      case Kind::take: return core::Verb::take;
      case Kind::extend: return core::Verb::extend;
      case Kind::drop: return core::Verb::drop;
      case Kind::look: return core::Verb::look;
      default: return core::Verb::increment;
    }
  }

  // --- rules that are broken from outside ----------------------------------------------------------

  [[nodiscard]] bool is_ignored(Code what) {
    const auto deaf = [&](Rule rule, Phase phase) {
      return what.kind == Kind::doubted && broken_ == rule && phase_ == phase;
    };
    if (deaf(Rule::doubt_while_holding, Phase::holding) || deaf(Rule::doubt_while_taking, Phase::taking) ||
        deaf(Rule::doubt_while_proving, Phase::proving)) {
      return true;
    }
    const bool refused = what == Code{Kind::extended, 0};
    if (broken_ != Rule::lose_at_refusal || !refused || phase_ != Phase::holding) return false;
    --extensions_;
    return true;
  }

  void before(Code& what) {
    const bool confirms = (what.kind == Kind::taken || what.kind == Kind::extended) && what.number != 0;
    if (broken_ == Rule::count_from_sending && confirms) sent_at_ = noon;
    if (broken_ == Rule::latest_extension_only && what.kind == Kind::extended) extensions_ = 1;
    if (broken_ == Rule::believe_refusals && what.kind == Kind::extended) what.number = 1;
    if (broken_ == Rule::prove_the_token && what.kind == Kind::incremented) proven_ = true;
    if (broken_ == Rule::prove_what_is_found && what == Code{Kind::looked, own_key} &&
        phase_ == Phase::looking) {
      phase_ = Phase::taking;
      what = {Kind::taken, 1};
    }
  }

  void after(Code what, Said& said, const std::optional<std::int64_t>& token_before) {
    if (broken_ == Rule::fresh_mark) {
      identity_.uuid = "present";
      mark_ = said.mark_before;
      for (auto& action : said.actions) {
        if (auto* take = std::get_if<action::Take>(&action)) take->mark = mark_;
      }
    }
    if (broken_ == Rule::token_before_extension && said.actions.size() == 2 &&
        std::holds_alternative<action::Increment>(said.actions[0])) {
      std::swap(said.actions[0], said.actions[1]);
    }
    if (broken_ == Rule::token_of_this_proof && !token_ && is_trying()) token_ = token_before;
    if (broken_ == Rule::look_after_lost_take && what == Code{Kind::unreachable, take_number})
      unsure_ = false;
    if (broken_ == Rule::prove_what_is_found) {
      for (const auto& action : said.actions) {
        if (std::holds_alternative<action::Look>(action)) sent_at_ = noon;
      }
    }
  }

  static constexpr auto take_number = static_cast<std::uint8_t>(Kind::take);

  Rule broken_;
  bool exact_;
  core::lease::Request wanted_;
};

class Cast {
 public:
  explicit Cast(const Circumstances& how) : units_(how.expire), first_(how) { add(Probe(how)); }

  /// One that has not been asked for anything yet has this number.
  static constexpr StateId newcomer = 0;

  [[nodiscard]] const Facts& facts(StateId state) const { return facts_[state]; }
  [[nodiscard]] std::size_t states() const { return probes_.size(); }

  const Step& step(StateId state, Code what) {
    const std::size_t at =
        static_cast<std::size_t>(state) << 8U | static_cast<std::size_t>(what.kind) << 3U | what.number;
    if (numbers_of_steps_.size() <= at) numbers_of_steps_.resize(at + 65536, unknown);
    if (numbers_of_steps_[at] == unknown) {
      Step step = work_out(state, what);
      numbers_of_steps_[at] = static_cast<std::uint32_t>(steps_.size());
      steps_.push_back(std::move(step));
    }
    return steps_[numbers_of_steps_[at]];
  }

 private:
  static constexpr std::uint32_t unknown = 0xffffffff;

  Step work_out(StateId state, Code what) {
    Probe probe = what.kind == Kind::acquire ? first_ : probes_[state];
    const auto said = probe.happen(what);
    Step step;
    step.drew = said.drew;
    bool renewed = false;
    for (const auto& action : said.actions) {
      if (!renewed && probe.mark() != said.mark_before && std::holds_alternative<action::Take>(action)) {
        step.actions.push_back({Kind::renew});
        renewed = true;
      }
      if (const auto code = code_of(action, renewed ? probe.mark() : said.mark_before)) {
        step.actions.push_back(*code);
      }
    }
    probe.canonize();
    step.next = add(std::move(probe));
    return step;
  }

  [[nodiscard]] std::optional<Code> code_of(const core::lease::Action& said, const std::string& mark) const {
    const auto is_present = [&](const auto& command) {
      if (command.mark != mark) throw std::logic_error("a command with a mark of before");
    };
    if (const auto* take = std::get_if<action::Take>(&said)) {
      is_present(*take);
      if (take->expire != Probe::unit * units_) throw std::logic_error("a key of another lifetime");
      return Code{Kind::take};
    }
    if (const auto* extend = std::get_if<action::Extend>(&said)) {
      is_present(*extend);
      if (extend->expire != Probe::unit * units_) throw std::logic_error("a key of another lifetime");
      return Code{Kind::extend};
    }
    if (const auto* drop = std::get_if<action::Drop>(&said)) return is_present(*drop), Code{Kind::drop};
    if (std::holds_alternative<action::Look>(said)) return Code{Kind::look};
    if (std::holds_alternative<action::Increment>(said)) return Code{Kind::increment};
    if (std::holds_alternative<action::Open>(said)) return Code{Kind::open};
    if (std::holds_alternative<action::Close>(said)) return Code{Kind::close};
    if (std::holds_alternative<action::Hear>(said)) return Code{Kind::hear};
    if (std::holds_alternative<action::Deafen>(said)) return Code{Kind::deafen};
    return std::nullopt;  // notes and warnings are for others
  }

  StateId add(Probe probe) {
    const auto [place, is_new] = numbers_.try_emplace(probe.name(), static_cast<StateId>(probes_.size()));
    if (is_new) {
      if (probes_.size() > 0xfff0) throw std::logic_error("more states than numbers");
      facts_.push_back(probe.facts());
      probes_.push_back(std::move(probe));
    }
    return place->second;
  }

  unsigned units_;
  Probe first_;
  std::deque<Probe> probes_;  // by number
  std::vector<Facts> facts_;
  std::map<std::string, StateId> numbers_;
  std::deque<Step> steps_;
  std::vector<std::uint32_t> numbers_of_steps_;  // by state and event
};

}  // namespace sublock::lease_sim
