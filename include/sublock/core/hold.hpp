// SPDX-License-Identifier: MIT
#pragma once

// The moves of one who has the lock: drawing a fencing token, checking that the lock still is his, knowing
// who comes next, and letting go. On the way there he is an attempt; which move is made when is decided in
// participant.hpp.

#include <sublock/core/asking.hpp>
#include <sublock/core/succession.hpp>
#include <sublock/core/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core {

class Hold : public Asking {
 public:
  /// Holding, but not to be called so until a check has come back.
  [[nodiscard]] bool doubtful(Instant = {}) const { return holds() && !doubt_.empty(); }

  /// How it stands with an attempt that has ended.
  struct Report {
    Failure failure;
    std::vector<Holder> blockers;
    std::string trouble;
    std::string strangers;
  };
  [[nodiscard]] Report report() const { return {failure_, blockers_, trouble_.text, strangers_}; }
  /// Of the present hold, or of the one that was lost; none while it is only on its way.
  [[nodiscard]] std::optional<std::int64_t> fence_token() const {
    return holds() || result_ == Result::lost ? fence_token_ : std::nullopt;
  }
  /// Somebody waited for the lock when it was let go.
  [[nodiscard]] bool had_company() const { return had_company_; }
  /// The lock was handed to one who stood ready, and he was still there.
  [[nodiscard]] bool has_granted() const { return has_granted_; }
  [[nodiscard]] const Succession& succession() const { return succession_; }

  /// Gives up an attempt, or does nothing where there is none.
  void cancel(Actions& out) {
    bequeath(out);
    if (is_trying()) finish(Result::cancelled, {Errc::cancelled, "the wait for it was cancelled"}, out);
  }

  [[nodiscard]] std::string state_key() const {
    std::string key = Attempt::state_key() + (doubtful() ? 'd' : '-') + (check_nonce_.empty() ? '-' : 'c');
    if (phase_ == Phase::fencing) key += fence_token_ ? 't' : '-';
    // To a reader, whoever comes next is a hint and no more.
    return owns() && request_.mode == LockMode::exclusive ? key + succession_.state_key() : key;
  }

 protected:
  using Asking::Asking;

  // --- taking it ---------------------------------------------------------------------------------

  /// The lock is ours as far as anybody can tell; the caller gets it with its token, if there is to be one.
  /// `line` is who waits for it, where we were told.
  void take(const std::vector<std::string>& line, Instant now, Actions& out) {
    succession_.follow(line, identity_.holder_id, now);
    fence_token_.reset();
    has_granted_ = false;
    if (!request_.fencing) return hold(now, out);
    phase_ = Phase::fencing;
    timers_.disarm_steps();
    be_patient(now);
    out.emplace_back(action::Increment{fence_key(identity_.channel)});
    // Commands of one mouth are executed in their order: an ear that hears this was the owner's when the
    // token was drawn, so whoever owns the lock later draws a greater one.
    publish_check(out);
  }

  /// No token, no lock; where that may pass, not now.
  void do_without(const Failure& failure, Actions& out) {
    failure_ = {failure.code, "no fencing token: " + failure.text};
    const bool again = is_transient(failure.code) && may_wait();
    leave(again ? Result::none : Result::failed, out, succession_.wake());
  }

  void wait_in_vain_for_token(Actions& out) {
    bequeath(out);
    const char* silence = fence_token_ ? " did not deliver the check of it" : " did not answer INCR";
    finish(Result::failed, {Errc::connect, "no fencing token: " + request_.server + silence + " in time"},
           out);
  }

  void hold(Instant now, Actions& out) {
    phase_ = Phase::holding;
    result_ = Result::acquired;
    held_since_ = now;
    timers_ = {};
    elected_ = request_.mode == LockMode::exclusive;
    doubt_.clear();
    check_nonce_.clear();
    schedule_check(now);
    invite(out);
  }

  // --- checking that it is still ours (R11) ------------------------------------------------------

  void schedule_check(Instant now) {
    if (request_.self_check_interval == Duration::zero()) return;
    timers_.arm(Timer::again, saturating_add(now, request_.self_check_interval));
  }

  /// Publishes on the own channel what only the own ear will heed.
  void publish_check(Actions& out) {
    check_nonce_ = dice_.fresh_id();
    out.emplace_back(action::Publish{identity_.channel, encode_check(check_nonce_)});
  }

  void check_self(Instant now, Duration patience, Actions& out) {
    timers_.disarm_steps();
    timers_.arm(Timer::patience, saturating_add(now, patience));
    publish_check(out);
  }

  /// What we have published has come back: the ear was ours until then.
  void pass_check(Instant now, Actions& out) {
    check_nonce_.clear();
    if (phase_ == Phase::fencing && fence_token_) return hold(now, out);
    if (!holds()) return;
    doubt_.clear();
    timers_.disarm_steps();
    schedule_check(now);
  }

  void fail_check(Actions& out) {
    const std::string why = doubt_.empty() ? "a check of its own channel did not come back"
                                           : doubt_ + ", and a check did not come back";
    open_ = false;
    out.emplace_back(action::Close{});
    end(Result::lost, {Errc::lost, why});
  }

  // --- who comes next ----------------------------------------------------------------------------

  /// Takes note of who waits. True if the sender of this ping is to come next.
  [[nodiscard]] bool admit(const Ping& ping, Instant now) {
    if (!ping.sublock || !ping.queue || ping.from.holder_id == identity_.holder_id) return false;
    // Before the lock is ours too: who asks while it changes hands is heard by nobody else.
    if (ping.waiting) succession_.hear_waiter(ping, now);
    if (ping.waiting) return false;
    const bool shared = request_.mode == LockMode::shared;
    if (owns() && ping.mode == HolderMode::pending)
      return succession_.hear_standing(ping, shared, now) && !shared;
    succession_.drop(ping.from.holder_id);
    return false;
  }

  /// Asks the first in line to come in and stand ready.
  void invite(Actions& out) {
    if (!owns() || request_.mode == LockMode::shared) return;
    if (auto note = succession_.invite()) publish(std::move(*note), out);
  }

  // --- letting go --------------------------------------------------------------------------------

  /// Hands the lock to the writer who stands ready, else leaves and wakes whoever waits.
  void let_go(Instant now, Actions& out) {
    const std::optional<Successor> successor = succession_.successor(now);
    had_company_ = !succession_.empty();
    if (!successor) return leave(Result::released, out, succession_.wake());
    if (request_.mode == LockMode::shared) {
      return leave(Result::released, out, {{successor->nonce, encode(Hint{HintKind::wake, {}})}});
    }
    phase_ = Phase::granting;
    after_leaving_ = Result::released;
    timers_ = {};
    grant_ = {successor->holder_id, successor->nonce, succession_.news(successor->knows)};
    out.emplace_back(action::Ping{identity_.channel, grant_.nonce, encode(grant_)});
  }

  /// The server has delivered the grant to so many, ourselves included.
  void complete_grant(std::size_t reached, Actions& out) {
    has_granted_ = reached > 1;
    if (has_granted_) return leave(Result::released, out);
    // Nobody else is there: whoever stood ready has gone.
    leave(Result::released, out, succession_.wake());
  }

  /// What was granted to us we won't have: on to those behind us.
  void pass_on(Instant now, Actions& out) {
    succession_.follow(std::exchange(line_, {}), identity_.holder_id, now);
    for (action::Note& note : succession_.wake()) publish(std::move(note), out);
  }

  /// Gives up what has been handed to us already, though nobody has been told that it is ours, or that has no
  /// token yet.
  void bequeath(Actions& out) {
    if (is_trying() && (handed_over_ || phase_ == Phase::fencing)) pass_on(started_, out);
  }

  static void publish(action::Note note, Actions& out) {
    out.emplace_back(action::Publish{std::move(note.channel), std::move(note.payload)});
  }

  Succession succession_;
  Grant grant_;  // the last one given
  bool had_company_ = false;
  bool has_granted_ = false;
  std::string doubt_;        // why the lock may not be called held just now
  std::string check_nonce_;  // of the check that is under way
  std::optional<std::int64_t> fence_token_;
};

}  // namespace sublock::core
