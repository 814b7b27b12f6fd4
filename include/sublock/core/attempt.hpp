// SPDX-License-Identifier: MIT
#pragma once

// The state of a participant, and its moves on the way to a lock: going to the channel, away from it, and
// waiting between. Which move is made when is decided in participant.hpp.

#include <sublock/core/census.hpp>
#include <sublock/core/dice.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/request.hpp>
#include <sublock/core/shared_ear.hpp>
#include <sublock/core/suspicion.hpp>
#include <sublock/core/timers.hpp>
#include <sublock/core/verdict.hpp>
#include <sublock/core/wire.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core {

class Attempt {
 public:
  using Actions = std::vector<Action>;

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool holds() const { return phase_ == Phase::holding; }
  [[nodiscard]] Result result() const { return result_; }
  /// Why the attempt failed, or the lock was lost.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  /// Who was in the way at the last look.
  [[nodiscard]] const std::vector<Holder>& blockers() const { return blockers_; }
  /// What kept the last look from telling; empty where it told.
  [[nodiscard]] const std::string& trouble() const { return trouble_.text; }
  /// Subscribers that were found to be no participants; empty where there were none.
  [[nodiscard]] const std::string& strangers() const { return strangers_; }
  [[nodiscard]] bool elected() const { return elected_; }
  /// The last question, and who has answered it.
  [[nodiscard]] const Census& census() const { return census_; }
  /// The owner before us has handed us the lock.
  [[nodiscard]] bool was_granted() const { return handed_over_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const Timers& timers() const { return timers_; }

  /// Forgets the channel without a word; the connection is dropped with it. For when politeness would
  /// take longer than the caller has.
  void abandon(Actions& out) {
    if (phase_ == Phase::idle) return;
    out.emplace_back(action::Close{});
    open_ = false;
    end(phase_ == Phase::leaving ? after_leaving_ : Result::lost, failure_);
  }

  /// What an answer would say now.
  [[nodiscard]] HolderMode mode() const {
    if (is_leaving()) return HolderMode::pending;
    if (request_.mode == LockMode::shared) return HolderMode::shared;
    return owns() ? HolderMode::exclusive : HolderMode::pending;
  }

  /// Wants the lock no more, or has given it back, and is not gone yet.
  [[nodiscard]] bool is_leaving() const { return phase_ == Phase::leaving || phase_ == Phase::granting; }

  /// Has claimed the lock, and says so.
  [[nodiscard]] bool owns() const { return phase_ == Phase::holding || phase_ == Phase::fencing; }

  /// Trying for the lock, and not yet done.
  [[nodiscard]] bool is_trying() const {
    switch (phase_) {
      case Phase::idle:
      case Phase::holding:
      case Phase::granting: return false;
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

  /// Everything that decides what comes next, in a canonical form that leaves out times, texts and dice,
  /// and what has been found out where it won't be looked at again: for a search that must know where it
  /// has been.
  [[nodiscard]] std::string state_key() const {
    std::string key;
    const auto put = [&key](auto value) { key += std::to_string(static_cast<std::int64_t>(value)) + ','; };
    put(phase_), put(after_leaving_ != Result::none), put(open_), put(contacted_);
    put(request_.mode), put(request_.once), put(request_.fail_when_locked);
    for (std::size_t i = 0; i < Timers::count; ++i) put(timers_.armed(static_cast<Timer>(i)));
    key += response_channel_ + ear_;
    const bool weighs = phase_ == Phase::probing || phase_ == Phase::examining;
    if (weighs || phase_ == Phase::tuning || phase_ == Phase::resting || phase_ == Phase::killing) {
      put(elected_), put(succeeding_), put(handed_over_), put(looked_twice_);
      // Once their connections are being killed, they are but a text.
      if (phase_ != Phase::killing) {
        for (const Diagnosis::Suspect& suspect : suspects_) put(suspect.connection_id);
      }
    }
    if (weighs) put(overheard_long_enough_);
    if (phase_ == Phase::examining) key += search_.state_key();
    const bool stands_ready = phase_ == Phase::resting && succeeding_;
    if (stands_ready) put(census_.overheard() || census_.strangers() > 0);
    const bool counts_pings = weighs || stands_ready;
    if (counts_pings && request_.mode == LockMode::exclusive) {  // readers let every writer go first
      std::vector<std::string> heard(heard_.unknown_writer ? 1 : 0);
      for (const Candidate& writer : heard_.writers) heard.push_back(writer.holder_id);
      std::ranges::sort(heard);
      for (const std::string& id : heard) key += id + '/';
    }
    return weighs || phase_ == Phase::waiting ? key + census_.state_key() : key;
  }

 protected:
  /// How long a forged answer may take to give itself away where others listen by pattern.
  static constexpr Duration overheard_grace = std::chrono::milliseconds(10);
  /// portalocker 4.0 and 4.1 need a moment between promoting themselves and saying so.
  static constexpr Duration lag_of_old_peers = std::chrono::milliseconds(20);
  /// How soon one who stands looks again; doubled at each look, up to the check interval.
  static constexpr Duration first_rest = std::chrono::milliseconds(4);
  /// How long to go on against a server that has never once answered this object.
  static constexpr Duration first_contact = std::chrono::seconds(5);
  /// How soon a successor, or one who misses an answer, looks whether the holder is still there.
  static constexpr Duration first_watch = std::chrono::milliseconds(10);

  Attempt(Identity identity, Dice dice) : identity_(std::move(identity)), dice_(dice) {}

  void prepare(const Request& request, Instant now) {
    request_ = request;
    result_ = Result::none;
    failure_ = {};
    trouble_ = {};
    refusal_ = {};
    strangers_.clear();
    blockers_.clear();
    losses_ = 0;
    started_ = now;
    forget_the_try();
    if (request_.deadline != Instant::max()) timers_.arm(Timer::deadline, request_.deadline);
  }

  // --- going there -------------------------------------------------------------------------------

  void start_try(Actions& out) {
    if (open_) return join(out);
    phase_ = Phase::opening;
    out.emplace_back(action::Open{identity_.channel});
  }

  void join(Actions& out) {
    inbox_.clear();
    response_channel_ = fresh_response_channel();
    phase_ = Phase::joining;
    action::Rosters rosters{roster(identity_.channel, request_.mode), {}};
    if (request_.mode == LockMode::shared) rosters.other = roster(identity_.channel, LockMode::exclusive);
    out.emplace_back(action::Join{identity_.channel, response_channel_,
                                  client_name(identity_.channel, identity_.holder_id), std::move(rosters)});
  }

  [[nodiscard]] Holder describe_self(HolderMode told, const Ping& asked, Instant now) const {
    Holder self;
    self.holder_id = identity_.holder_id;
    self.mode = told;
    self.leaving = is_leaving();
    self.elected = told == HolderMode::exclusive || (elected_ && !owns() && !self.leaving);
    self.sublock = true;
    self.host = identity_.host;
    self.pid = identity_.pid;
    self.label = identity_.label;
    self.priority = identity_.priority;
    self.ear = ear_;
    const auto since = [now](Instant then) {
      return std::chrono::floor<std::chrono::milliseconds>(now - then);
    };
    if (holds()) self.held_for = since(held_since_);
    if (asked.is_roll_call() && is_trying() && !owns()) self.waiting_for = since(started_);
    return self;
  }

  // --- not getting it ----------------------------------------------------------------------------

  void rest(Duration pause, Instant now) {
    phase_ = Phase::resting;
    timers_.disarm_steps();
    timers_.arm(Timer::again, saturating_add(now, pause));
  }

  /// Who may be handed the lock: a writer whose latest question is out.
  [[nodiscard]] bool awaits_grant() const {
    switch (phase_) {
      case Phase::probing:
      case Phase::examining:
      case Phase::resting: return request_.mode == LockMode::exclusive;
      default: return false;
    }
  }

  [[nodiscard]] bool may_wait() const { return !request_.once && !request_.fail_when_locked; }

  /// Somebody else has it, or comes first.
  void give_way(Actions& out) {
    note_blockers();
    trouble_ = {};
    if (request_.once || request_.fail_when_locked) return finish(Result::busy, {}, out);
    leave(Result::none, out);
  }

  /// Nobody can tell: whoever stands keeps his place, everybody else leaves and tries later.
  void step_back(Instant now, Actions& out) {
    note_blockers();
    suspects_.clear();
    if (elected_) return rest(request_.check_interval, now);
    if (request_.once) return give_up(out);
    leave(Result::none, out);
  }

  /// Nothing came of it. Mostly because somebody has the lock; where only a right that is missing kept us
  /// from finding out, that is what the caller must hear.
  void give_up(Actions& out) {
    if (trouble_.code == Errc::busy) return finish(Result::busy, {}, out);
    finish(Result::failed, Failure(trouble_), out);
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

  // --- leaving -----------------------------------------------------------------------------------

  /// `notes` reach those who wait once the server counts us no more.
  void leave(Result then, Actions& out, std::vector<action::Note> notes = {}) {
    phase_ = Phase::leaving;
    after_leaving_ = then;
    timers_.disarm_steps();
    out.emplace_back(action::Leave{std::move(notes)});
    if (then == Result::none) return listen_outside(out);
    timers_ = {};
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

  void listen_outside(Actions& out) {
    inbox_ = inbox(identity_.channel, identity_.holder_id);
    out.emplace_back(action::Listen{inbox_});
  }

  void run_out_of_time(Actions& out) {
    if (phase_ == Phase::waiting && !census_.answers().empty()) note_blockers();
    const bool unanswered = phase_ == Phase::joining || phase_ == Phase::opening;
    if (failure_.text.empty() && unanswered && blockers_.empty() && trouble_.text.empty()) {
      failure_ = {Errc::connect, request_.server + " did not answer in time"};
    }
    const bool unreachable = !failure_.text.empty() && failure_.code != Errc::busy;
    if (unreachable) return finish(Result::failed, failure_, out);
    if (!failure_.text.empty()) note_trouble(failure_.text);
    if (trouble_.text.empty() && phase_ == Phase::probing && census_.missing() > 0) note_silence();
    give_up(out);
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
    inbox_.clear();
    result_ = result;
    failure_ = failure;
    timers_ = {};
    forget_the_try();
  }

  // --- small helpers -----------------------------------------------------------------------------

  void forget_the_try() {
    elected_ = false;
    succeeding_ = handed_over_ = false;
    looked_twice_ = false;
    watch_ = first_rest;
    asked_in_vain_ = false;
    suspects_.clear();
    census_ = {};
    heard_ = {};
  }

  void note_blockers() {
    blockers_.clear();
    for (const auto& [id, answer] : census_.answers()) blockers_.push_back(answer);
    failure_ = {};
  }

  void note_trouble(std::string text) { trouble_ = {Errc::busy, std::move(text)}; }

  void note_silence() {
    note_trouble(describe_silence(census_));
    if (refusal_.text.empty()) return;
    trouble_.text += ", and nobody could look into it: " + refusal_.text;
    if (!is_transient(refusal_.code)) trouble_.code = refusal_.code;
  }

  void be_patient(Instant now) { be_patient(now, request_.unavailable_timeout); }
  void be_patient(Instant now, Duration span) { timers_.arm(Timer::patience, saturating_add(now, span)); }

  /// No longer than this between two counts while answers are missing.
  [[nodiscard]] Duration recount_interval() const {
    return std::min(request_.check_interval, request_.unavailable_timeout / 4);
  }

  [[nodiscard]] Ping own_ping(const std::string& response_channel) const {
    Ping ping;
    ping.response_channel = response_channel;
    ping.sublock = true;
    ping.from = {identity_.holder_id, identity_.priority};
    ping.mode = mode();
    ping.queue = may_wait();
    ping.interval = detail::clamped_interval(
        std::chrono::ceil<std::chrono::milliseconds>(request_.check_interval).count());
    return ping;
  }

  [[nodiscard]] std::string fresh_response_channel() { return identity_.channel + '-' + dice_.fresh_id(); }

  [[nodiscard]] static bool is_transient(Errc code) { return code == Errc::connect || code == Errc::busy; }

  Identity identity_;
  Dice dice_;
  Request request_;
  Phase phase_ = Phase::idle;
  Result result_ = Result::none;
  Result after_leaving_ = Result::none;
  Timers timers_;
  Instant started_;
  Instant held_since_;
  bool open_ = false;       // the line has an ear
  std::string ear_;         // its id, if others share it
  bool contacted_ = false;  // the server has answered this object at least once
  bool elected_ = false;
  bool succeeding_ = false;   // the owner has told us to stand ready
  bool handed_over_ = false;  // the owner has handed us the lock, if nobody comes before us
  bool looked_twice_ = false;
  bool overheard_long_enough_ = false;
  bool asked_in_vain_ = false;  // from outside
  int losses_ = 0;
  std::size_t join_count_ = 0;
  Duration watch_ = first_rest;     // how long until the next look at the count
  Duration recount_ = first_watch;  // the same, while answers are missing
  std::string response_channel_;
  std::string inbox_;  // of one who waits outside; empty where he only looks from time to time
  Census census_;
  HeardPings heard_;
  Suspects suspects_;
  EarSearch search_;  // for shared ears, of the last list
  Failure failure_;
  Failure trouble_;
  Failure refusal_;  // why silence could not be looked into, the last time it was tried
  std::string strangers_;
  std::vector<Holder> blockers_;
};

}  // namespace sublock::core
