// SPDX-License-Identifier: MIT
#pragma once

// The protocol: one lock object's part in it, as a state machine. Event and time in, actions out; no I/O,
// no thread, no clock, no random device. What it says of itself, what it decides and what it promised to
// whom are one state, so whoever steps it must hold one mutex around every call (R2).

#include <sublock/core/census.hpp>
#include <sublock/core/dice.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/rules.hpp>
#include <sublock/core/timers.hpp>
#include <sublock/core/verdict.hpp>
#include <sublock/core/wire.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core {

/// Who takes part; fixed for the object's life.
struct Identity {
  std::string channel;
  std::string holder_id;
  std::string host;
  std::int64_t pid = 0;
  std::string label;
  std::int64_t priority = 0;
};

/// What one attempt is allowed to cost.
struct Request {
  LockMode mode = LockMode::exclusive;
  Instant deadline = Instant::max();
  Duration check_interval = std::chrono::milliseconds(250);
  Duration unavailable_timeout = std::chrono::seconds(1);
  bool once = false;              ///< don't wait: give up on the first look that doesn't lead to the lock
  bool fail_when_locked = false;  ///< give up once it is certain that somebody else has it
};

enum class Phase : std::uint8_t {
  idle,       ///< not trying
  opening,    ///< waiting for an ear
  joining,    ///< waiting for the join to be confirmed
  tuning,     ///< joined; waiting for the next response channel
  probing,    ///< joined; waiting for answers
  examining,  ///< joined; waiting for the list of connections
  killing,    ///< joined; waiting for the kill to be confirmed
  resting,    ///< joined; will ask again in a moment
  holding,    ///< has the lock
  leaving,    ///< waiting for the unsubscribe to be confirmed
  waiting,    ///< not joined; will try again in a moment
};

/// How the last attempt, or the hold after it, ended.
enum class Result : std::uint8_t { none, acquired, busy, failed, cancelled, released, lost };

template <ElectionPolicy Election, ReaperPolicy Reaper, Rules rules = Rules{}>
class Participant {
 public:
  using Actions = std::vector<Action>;

  Participant(Identity identity, Dice dice, Election election = {}, Reaper reaper = {})
      : identity_(std::move(identity)),
        dice_(dice),
        election_(std::move(election)),
        reaper_(std::move(reaper)) {}

  // --- what the caller wants ---------------------------------------------------------------------

  /// Starts an attempt. Only while idle.
  void acquire(const Request& request, Instant now, Actions& out) {
    request_ = request;
    result_ = Result::none;
    failure_ = {};
    trouble_.clear();
    strangers_.clear();
    blockers_.clear();
    losses_ = 0;
    started_ = now;
    forget_the_try();
    if (request_.deadline != Instant::max()) timers_.arm(Timer::deadline, request_.deadline);
    start_try(out);
  }

  /// Gives the lock back; the answers say so from now on, before the server knows (R8). False where it
  /// is not held: never was, or has been lost.
  bool release(Actions& out) {
    if (phase_ != Phase::holding) return false;
    leave(Result::released, out);
    return true;
  }

  /// Gives up an attempt, or does nothing where there is none.
  void cancel(Actions& out) {
    if (is_trying()) finish(Result::cancelled, {Errc::cancelled, "the wait for it was cancelled"}, out);
  }

  /// Forgets the channel without a word; the connection is dropped with it. For when politeness would
  /// take longer than the caller has.
  void abandon(Actions& out) {
    if (phase_ == Phase::idle) return;
    out.emplace_back(action::Close{});
    open_ = false;
    end(phase_ == Phase::leaving ? after_leaving_ : Result::lost, failure_);
  }

  /// The line is gone, and with it the ear: the next attempt opens another.
  void unplug() { open_ = false; }

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
        trouble_ = "somebody answers out of turn: more answers than subscribers, or one in our name";
        return step_back(now, out);
      case Census::Standing::complete: break;
    }
    if (!census_.overheard() || overheard_long_enough_) return conclude(now, out);
    // Somebody who listens by pattern may answer as well: give his answers time to give him away.
    if (!timers_.armed(Timer::again)) timers_.arm(Timer::again, saturating_add(now, overheard_grace));
  }

  /// One timer, due or not: for a search over all the times at which it may fire.
  void fire(Timer timer, Instant now, Actions& out) {
    switch (timer) {
      case Timer::deadline: return run_out_of_time(out);
      case Timer::patience: return lose_patience(now, out);
      case Timer::recount: return recount(now, out);
      case Timer::again: return go_on(now, out);
    }
  }

  // --- what is known -----------------------------------------------------------------------------

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool holds() const { return phase_ == Phase::holding; }
  [[nodiscard]] Result result() const { return result_; }
  /// Why the attempt failed, or the lock was lost.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  /// Who was in the way at the last look.
  [[nodiscard]] const std::vector<Holder>& blockers() const { return blockers_; }
  /// What kept the last look from telling; empty where it told.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// Subscribers that were found to be no participants; empty where there were none.
  [[nodiscard]] const std::string& strangers() const { return strangers_; }
  [[nodiscard]] bool elected() const { return elected_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const Timers& timers() const { return timers_; }

  /// What an answer would say now.
  [[nodiscard]] HolderMode mode() const {
    if (phase_ == Phase::leaving) return HolderMode::pending;
    if (request_.mode == LockMode::shared) return reader_mode();
    return holds() ? HolderMode::exclusive : HolderMode::pending;
  }

  /// Trying for the lock, and not yet done.
  [[nodiscard]] bool is_trying() const {
    switch (phase_) {
      case Phase::idle:
      case Phase::holding: return false;
      case Phase::leaving: return after_leaving_ == Result::none;
      default: return true;
    }
  }

  /// Subscribed to the channel, as far as we know.
  [[nodiscard]] bool joined() const {
    switch (phase_) {
      case Phase::idle:
      case Phase::opening:
      case Phase::waiting: return false;
      default: return true;
    }
  }

 private:
  /// How long a forged answer may take to give itself away where others listen by pattern.
  static constexpr Duration overheard_grace = std::chrono::milliseconds(10);
  /// portalocker 4.0 and 4.1 need a moment between promoting themselves and saying so.
  static constexpr Duration lag_of_old_peers = std::chrono::milliseconds(20);
  /// How soon one who stands looks again; doubled at each look, up to the check interval.
  static constexpr Duration first_rest = std::chrono::milliseconds(4);
  /// How long to go on against a server that has never once answered this object.
  static constexpr Duration first_contact = std::chrono::seconds(5);
  /// Writers kept from the pings heard during one probe; more are one unknown writer.
  static constexpr std::size_t heard_max = 1024;

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
      hold(now);  // before any ping can be answered: whoever joins later reads that (R2)
    } else {
      ping(now, out);
    }
  }

  void handle(const event::Listening& listening, Instant now, Actions& out) {
    if (phase_ == Phase::tuning && listening.channel == response_channel_) ping(now, out);
  }

  void handle(const event::Message& message, Instant now, Actions& out) {
    if (message.channel == identity_.channel) {
      if (const auto ping = decode_ping(message.payload)) hear(*ping, now, out);
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
      if (phase_ == Phase::joining) return counted.count == 1 ? hold(now) : ping(now, out);
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
    timers_.disarm_steps();
    look(out);
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
      case Verb::list:
      case Verb::kill:
        if (phase_ != Phase::examining && phase_ != Phase::killing) return;
        trouble_ = silence() + ", and nobody could look into it: " + refused.failure.text;
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
      case Phase::leaving: return arrive_outside(now);
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
    out.emplace_back(action::Publish{ping.response_channel, encode_reply(describe_self(now))});
    announced_ = true;
  }

  void remember(const Ping& ping) {
    if (ping.sublock && ping.mode != HolderMode::pending) return;
    // One who pings in our name is not us, and has no place in an order of ids.
    if (!ping.sublock || ping.from.holder_id == identity_.holder_id || heard_.writers.size() >= heard_max) {
      heard_.unknown_writer = true;
    } else if (std::ranges::find(heard_.writers, ping.from) == heard_.writers.end()) {
      heard_.writers.push_back(ping.from);
    }
  }

  [[nodiscard]] Holder describe_self(Instant now) const {
    Holder self;
    self.holder_id = identity_.holder_id;
    self.mode = announced_ ? mode() : HolderMode::pending;
    self.leaving = phase_ == Phase::leaving;
    self.elected = elected_ && announced_ && !self.leaving;
    self.sublock = true;
    self.host = identity_.host;
    self.pid = identity_.pid;
    self.label = identity_.label;
    self.priority = identity_.priority;
    if (holds()) self.held_for = std::chrono::duration_cast<std::chrono::milliseconds>(now - held_since_);
    return self;
  }

  [[nodiscard]] HolderMode reader_mode() const {
    return rules.readers_are_shared || holds() ? HolderMode::shared : HolderMode::pending;
  }

  // --- asking ------------------------------------------------------------------------------------

  void start_try(Actions& out) {
    if (open_) return join(out);
    phase_ = Phase::opening;
    out.emplace_back(action::Open{});
  }

  void join(Actions& out) {
    response_channel_ = fresh_response_channel();
    phase_ = Phase::joining;
    out.emplace_back(action::Join{identity_.channel, response_channel_,
                                  client_name(identity_.channel, identity_.holder_id)});
  }

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
    ping.mode = mode();
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
      case Verdict::hold: return hold(now);
      case Verdict::give_way: return give_way(out);
      case Verdict::ask_again: return start_over(out);
      case Verdict::ask_later:
      case Verdict::ask_twice: return rest(lag_of_old_peers, now);
      case Verdict::stand: return stand(now, out);
    }
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

  void hold(Instant now) {
    phase_ = Phase::holding;
    result_ = Result::acquired;
    held_since_ = now;
    announced_ = rules.hold_before_answering;
    timers_ = {};
    elected_ = request_.mode == LockMode::exclusive;
  }

  /// First in line, while readers hold: stays joined, which keeps new readers out (R9).
  void stand(Instant now, Actions& out) {
    const bool somebody_holds = census_.any_of([](const Holder& answer) {
      return answer.mode == HolderMode::shared && (!answer.sublock || answer.held_for);
    });
    if (somebody_holds && (request_.once || request_.fail_when_locked)) return give_way(out);
    elected_ = true;
    note_blockers();
    rest(rest_, now);
    rest_ = std::min(rest_ * 2, std::max(request_.check_interval, first_rest));
  }

  void rest(Duration pause, Instant now) {
    phase_ = Phase::resting;
    timers_.disarm_steps();
    timers_.arm(Timer::again, saturating_add(now, pause));
  }

  void start_over(Actions& out) {
    timers_.disarm_steps();
    look(out);
  }

  /// Somebody else has it, or comes first.
  void give_way(Actions& out) {
    note_blockers();
    trouble_.clear();
    if (request_.once || request_.fail_when_locked) return finish(Result::busy, {}, out);
    leave(Result::none, out);
  }

  /// Nobody can tell: whoever stands keeps his place, everybody else leaves and tries later.
  void step_back(Instant now, Actions& out) {
    note_blockers();
    suspects_.clear();
    if (elected_) return rest(request_.check_interval, now);
    if (request_.once) return finish(Result::busy, {}, out);
    leave(Result::none, out);
  }

  /// The server refused a question on a channel we have joined.
  void step_aside(const Failure& failure, Instant now, Actions& out) {
    if (!is_transient(failure.code)) return finish(Result::failed, failure, out);
    trouble_ = failure.text;
    rest(std::min(request_.check_interval, lag_of_old_peers), now);
  }

  /// Not joined any more, or never was: tries again, or gives up where that is no use.
  void fall_back(const Failure& failure, Instant now) {
    const bool never_reached = !contacted_ && now - started_ >= first_contact;
    if (!is_transient(failure.code) || never_reached) return end(Result::failed, failure);
    failure_ = failure;
    const bool was_open = phase_ != Phase::opening;
    // A connection that had gone stale is no reason to wait; one that can't be had is.
    wait(was_open && losses_++ == 0 ? Duration::zero() : dice_.jittered(request_.check_interval), now);
  }

  // --- looking into silence (R12) ----------------------------------------------------------------

  void lose_patience(Instant now, Actions& out) {
    if (phase_ != Phase::probing || !census_.heard_itself()) {
      // Our own silence proves nothing about others.
      trouble_ = "the server did not deliver our own question in time";
      return step_back(now, out);
    }
    if constexpr (!rules.complete_answers_only) {
      census_.discount_strangers();
      return conclude(now, out);
    }
    trouble_ = silence();
    if (!suspects_.empty()) return kill_the_silent(now, out);
    if constexpr (!Reaper::asks) return step_back(now, out);
    phase_ = Phase::examining;
    be_patient(now);
    out.emplace_back(action::List{});
  }

  void examine(const std::vector<Connection>& connections, Instant now, Actions& out) {
    const std::string own_name = client_name(identity_.channel, identity_.holder_id);
    if (std::ranges::count(connections, own_name, &Connection::name) > 1) {
      trouble_ = "another connection uses the holder id " + identity_.holder_id;
      return step_back(now, out);
    }
    const std::string name = name_prefix(identity_.channel);
    const std::vector<std::string> answered = census_.answered();
    suspects_ = reaper_.examine({name, answered, census_.legacy_answered(), connections}).suspects;
    if (suspects_.empty()) return dismiss_strangers(now, out);
    trouble_ = silence();
    if (request_.once) return step_back(now, out);
    if constexpr (!rules.kill_only_asked_twice) return kill_the_silent(now, out);
    timers_.disarm_steps();
    look(out);
  }

  /// Everybody named for this channel has answered, so the rest own nothing.
  void dismiss_strangers(Instant now, Actions& out) {
    census_.discount_strangers();
    phase_ = Phase::probing;
    timers_.disarm_steps();
    if (census_.strangers() > 0) {
      std::string text = std::to_string(census_.strangers()) +
                         " subscribers of the channel neither answer nor are named as holders; somebody "
                         "runs SUBSCRIBE on it";
      if (strangers_ != text) out.emplace_back(action::Warn{text});
      strangers_ = std::move(text);
    }
    if (census_.standing() == Census::Standing::complete) conclude(now, out);
  }

  void kill_the_silent(Instant now, Actions& out) {
    action::Kill kill;
    std::string names;
    for (const Diagnosis::Suspect& suspect : suspects_) {
      const bool answered =
          suspect.holder_id.empty() ? census_.legacy_answered() : census_.has_answered(suspect.holder_id);
      if (answered) continue;
      kill.ids.push_back(suspect.connection_id);
      names += ' ' + (suspect.holder_id.empty() ? "of an old protocol" : suspect.holder_id);
    }
    suspects_.clear();
    timers_.disarm_steps();
    if (kill.ids.empty()) return look(out);
    phase_ = Phase::killing;
    be_patient(now);
    out.emplace_back(action::Warn{"asked twice and silent twice, so its connection is killed:" + names});
    out.emplace_back(std::move(kill));
  }

  [[nodiscard]] std::string silence() const {
    return std::to_string(census_.missing()) + " of " + std::to_string(census_.reached().value_or(0)) +
           " subscribers did not answer in time";
  }

  // --- leaving -----------------------------------------------------------------------------------

  void leave(Result then, Actions& out) {
    phase_ = Phase::leaving;
    after_leaving_ = then;
    timers_.disarm_steps();
    if (then != Result::none) timers_ = {};
    out.emplace_back(action::Leave{});
  }

  void arrive_outside(Instant now) {
    if (after_leaving_ != Result::none) return end(after_leaving_, failure_);
    wait(dice_.jittered(request_.check_interval), now);
  }

  void wait(Duration pause, Instant now) {
    phase_ = Phase::waiting;
    forget_the_try();
    timers_.disarm_steps();
    timers_.arm(Timer::again, saturating_add(now, pause));
  }

  void go_on(Instant, Actions& out) {
    if (phase_ == Phase::waiting) return start_try(out);
    if (phase_ == Phase::resting) return start_over(out);
    overheard_long_enough_ = true;
  }

  void run_out_of_time(Actions& out) {
    const bool unanswered = phase_ == Phase::joining || phase_ == Phase::opening;
    if (failure_.text.empty() && unanswered) {
      failure_ = {Errc::connect, "the server accepts connections but does not answer"};
    }
    const bool unreachable = !failure_.text.empty() && failure_.code != Errc::busy;
    if (!unreachable && !failure_.text.empty()) trouble_ = failure_.text;
    finish(unreachable ? Result::failed : Result::busy, failure_, out);
  }

  /// Ends the attempt from wherever it is, politely.
  void finish(Result result, const Failure& failure, Actions& out) {
    switch (phase_) {
      case Phase::opening: out.emplace_back(action::Close{}); [[fallthrough]];
      case Phase::idle:
      case Phase::waiting: return end(result, failure);
      default: break;
    }
    failure_ = failure;
    if (phase_ != Phase::leaving) return leave(result, out);
    after_leaving_ = result;
    timers_ = {};
  }

  void end(Result result, const Failure& failure) {
    phase_ = Phase::idle;
    result_ = result;
    failure_ = failure;
    timers_ = {};
    forget_the_try();
  }

  // --- small helpers -----------------------------------------------------------------------------

  void forget_the_try() {
    elected_ = false;
    looked_twice_ = false;
    announced_ = true;
    rest_ = first_rest;
    suspects_.clear();
    census_ = {};
    heard_ = {};
  }

  void note_blockers() {
    blockers_.clear();
    for (const auto& [id, answer] : census_.answers()) blockers_.push_back(answer);
    failure_ = {};
  }

  void be_patient(Instant now) {
    timers_.arm(Timer::patience, saturating_add(now, request_.unavailable_timeout));
  }

  [[nodiscard]] Duration recount_interval() const {
    return std::min(request_.check_interval, request_.unavailable_timeout / 4);
  }

  [[nodiscard]] std::string fresh_response_channel() { return identity_.channel + '-' + dice_.fresh_id(); }

  [[nodiscard]] Candidate self() const { return {identity_.holder_id, identity_.priority}; }
  [[nodiscard]] WriterStanding writer() const { return {self(), elected_, looked_twice_}; }

  [[nodiscard]] static bool is_transient(Errc code) { return code == Errc::connect || code == Errc::busy; }

  Identity identity_;
  Dice dice_;
  [[no_unique_address]] Election election_;
  [[no_unique_address]] Reaper reaper_;

  Request request_;
  Phase phase_ = Phase::idle;
  Result result_ = Result::none;
  Result after_leaving_ = Result::none;
  Timers timers_;
  Instant started_;
  Instant held_since_;
  bool open_ = false;       // the line has an ear
  bool contacted_ = false;  // the server has answered this object at least once
  bool elected_ = false;
  bool looked_twice_ = false;
  bool overheard_long_enough_ = false;
  bool announced_ = true;
  int losses_ = 0;
  std::size_t join_count_ = 0;
  Duration rest_ = first_rest;
  std::string response_channel_;
  Census census_;
  HeardPings heard_;
  std::vector<Diagnosis::Suspect> suspects_;
  Failure failure_;
  std::string trouble_;
  std::string strangers_;
  std::vector<Holder> blockers_;
};

}  // namespace sublock::core
