// SPDX-License-Identifier: MIT
#pragma once

// The moves of one who asks, from inside the channel or from outside: putting the question, putting it
// again, and what follows from silence. What the answers mean is decided in participant.hpp.

#include <sublock/core/attempt.hpp>
#include <sublock/core/suspicion.hpp>
#include <sublock/core/wire.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::core {

class Asking : public Attempt {
 protected:
  using Attempt::Attempt;

  // --- from inside -------------------------------------------------------------------------------

  /// We read, and so does everybody else who was counted: what each would answer is known. No writer is there
  /// either, in whose place somebody might stand who subscribed to the roster by hand.
  [[nodiscard]] bool is_among_readers(const event::Joined& joined) const {
    return request_.mode == LockMode::shared && joined.count == joined.own_kind && joined.other_kind == 0;
  }

  /// Asks once more, on a response channel of its own (R5).
  void look(Actions& out) {
    timers_.disarm(Timer::again);
    if (!keeps_channel_) response_channel_ = fresh_response_channel();
    phase_ = Phase::tuning;
    out.emplace_back(action::Listen{response_channel_});
  }

  void start_over(Actions& out) {
    timers_.disarm_steps();
    look(out);
  }

  /// Asks everybody on the channel, as one who says that he is `told`.
  void ask(HolderMode told, Instant now, Actions& out) {
    phase_ = Phase::probing;
    census_ = Census(identity_.holder_id);
    heard_ = {};
    overheard_long_enough_ = false;
    succeeding_ = handed_over_ = false;
    // A first question may be put anew when somebody leaves, or from inside, within the same patience; the
    // second one, on which a life depends, gets all of it.
    const bool in_vain = std::exchange(asked_in_vain_, false);
    if (!suspects_.empty()) {
      be_patient(now);
    } else if (!timers_.armed(Timer::patience)) {
      in_vain ? be_patient(now, recount_interval()) : be_patient(now);
    }
    recount_ = std::min(first_watch, recount_interval());
    if (suspects_.empty()) timers_.arm(Timer::recount, saturating_add(now, recount_));
    Ping ping = own_ping(response_channel_);
    ping.mode = told;
    out.emplace_back(action::Ping{identity_.channel, response_channel_, encode(ping)});
  }

  /// The server refused a question on a channel we have joined.
  void step_aside(const Failure& failure, Instant now, Actions& out) {
    if (!is_transient(failure.code)) return finish(Result::failed, failure, out);
    note_trouble(failure.text);
    rest(std::min(request_.check_interval, lag_of_old_peers), now);
  }

  /// Somebody asks who is joined: he stands for election, as if he had answered (R6).
  void remember(const Ping& ping) {
    if (ping.sublock && ping.mode != HolderMode::pending) return;
    // One who pings in our name is not us, and has no place in an order of ids.
    const bool placed = ping.sublock && ping.from.holder_id != identity_.holder_id;
    placed ? heard_.note(ping.from) : heard_.note_unknown();
  }

  // --- from outside ------------------------------------------------------------------------------

  /// Begins outside, behind whoever waits there already.
  void queue_up(Instant now, Actions& out) {
    wait(dice_.jittered(request_.check_interval), now);
    listen_outside(out);
  }

  /// Asks where nobody counts us: who has it? And takes, or keeps, a place in the line.
  void ask_from_outside(Instant now, Actions& out) {
    census_ = {};
    asked_in_vain_ = false;
    be_patient(now, patience_outside());
    Ping ping = own_ping(inbox_);
    ping.waiting = true;
    out.emplace_back(action::Ping{identity_.channel, inbox_, encode(ping)});
  }

  /// What an inbox has told: whether to go in. Unasked one does so only once in a while.
  void decide_outside(Actions& out) {
    const bool free = census_.standing() == Census::Standing::complete && !is_contended(census_);
    if (free && std::exchange(eager_, false)) come_in(out);
  }

  /// With what a hint has told of the line; whatever was told before is past.
  void come_in(Actions& out, std::vector<std::string> line = {}) {
    line_ = std::move(line);
    timers_.disarm_steps();
    start_try(out);
  }

  /// There are more in the line than we knew of.
  void learn(const std::vector<std::string>& more) {
    if (line_.size() <= record::list_max) line_.insert(line_.end(), more.begin(), more.end());
  }

  /// Somebody has it, or is inside and will find out, or the answers may be late. All else needs a look from
  /// inside.
  void wait_on(Instant now, Actions& out) {
    eager_ = true;
    const bool late = is_late();
    if (inbox_.empty() || !(late || is_contended(census_))) return come_in(out);
    timers_.arm(Timer::again, saturating_add(now, dice_.jittered(request_.check_interval)));
    // One more question would only make the answers later still; a look at the count disturbs nobody.
    if (late) return out.push_back(action::Count{identity_.channel});
    ask_from_outside(now, out);
  }

  /// Answers from inside are missing, and may still come.
  [[nodiscard]] bool is_late() const {
    const bool complete = census_.standing() == Census::Standing::complete;
    return timers_.armed(Timer::patience) && !complete && !is_contended(census_);
  }

  /// Goes in when it is time to look again: those who wait for the same answers don't do so all at once.
  void wait_in_vain() { asked_in_vain_ = true; }

  /// What is left of the patience is for the same question from inside.
  [[nodiscard]] Duration patience_outside() const {
    return request_.unavailable_timeout - recount_interval();
  }

  /// Something has come in, so what is missing may only be late: whoever waits outside, or is about to take a
  /// life, begins to wait anew. A first question from inside does not, for it may have to be put again and
  /// again where others come and go.
  void stay_patient(Instant now) {
    if (!timers_.armed(Timer::patience)) return;
    if (phase_ == Phase::waiting) be_patient(now, patience_outside());
    if (!suspects_.empty()) be_patient(now);
  }

  /// Our own question has come back.
  void hear_echo(Instant now) {
    stay_patient(now);
    census_.hear_echo();
  }

  /// What arrives where only we are asked to listen: an answer, a hint, or the question of one who looks on.
  void hear_answer(std::string_view payload, Instant now, Actions& out) {
    Holder answer = decode_reply(payload);
    if (answer.legacy) {
      if (auto hint = decode_hint(payload)) return heed(std::move(*hint), now, out);
      if (const auto ping = decode_ping(payload); ping && ping->is_roll_call())
        return introduce(*ping, now, out);
    }
    const bool weighs = phase_ == Phase::probing || phase_ == Phase::examining || phase_ == Phase::waiting;
    if (!weighs) return;
    const std::size_t before = census_.answers().size();
    census_.add(std::move(answer));
    if (census_.answers().size() > before) stay_patient(now);
  }

  /// Tells somebody who will decide nothing by it that we wait, and for how long.
  void introduce(const Ping& asked, Instant now, Actions& out) const {
    const bool goes_round = asked.response_channel == identity_.channel || asked.response_channel == inbox_;
    if (phase_ != Phase::waiting || goes_round) return;
    out.emplace_back(
        action::Publish{asked.response_channel, encode_reply(describe_self(mode(), asked, now))});
  }

  /// A hint costs a look at most.
  void heed(Hint hint, Instant now, Actions& out) {
    asked_in_vain_ = false;
    if (phase_ == Phase::waiting) return come_in(out, std::move(hint.queue));
    watch_ = first_rest;
    if (phase_ == Phase::resting) recount(now, out);
  }

  // --- standing first in line --------------------------------------------------------------------

  /// An owner has told us, a writer, that we come next.
  [[nodiscard]] bool is_to_succeed() const {
    return request_.mode == LockMode::exclusive && may_wait() && census_.any_of([](const Holder& answer) {
      return answer.mode == HolderMode::exclusive && answer.next;
    });
  }

  /// Stays on the channel, for the owner will hand us the lock there (R10). A killed owner won't: we alone
  /// watch closely whether he is still there.
  void stand_ready(Instant now) {
    note_blockers();
    trouble_ = {};
    succeeding_ = true;
    Duration held = Duration::zero();
    for (const Holder& blocker : blockers_)
      held = std::max<Duration>(held, blocker.held_for.value_or(std::chrono::milliseconds(0)));
    watch_ = std::clamp<Duration>(held / 50, first_watch, std::max(first_watch, request_.check_interval));
    watch(now);
  }

  /// Stays on the channel and asks again in a while; until then a look at the count, which disturbs nobody,
  /// tells whether everybody else has gone.
  void watch(Instant now) {
    rest(request_.check_interval, now);
    timers_.arm(Timer::recount, saturating_add(now, watch_));
  }

  /// Has somebody gone? Asked while answers are missing, soon and then less and less often, and by one who
  /// watches.
  void recount(Instant now, Actions& out) {
    if (phase_ != Phase::probing && phase_ != Phase::resting) return;
    out.emplace_back(action::Count{identity_.channel});
    const bool rests = phase_ == Phase::resting;
    Duration& pause = rests ? watch_ : recount_;
    pause = rests ? next_watch() : std::min(recount_ * 2, recount_interval());
    timers_.arm(Timer::recount, saturating_add(now, pause));
  }

  /// The longer it has lasted, the longer it may last still.
  [[nodiscard]] Duration next_watch() const {
    const Duration longer = succeeding_ ? watch_ + watch_ / 50 : watch_ * 2;
    return std::min(longer, std::max(request_.check_interval, first_rest));
  }

  // --- looking into silence (R12) ----------------------------------------------------------------

  void ask_for_list(Instant now, Actions& out) {
    phase_ = Phase::examining;
    search_ = {};
    be_patient(now);
    out.emplace_back(action::List{});
  }

  /// Before anybody is taken for a stranger: which of the ears that locks share are here?
  void look_for_ears(const std::vector<Connection>& connections, Instant now, Actions& out) {
    search_ = EarSearch(identity_.channel, ear_, connections);
    if (search_.too_many()) {
      note_trouble(describe_silence(census_) + ", and there are too many shared ears to look for them");
      return step_back(now, out);
    }
    if (search_.pending()) be_patient(now);
    for (const std::string& mark : search_.marks()) out.emplace_back(action::Count{mark});
  }

  /// The server won't tell or won't kill, so nobody can know.
  void look_in_vain(const event::Refused& refused, Instant now, Actions& out) {
    if (phase_ != Phase::examining && phase_ != Phase::killing) return;
    if (refused.verb == Verb::count && !search_.pending()) return;  // one of before
    refusal_ = refused.failure;
    note_silence();
    step_back(now, out);
  }

  /// Everybody named for this channel has answered, so the rest own nothing.
  void dismiss_strangers(Actions& out) {
    census_.discount_strangers();
    phase_ = Phase::probing;
    timers_.disarm_steps();
    if (census_.strangers() > 0 && strangers_.empty()) {
      strangers_ = describe_strangers(census_);
      out.emplace_back(action::Warn{strangers_, Warning::stranger});
    }
    trouble_ = {};
  }

  void kill_the_silent(Instant now, Actions& out) {
    if (suspects_.empty()) return start_over(out);
    action::Kill kill;
    for (const Diagnosis::Suspect& suspect : suspects_) kill.ids.push_back(suspect.connection_id);
    phase_ = Phase::killing;
    timers_.disarm_steps();
    be_patient(now);
    out.emplace_back(std::move(kill));
  }

  /// They are gone: now to ask those who are left.
  void bury(Actions& out) {
    out.emplace_back(action::Warn{describe_kill(std::exchange(suspects_, {})), Warning::reaped});
    start_over(out);
  }

  std::vector<std::string> line_;  // who waits, as the one before us had it
  bool eager_ = true;              // may go in unasked, where it looks as if the lock could be had
  bool keeps_channel_ = false;     // true only where R5 is switched off
};

}  // namespace sublock::core
