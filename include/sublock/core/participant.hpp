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
      : Hold(std::move(identity), dice), election_(std::move(election)), reaper_(std::move(reaper)) {
    keeps_channel_ = !rules.fresh_response_channel;
  }

  // --- what the caller wants ---------------------------------------------------------------------

  /// Starts an attempt. Only while idle.
  void acquire(const Request& request, Instant now, Actions& out) {
    prepare(request, now);
    line_.clear();
    succession_ = Succession(identity_.channel);
    start_try(out);
  }

  /// Gives the lock back; the answers say so from now on, before the server knows (R8). False where it
  /// is not held: never was, or has been lost.
  bool release(Instant now, Actions& out) {
    if (phase_ != Phase::holding) return false;
    let_go(now, out);
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
    if (phase_ == Phase::waiting) return decide_outside(out);
    if (phase_ != Phase::probing) return;
    const bool next = is_to_succeed();
    if (!next && (names_an_owner(census_) || (!elected_ && somebody_is_first()))) return give_way(out);
    switch (census_.standing()) {
      case Census::Standing::open: return;
      case Census::Standing::forged:
        note_trouble("somebody answers out of turn: more answers than subscribers, or one in our name");
        return step_back(now, out);
      case Census::Standing::complete: break;
    }
    if (!census_.overheard() || overheard_long_enough_) {
      return next ? succeed(now, out) : conclude(now, out);
    }
    // Somebody who listens by pattern may answer as well: give his answers time to give him away.
    if (!timers_.armed(Timer::again)) timers_.arm(Timer::again, saturating_add(now, overheard_grace));
  }

  /// One timer, due or not: for a search over all the times at which it may fire.
  void fire(Timer timer, Instant now, Actions& out) {
    timers_.disarm(timer);
    switch (timer) {
      case Timer::deadline: bequeath(out); return run_out_of_time(out);
      case Timer::patience: return lose_patience(now, out);
      case Timer::recount: return recount(now, out);
      case Timer::again: return go_on(now, out);
    }
  }

  /// As of an attempt, with what only a broken rule looks at.
  [[nodiscard]] std::string state_key() const {
    std::string key = Hold::state_key();
    if (!suspects_.empty()) key += some_came_later_ ? 's' : '-';
    if constexpr (!rules.count_in_ping) key += '#' + std::to_string(join_count_);
    if constexpr (!rules.hold_before_answering) key += announced_ ? "" : "!";
    return key;
  }

 private:
  // --- events ------------------------------------------------------------------------------------

  void handle(const event::Opened& opened, Instant now, Actions& out) {
    open_ = contacted_ = true;
    ear_ = opened.ear;
    if (phase_ != Phase::opening) return;
    if (std::exchange(request_.polite, false) && may_wait()) return queue_up(now, out);
    join(out);
  }

  void handle(const event::Joined& joined, Instant now, Actions& out) {
    if (phase_ != Phase::joining) return;
    join_count_ = joined.count.value_or(0);
    if constexpr (!rules.count_in_join) {
      out.emplace_back(action::Count{identity_.channel});
    } else if (joined.count == 1U || is_among_readers(joined)) {
      claim(now, out);  // before any ping can be answered: whoever joins later reads that (R2)
    } else {
      ping(now, out);
    }
  }

  void handle(const event::Listening& listening, Instant now, Actions& out) {
    if (phase_ == Phase::tuning && listening.channel == response_channel_) ping(now, out);
    if (phase_ == Phase::waiting && listening.channel == inbox_) ask_from_outside(now, out);
  }

  void handle(const event::Message& message, Instant now, Actions& out) {
    if (message.channel == identity_.channel) {
      if (const auto ping = decode_ping(message.payload)) return hear(*ping, now, out);
      if (const auto grant = decode_grant(message.payload)) return hear(*grant, now, out);
      if (!check_nonce_.empty() && decode_check(message.payload) == check_nonce_) pass_check(now, out);
    } else if (joined() ? message.channel == response_channel_ : message.channel == inbox_) {
      hear_answer(message.payload, now, out);
    }
  }

  void handle(const event::Pinged& pinged, Instant now, Actions& out) {
    if (phase_ == Phase::granting && pinged.response_channel == grant_.nonce) {
      return complete_grant(pinged.count, out);
    }
    if (phase_ == Phase::waiting && pinged.response_channel == inbox_) {
      stay_patient(now);
      return census_.reach(pinged.count, pinged.receivers);
    }
    if (phase_ != Phase::probing || pinged.response_channel != response_channel_) return;
    stay_patient(now);
    census_.reach(rules.count_in_ping ? pinged.count : join_count_, pinged.receivers);
  }

  void handle(const event::Counted& counted, Instant now, Actions& out) {
    if constexpr (!rules.count_in_join) {
      if (phase_ == Phase::joining) return counted.count == 1 ? claim(now, out) : ping(now, out);
    }
    if (phase_ == Phase::examining && search_.pending()) {
      search_.take(counted.count);
      return examine_once_known(now, out);
    }
    if (phase_ == Phase::waiting && is_late() && counted.count == 0) return come_in(out);
    if (phase_ == Phase::resting && counted.count == 1) return start_over(out);  // nobody else is left
    // Whoever has gone without an answer won't give one: ask those who are left.
    const bool somebody_left = census_.reached() && counted.count < *census_.reached();
    if (phase_ == Phase::probing && census_.missing() > 0 && somebody_left) look(out);
  }

  void handle(const event::Listed& listed, Instant now, Actions& out) {
    if (phase_ != Phase::examining) return;
    if constexpr (!rules.shared_ears_count) return examine(listed.connections, now, out);
    look_for_ears(listed.connections, now, out);
    examine_once_known(now, out);
  }

  void handle(const event::Killed&, Instant, Actions& out) {
    if (phase_ == Phase::killing) bury(out);
  }

  void handle(const event::Incremented& incremented, Instant now, Actions& out) {
    if (phase_ != Phase::fencing) return;
    fence_token_ = incremented.value;
    if (check_nonce_.empty() || !rules.token_needs_proof) hold(now, out);
  }

  void handle(const event::Keyed&, Instant, Actions&) {}  // what is about keys is not for us
  void handle(const event::Looked&, Instant, Actions&) {}
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
        if (phase_ == Phase::waiting) inbox_.clear();  // no hints, then
        return;
      case Verb::ping:
        if (phase_ == Phase::probing) step_aside(refused.failure, now, out);
        if (phase_ == Phase::waiting) timers_.disarm(Timer::patience);  // no answers, then
        // Whether the grant gets through or not, the lock is not ours any more.
        if (phase_ == Phase::granting) leave(Result::released, out);
        return;
      case Verb::increment:
        if (phase_ == Phase::fencing) do_without(refused.failure, out);
        return;
      case Verb::count:
      case Verb::list:
      case Verb::kill: return look_in_vain(refused, now, out);
      default: return;
    }
  }

  void handle(const event::Lost& lost, Instant now, Actions&) {
    open_ = false;
    inbox_.clear();
    switch (phase_) {
      case Phase::idle:
      case Phase::waiting: return;
      case Phase::granting: return end(Result::lost, {Errc::lost, lost.failure.text});
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
      if (phase_ == Phase::probing) hear_echo(now);
      return;
    }
    if (!joined() || (phase_ == Phase::leaving && !rules.answer_while_leaving)) return;
    if (rules.pinger_is_candidate && !ping.waiting) remember(ping);
    Holder self = describe_self(told_mode(), ping, now);
    self.next = admit(ping, now);
    out.emplace_back(action::Publish{ping.response_channel, encode_reply(self)});
    announced_ = true;
    invite(out);
  }

  /// The owner hands the lock to us, if it is our latest question that he answers (R10).
  void hear(const Grant& grant, Instant now, Actions& out) {
    if (grant.to != identity_.holder_id) return;
    learn(grant.queue);
    if (grant.nonce != response_channel_) return;  // it was for the sake of the line alone
    if (phase_ == Phase::leaving) return pass_on(now, out);
    if (!awaits_grant()) return;
    if (phase_ == Phase::resting && !succeeding_) return start_over(out);  // others came first, just now
    handed_over_ = true;
    if (phase_ == Phase::resting) succeed(now, out);
  }

  [[nodiscard]] HolderMode told_mode() const {
    const bool hides = !announced_ || (!rules.readers_are_shared && !holds());
    return hides ? HolderMode::pending : mode();
  }

  // --- asking ------------------------------------------------------------------------------------

  void ping(Instant now, Actions& out) { ask(told_mode(), now, out); }

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
    take(std::exchange(line_, {}), now, out);
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

  /// The owner has told us that we come next, and may have handed the lock to us by now (R10).
  void succeed(Instant now, Actions& out) {
    // Whoever listens without taking part knows what we asked, and could forge a grant: then it is a reason to
    // look, and no more.
    if (handed_over_ && (census_.overheard() || census_.strangers() > 0)) return start_over(out);
    if (rules.grant_yields && is_preceded(election_, self(), census_, heard_)) {
      return handed_over_ ? start_over(out) : rest(lag_of_old_peers, now);
    }
    handed_over_ ? claim(now, out) : stand_ready(now);
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
    watch(now);
  }

  // --- looking into silence (R12) ----------------------------------------------------------------

  void lose_patience(Instant now, Actions& out) {
    if (holds()) return fail_check(out);
    if (phase_ == Phase::waiting) return wait_in_vain();
    if (phase_ == Phase::fencing) return wait_in_vain_for_token(out);
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
    if constexpr (!Reaper::asks) return step_back(now, out);
    ask_for_list(now, out);
  }

  void examine_once_known(Instant now, Actions& out) {
    if (phase_ == Phase::examining && !search_.pending()) examine(search_.connections(), now, out);
  }

  void examine(const std::vector<Connection>& connections, Instant now, Actions& out) {
    if (has_twin(identity_, connections)) {
      note_trouble("another connection uses the holder id " + identity_.holder_id);
      return step_back(now, out);
    }
    Suspects silent = silent_by_name(identity_, census_, connections);
    if (silent.empty()) {
      suspects_.clear();
      dismiss_strangers(out);
      return decide(now, out);
    }
    if (!suspects_.empty()) {
      // Whoever has gone since the first question has been asked but once, and his connection may serve
      // another lock by now.
      suspects_ = in_both(suspects_, silent);
      return std::exchange(some_came_later_, false) ? start_over(out) : kill_the_silent(now, out);
    }
    some_came_later_ = silent.size() > census_.missing();  // for them the next question is the first
    suspects_ = choose_suspects(reaper_, identity_, census_, connections, std::move(silent));
    if (suspects_.empty() || request_.once) return step_back(now, out);
    if constexpr (!rules.kill_only_asked_twice) return kill_the_silent(now, out);
    start_over(out);
  }

  void go_on(Instant now, Actions& out) {
    if (holds()) {
      return check_self(now, std::min(request_.self_check_interval, request_.unavailable_timeout), out);
    }
    if (phase_ == Phase::waiting) return wait_on(now, out);
    if (phase_ == Phase::resting) return start_over(out);
    overheard_long_enough_ = true;
  }

  [[nodiscard]] Candidate self() const { return {identity_.holder_id, identity_.priority}; }
  [[nodiscard]] WriterStanding writer() const { return {self(), elected_, looked_twice_}; }

  [[no_unique_address]] Election election_;
  [[no_unique_address]] Reaper reaper_;
  bool some_came_later_ = false;  // among the suspects there may be some who were asked but once
  bool announced_ = true;         // false only where R2 is switched off
};

}  // namespace sublock::core
