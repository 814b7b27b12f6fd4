// SPDX-License-Identifier: MIT
#pragma once

// The protocol: one lock object's part in it, as a state machine. Event and time in, actions out; no I/O,
// no thread, no clock, no random device. What it says of itself, what it decides and what it promised to
// whom are one state, so whoever steps it must hold one mutex around every call (R2).

#include <sublock/core/hold.hpp>
#include <sublock/core/rules.hpp>
#include <sublock/core/suspicion.hpp>
#include <sublock/core/wire.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::core {

template <ElectionPolicy Election, ReaperPolicy Reaper, Rules rules = Rules{}>
class Participant : public Hold {
 public:
  explicit Participant(Identity identity, Dice dice, Election election = {}, Reaper reaper = {})
      : Hold(std::move(identity), dice), election_(std::move(election)), reaper_(std::move(reaper)) {}

  // --- what the caller wants ---------------------------------------------------------------------

  /// Starts an attempt. Only while idle.
  void acquire(const Request& request, Instant now, Actions& out) {
    prepare(request, now);
    start_try(out);
  }

  /// Gives the lock back; the answers say so from now on, before the server knows (R8). False where it
  /// is not held: never was, or has been lost.
  bool release(Actions& out) {
    if (phase_ != Phase::holding) return false;
    leave(Result::released, out);
    return true;
  }

  // --- what happens ------------------------------------------------------------------------------

  void on(const Event& event, Instant now, Actions& out) {
    std::visit([&](const auto& happened) { this->handle(happened, now, out); }, event);
  }

  /// When `tick` has something to do.
  [[nodiscard]] std::optional<Instant> next_due() const { return timers_.next_due(); }

  /// Fires the timers that are due.
  void tick(Instant now, Actions& out) {
    while (const auto timer = timers_.take_due(now)) fire(*timer, now, out);
  }

  /// Draws the conclusion, once everything that has arrived is told: the more answers are known, the
  /// less a forged one weighs. Giving way needs one answer, taking the lock needs them all (R4).
  void decide(Instant now, Actions& out) {
    if (phase_ != Phase::probing) return;
    if (names_an_owner(census_) || (!elected_ && somebody_is_first())) return give_way(out);
    switch (census_.standing()) {
      case Census::Standing::open: return;
      case Census::Standing::forged:
        note_trouble("somebody answers out of turn: more answers than subscribers, or one in our name");
        return step_back(now, out);
      case Census::Standing::complete: break;
    }
    if (!census_.overheard() || overheard_long_enough_) return conclude(now, out);
    // Somebody who listens by pattern may answer as well: give his answers time to give him away.
    if (!timers_.armed(Timer::again)) timers_.arm(Timer::again, saturating_add(now, overheard_grace));
  }

  /// One timer, due or not: for a search over all the times at which it may fire.
  void fire(Timer timer, Instant now, Actions& out) {
    timers_.disarm(timer);
    switch (timer) {
      case Timer::deadline: return run_out_of_time(out);
      case Timer::patience: return lose_patience(now, out);
      case Timer::recount: return recount(now, out);
      case Timer::again: return go_on(now, out);
    }
  }

  /// As of an attempt, with what only a broken rule looks at.
  [[nodiscard]] std::string state_key() const {
    std::string key = Hold::state_key();
    if constexpr (!rules.count_in_ping) key += '#' + std::to_string(join_count_);
    if constexpr (!rules.hold_before_answering) key += announced_ ? "" : "!";
    return key;
  }

 private:
  // --- events ------------------------------------------------------------------------------------

  void handle(const event::Opened&, Instant, Actions& out) {
    open_ = contacted_ = true;
    if (phase_ == Phase::opening) join(out);
  }

  void handle(const event::Joined& joined, Instant now, Actions& out) {
    if (phase_ != Phase::joining) return;
    join_count_ = joined.count.value_or(0);
    if constexpr (!rules.count_in_join) {
      out.emplace_back(action::Count{identity_.channel});
    } else if (joined.count == 1U) {
      claim(now, out);  // before any ping can be answered: whoever joins later reads that (R2)
    } else {
      ping(now, out);
    }
  }

  void handle(const event::Listening& listening, Instant now, Actions& out) {
    if (phase_ == Phase::tuning && listening.channel == response_channel_) ping(now, out);
  }

  void handle(const event::Message& message, Instant now, Actions& out) {
    if (message.channel == identity_.channel) {
      if (const auto ping = decode_ping(message.payload)) return hear(*ping, now, out);
      if (!check_nonce_.empty() && decode_check(message.payload) == check_nonce_) pass_check(now);
    } else if (message.channel == response_channel_ &&
               (phase_ == Phase::probing || phase_ == Phase::examining)) {
      census_.add(decode_reply(message.payload));
    }
  }

  void handle(const event::Pinged& pinged, Instant, Actions&) {
    if (phase_ != Phase::probing || pinged.response_channel != response_channel_) return;
    census_.reach(rules.count_in_ping ? pinged.count : join_count_, pinged.receivers);
  }

  void handle(const event::Counted& counted, Instant now, Actions& out) {
    if constexpr (!rules.count_in_join) {
      if (phase_ == Phase::joining) return counted.count == 1 ? claim(now, out) : ping(now, out);
    }
    // Whoever has gone without an answer won't give one: ask those who are left.
    const bool somebody_left = census_.reached() && counted.count < *census_.reached();
    if (phase_ == Phase::probing && census_.missing() > 0 && somebody_left) look(out);
  }

  void handle(const event::Listed& listed, Instant now, Actions& out) {
    if (phase_ == Phase::examining) examine(listed.connections, now, out);
  }

  void handle(const event::Killed&, Instant, Actions& out) {
    if (phase_ != Phase::killing) return;
    out.emplace_back(action::Warn{describe_kill(std::exchange(suspects_, {}))});
    start_over(out);
  }

  void handle(const event::Incremented& incremented, Instant now, Actions&) {
    if (phase_ != Phase::fencing) return;
    fence_token_ = incremented.value;
    hold(now);
  }

  void handle(const event::Reminded&, Instant now, Actions& out) { tick(now, out); }

  void handle(const event::Doubted& doubted, Instant now, Actions& out) {
    if (!holds()) return;
    doubt_ = doubted.why;
    check_self(now, request_.unavailable_timeout, out);
  }

  void handle(const event::Left&, Instant now, Actions&) {
    if (phase_ == Phase::leaving) arrive_outside(now);
  }

  void handle(const event::Refused& refused, Instant now, Actions& out) {
    switch (refused.verb) {
      case Verb::join:
        if (phase_ == Phase::joining) fall_back(refused.failure, now);
        return;
      case Verb::listen:
        if (phase_ == Phase::tuning) step_aside(refused.failure, now, out);
        return;
      case Verb::ping:
        if (phase_ == Phase::probing) step_aside(refused.failure, now, out);
        return;
      case Verb::increment:
        if (phase_ != Phase::fencing) return;
        return finish(Result::failed, {refused.failure.code, "no fencing token: " + refused.failure.text},
                      out);
      case Verb::list:
      case Verb::kill:
        if (phase_ != Phase::examining && phase_ != Phase::killing) return;
        refusal_ = refused.failure;
        note_silence();
        return step_back(now, out);
      case Verb::count:
      case Verb::leave: return;
    }
  }

  void handle(const event::Lost& lost, Instant now, Actions&) {
    open_ = false;
    switch (phase_) {
      case Phase::idle:
      case Phase::waiting: return;
      case Phase::leaving:
        // The lock may have been gone before the server could read that it was given back.
        if (after_leaving_ == Result::released) return end(Result::lost, {Errc::lost, lost.failure.text});
        return arrive_outside(now);
      case Phase::holding:
        if (!rules.loss_is_final) return;
        return end(Result::lost, {Errc::lost, lost.failure.text});
      default: return fall_back(lost.failure, now);
    }
  }

  // --- hearing and answering ---------------------------------------------------------------------

  void hear(const Ping& ping, Instant now, Actions& out) {
    if (ping.response_channel == identity_.channel) return;  // would go round in circles
    if (ping.response_channel == response_channel_) {
      if (phase_ == Phase::probing) census_.hear_echo();
      return;
    }
    if (!joined() || (phase_ == Phase::leaving && !rules.answer_while_leaving)) return;
    if (rules.pinger_is_candidate && !ping.waiting) remember(ping);
    out.emplace_back(action::Publish{ping.response_channel, encode_reply(describe_self(told_mode(), now))});
    announced_ = true;
  }

  void remember(const Ping& ping) {
    if (ping.sublock && ping.mode != HolderMode::pending) return;
    // One who pings in our name is not us, and has no place in an order of ids.
    const bool placed = ping.sublock && ping.from.holder_id != identity_.holder_id;
    placed ? heard_.note(ping.from) : heard_.note_unknown();
  }

  [[nodiscard]] HolderMode told_mode() const {
    const bool hides = !announced_ || (!rules.readers_are_shared && !holds());
    return hides ? HolderMode::pending : mode();
  }

  // --- asking ------------------------------------------------------------------------------------

  /// Asks once more, on a response channel of its own (R5).
  void look(Actions& out) {
    timers_.disarm(Timer::again);
    if constexpr (rules.fresh_response_channel) response_channel_ = fresh_response_channel();
    phase_ = Phase::tuning;
    out.emplace_back(action::Listen{response_channel_});
  }

  void ping(Instant now, Actions& out) {
    phase_ = Phase::probing;
    census_ = Census(identity_.holder_id);
    heard_ = {};
    overheard_long_enough_ = false;
    // A first question may be put anew when somebody leaves, within the same patience; the second one,
    // on which a life depends, gets all of it.
    if (!timers_.armed(Timer::patience) || !suspects_.empty()) be_patient(now);
    if (suspects_.empty()) timers_.arm(Timer::recount, saturating_add(now, recount_interval()));
    Ping ping;
    ping.response_channel = response_channel_;
    ping.sublock = true;
    ping.from = self();
    ping.mode = told_mode();
    out.emplace_back(action::Ping{identity_.channel, response_channel_, encode(ping)});
  }

  void recount(Instant now, Actions& out) {
    if (phase_ != Phase::probing) return;
    out.emplace_back(action::Count{identity_.channel});
    timers_.arm(Timer::recount, saturating_add(now, recount_interval()));
  }

  // --- concluding --------------------------------------------------------------------------------

  void conclude(Instant now, Actions& out) {
    const Verdict verdict = judge();
    looked_twice_ = verdict == Verdict::ask_twice;
    switch (verdict) {
      case Verdict::hold: return claim(now, out);
      case Verdict::give_way: return give_way(out);
      case Verdict::ask_again: return start_over(out);
      case Verdict::ask_later:
      case Verdict::ask_twice: return rest(lag_of_old_peers, now);
      case Verdict::stand: return stand(now, out);
    }
  }

  void claim(Instant now, Actions& out) {
    announced_ = rules.hold_before_answering;
    take(now, out);
  }

  [[nodiscard]] Verdict judge() const {
    if (request_.mode == LockMode::shared) return judge_reader(census_);
    if constexpr (!rules.first_in_order_claims) return Verdict::hold;
    return judge_writer(election_, writer(), census_, heard_);
  }

  [[nodiscard]] bool somebody_is_first() const {
    if (request_.mode == LockMode::shared) return judge_reader(census_) == Verdict::give_way;
    return rules.first_in_order_claims && names_a_first(election_, writer(), census_, heard_);
  }

  /// First in line, while readers hold: stays joined, which keeps new readers out (R9).
  void stand(Instant now, Actions& out) {
    const bool somebody_holds = census_.any_of([](const Holder& answer) {
      return answer.mode == HolderMode::shared && (!answer.sublock || answer.held_for);
    });
    if (somebody_holds && (request_.once || request_.fail_when_locked)) return give_way(out);
    elected_ = true;
    note_blockers();
    trouble_ = {};
    rest(rest_, now);
    rest_ = std::min(rest_ * 2, std::max(request_.check_interval, first_rest));
  }

  void start_over(Actions& out) {
    timers_.disarm_steps();
    look(out);
  }

  // --- looking into silence (R12) ----------------------------------------------------------------

  void lose_patience(Instant now, Actions& out) {
    if (holds()) return fail_check(out);
    if (phase_ == Phase::fencing) {
      return finish(Result::failed,
                    {Errc::connect, "no fencing token: " + request_.server + " did not answer INCR"}, out);
    }
    if (phase_ != Phase::probing || !census_.heard_itself()) {
      // Our own silence proves nothing about others.
      note_trouble(request_.server + " did not deliver our own question in time");
      return step_back(now, out);
    }
    if constexpr (!rules.complete_answers_only) {
      census_.discount_strangers();
      return conclude(now, out);
    }
    note_silence();
    if (!suspects_.empty()) return kill_the_silent(now, out);
    if constexpr (!Reaper::asks) return step_back(now, out);
    phase_ = Phase::examining;
    be_patient(now);
    out.emplace_back(action::List{});
  }

  void examine(const std::vector<Connection>& connections, Instant now, Actions& out) {
    if (has_twin(identity_, connections)) {
      note_trouble("another connection uses the holder id " + identity_.holder_id);
      return step_back(now, out);
    }
    Suspects silent = silent_by_name(identity_, census_, connections);
    if (silent.empty()) return dismiss_strangers(now, out);
    suspects_ = choose_suspects(reaper_, identity_, census_, connections, std::move(silent));
    if (suspects_.empty() || request_.once) return step_back(now, out);
    if constexpr (!rules.kill_only_asked_twice) return kill_the_silent(now, out);
    start_over(out);
  }

  /// Everybody named for this channel has answered, so the rest own nothing.
  void dismiss_strangers(Instant now, Actions& out) {
    census_.discount_strangers();
    phase_ = Phase::probing;
    timers_.disarm_steps();
    if (census_.strangers() > 0 && strangers_.empty()) {
      strangers_ = describe_strangers(census_);
      out.emplace_back(action::Warn{strangers_});
    }
    trouble_ = {};
    decide(now, out);
  }

  void kill_the_silent(Instant now, Actions& out) {
    suspects_ = silent_again(std::exchange(suspects_, {}), census_);
    if (suspects_.empty()) return start_over(out);
    action::Kill kill;
    for (const Diagnosis::Suspect& suspect : suspects_) kill.ids.push_back(suspect.connection_id);
    phase_ = Phase::killing;
    timers_.disarm_steps();
    be_patient(now);
    out.emplace_back(std::move(kill));
  }

  void go_on(Instant now, Actions& out) {
    if (holds()) {
      return check_self(now, std::min(request_.self_check_interval, request_.unavailable_timeout), out);
    }
    if (phase_ == Phase::waiting) return start_try(out);
    if (phase_ == Phase::resting) return start_over(out);
    overheard_long_enough_ = true;
  }

  [[nodiscard]] Candidate self() const { return {identity_.holder_id, identity_.priority}; }
  [[nodiscard]] WriterStanding writer() const { return {self(), elected_, looked_twice_}; }

  [[no_unique_address]] Election election_;
  [[no_unique_address]] Reaper reaper_;
  bool announced_ = true;  // false only where R2 is switched off
};

}  // namespace sublock::core
