// SPDX-License-Identifier: MIT
#pragma once

// The owner of a key with a short lease, as a state machine: event and time in, actions out; no I/O, no thread,
// no clock. Redis says whose the key is and forgets it when the lease is over; what we may believe ends no later
// than that, for it is counted from before the command was sent.

#include <sublock/core/lease/attempt.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sublock::core::lease {

class Leaseholder : public Attempt {
 public:
  /// `dice` are thrown for the names of takes, and for jitter.
  Leaseholder(std::string key, Dice dice) : Attempt(std::move(key), dice) {}

  // --- what the caller wants ---------------------------------------------------------------------

  /// Starts an attempt. Only while idle.
  void acquire(const Request& request, Instant now, Actions& out) {
    request_ = request;
    started_ = now;
    deadline_ = request.deadline;
    phase_ = Phase::opening;
    out.emplace_back(action::Open{});
  }

  /// Gives the key back. False where the lock is not held: never was, or has been lost.
  bool release(Instant now, Actions& out) {
    if (phase_ == Phase::holding && now >= confirmed_until_) expire(out);
    if (phase_ != Phase::holding) return false;
    drop(Result::released, out);
    return true;
  }

  /// Gives up, if that is not too late.
  void cancel(Actions& out) {
    if (is_trying()) finish(Result::cancelled, {Errc::cancelled, "the wait was cancelled"}, out);
  }

  /// Stops waiting for the server's answers: what it has not heard of expires.
  void abandon(Actions& out) {
    if (phase_ == Phase::idle) return;
    out.emplace_back(action::Close{});
    end(phase_ == Phase::dropping && after_ != Result::released ? after_ : Result::lost);
  }

  // --- what happens ------------------------------------------------------------------------------

  void on(const Event& event, Instant now, Actions& out) {
    std::visit([&](const auto& happened) { this->handle(happened, now, out); }, event);
  }

  /// When `tick` has something to do.
  [[nodiscard]] std::optional<Instant> next_due() const {
    Instant due = again_;
    if (phase_ == Phase::holding) due = std::min(due, confirmed_until_);
    if (is_trying()) due = std::min(due, deadline_);
    return due == Instant::max() ? std::nullopt : std::optional(due);
  }

  /// Does what is due.
  void tick(Instant now, Actions& out) {
    if (phase_ == Phase::holding && now >= confirmed_until_) return expire(out);
    if (is_trying() && now >= deadline_) return run_out_of_time(now, out);
    if (now < again_) return;
    again_ = Instant::max();
    switch (phase_) {
      case Phase::opening: return out.emplace_back(action::Open{}), void();
      case Phase::waiting: return unsure_ ? look(out) : take(now, out);
      case Phase::proving: return prove(now, out);
      case Phase::holding: return extend(now, out);
      case Phase::dropping: return drop(after_, out);
      default: return;
    }
  }

  /// Nothing is left to decide once everything that has arrived is told.
  static void decide(Instant, Actions&) {}

 private:
  // --- events ------------------------------------------------------------------------------------

  void handle(const event::Opened&, Instant now, Actions& out) {
    contacted_ = true;
    if (phase_ == Phase::opening) unsure_ ? look(out) : take(now, out);
  }

  void handle(const event::Keyed& keyed, Instant now, Actions& out) {
    switch (keyed.verb) {
      case Verb::take:
        if (phase_ != Phase::taking) return;
        if (keyed.was_stale)
          out.push_back(action::Warn{"taken over from one who left it without an expiry", Warning::reaped});
        return keyed.done ? begin(now, out) : look(out);
      case Verb::extend: return hear_of_extension(keyed.done, now, out);
      case Verb::drop:
        if (phase_ != Phase::dropping) return;
        if (!keyed.done && after_ == Result::released)
          failure_ = {Errc::lost, "the key was not ours any more"};
        return end(!keyed.done && after_ == Result::released ? Result::lost : after_);
      default: return;
    }
  }

  void handle(const event::Looked& found, Instant now, Actions& out) {
    if (phase_ != Phase::looking) return;
    const bool ours = found.type == "string" && found.value.starts_with(mark_);
    if (ours) return prove(now, out);
    unsure_ = false;
    if (found.type == "none") {
      if (request_.once && std::exchange(tried_twice_, true)) return finish(Result::busy, {}, out);
      return take(now, out);
    }
    blocker_ = found;
    trouble_ = {};
    if (found.type != "string") {
      return finish(Result::failed,
                    {Errc::protocol, "there is something else than a lock under the key, of type " +
                                         found.type + "; use another key, or delete it"},
                    out);
    }
    if (request_.once || tried_last_) return finish(Result::busy, {}, out);
    // Whoever gave it back before we listened has told nobody: hence one more try once we do.
    if (!std::exchange(hears_, true)) out.emplace_back(action::Hear{identity_.key});
    if (rang_) return take(now, out);
    wait(std::min(dice_.jittered(look_interval), found.left.value_or(look_interval) + tick_of_ttl), now);
  }

  void handle(const event::Listening&, Instant now, Actions& out) { ring(now, out); }

  /// It may be free. Answers come another way, and may tell of before.
  void ring(Instant now, Actions& out) {
    if (phase_ == Phase::waiting && !unsure_) return take(now, out);
    rang_ = phase_ == Phase::taking || phase_ == Phase::looking;
  }

  /// Nobody but the server knows whether it is true.
  void handle(const event::Message& message, Instant now, Actions& out) {
    const bool tells = message.channel == release_channel(identity_.key) || message.payload == "del" ||
                       message.payload == "expired" || message.payload == "evicted";
    if (tells) ring(now, out);
  }

  void handle(const event::Incremented& incremented, Instant now, Actions& out) {
    if (phase_ != Phase::proving) return;
    token_ = incremented.value;
    hold_if_proven(now, out);
  }

  void handle(const event::Refused& refused, Instant now, Actions& out) {
    const bool transient = is_transient(refused.failure.code);
    switch (refused.verb) {
      case Verb::take:
        if (phase_ != Phase::taking) return;
        if (!transient) return finish(Result::failed, refused.failure, out);
        unsure_ = refused.failure.code == Errc::connect;  // it may have been done, and the answer lost
        return try_later(refused.failure, now, out);
      case Verb::look:
        if (phase_ != Phase::looking) return;
        if (transient) return try_later(refused.failure, now, out);
        unsure_ = false;  // nobody will ever tell
        return try_later({Errc::busy, "whose it is can't be told: " + refused.failure.text}, now, out);
      case Verb::extend: --extensions_; [[fallthrough]];
      case Verb::increment:
        if (phase_ == Phase::proving && !transient) return finish(Result::failed, refused.failure, out);
        if (phase_ != Phase::proving && phase_ != Phase::holding) return;
        trouble_ = refused.failure;
        again_ = saturating_add(now, pause_before_retry(now));
        return;
      case Verb::drop:
        if (phase_ != Phase::dropping) return;
        trouble_ = refused.failure;
        if (!transient && after_ == Result::released) failure_ = {Errc::lost, refused.failure.text};
        if (!transient) return end(after_ == Result::released ? Result::lost : after_);
        again_ = saturating_add(now, retry_interval / 10);
        return;
      case Verb::listen:
        hears_ = hears_ && !transient;
        if (std::exchange(warned_, true)) return;
        out.emplace_back(action::Warn{"nobody can tell us when it is free: " + refused.failure.text});
        return;
      default: return;
    }
  }

  void handle(const event::Reminded&, Instant now, Actions& out) { tick(now, out); }

  void handle(const event::Doubted&, Instant now, Actions& out) {
    doubted_ = true;
    if (phase_ == Phase::proving) return prove(now, out);
    if (phase_ != Phase::holding) return;
    now >= confirmed_until_ ? expire(out) : extend(now, out);
  }

  void handle(const event::Lost& lost, Instant now, Actions& out) {
    if (phase_ == Phase::holding) return lose(lost.failure.text, out);
    if (phase_ == Phase::dropping) return end(after_ == Result::released ? Result::lost : after_);
    if (phase_ == Phase::idle) return;
    // Nothing that was asked before is answered any more; what has become of a take, a look will tell.
    unsure_ = unsure_ || phase_ == Phase::taking || phase_ == Phase::proving;
    extensions_ = 0;
    hears_ = false;
    phase_ = Phase::opening;
    const bool never_reached = !contacted_ && now - started_ >= first_contact;
    if (!is_transient(lost.failure.code) || never_reached) return finish(Result::failed, lost.failure, out);
    trouble_ = lost.failure;
    again_ = saturating_add(now, dice_.jittered(retry_interval));
  }

  /// All else is about channels.
  void handle(const auto&, Instant, Actions&) {}

  /// The answers come in the order of the questions; only that to the latest one tells of `sent_at_`, and how
  /// things are after a pause.
  void hear_of_extension(bool done, Instant now, Actions& out) {
    const bool latest = --extensions_ == 0;
    if (phase_ == Phase::proving) {
      if (!done)
        return fail_the_proof({Errc::busy, "the key was taken away before it could be kept"}, now, out);
      if (!latest) return;
      confirmed_until_ = saturating_add(sent_at_, request_.expire);
      proven_ = true;
      return hold_if_proven(now, out);
    }
    if (phase_ != Phase::holding) return;
    if (!done) return lose("the key is gone, or somebody else's", out);
    if (!latest) return;
    doubted_ = false;
    trouble_ = {};
    confirmed_until_ = saturating_add(sent_at_, request_.expire);
    again_ = saturating_add(sent_at_, request_.interval);
  }
};

}  // namespace sublock::core::lease
