// SPDX-License-Identifier: MIT
#pragma once

// The moves of one who has the lock: drawing a fencing token, and checking that the lock still is his. On
// the way there he is an attempt; which move is made when is decided in participant.hpp.

#include <sublock/core/attempt.hpp>
#include <sublock/core/wire.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace sublock::core {

class Hold : public Attempt {
 public:
  /// Holding, but not to be called so until a check has come back.
  [[nodiscard]] bool doubtful() const { return holds() && !doubt_.empty(); }
  /// Of the present hold, or of the one that was lost; none while it is only on its way.
  [[nodiscard]] std::optional<std::int64_t> fence_token() const {
    return holds() || result_ == Result::lost ? fence_token_ : std::nullopt;
  }

  [[nodiscard]] std::string state_key() const {
    return Attempt::state_key() + (doubtful() ? 'd' : '-') + (check_nonce_.empty() ? '-' : 'c');
  }

 protected:
  using Attempt::Attempt;

  /// The lock is ours as far as anybody can tell; the caller gets it with its token, if there is to be one.
  void take(Instant now, Actions& out) {
    if (!request_.fencing) return hold(now);
    phase_ = Phase::fencing;
    timers_.disarm_steps();
    be_patient(now);
    out.emplace_back(action::Increment{fence_key(identity_.channel)});
  }

  void hold(Instant now) {
    phase_ = Phase::holding;
    result_ = Result::acquired;
    held_since_ = now;
    timers_ = {};
    elected_ = request_.mode == LockMode::exclusive;
    doubt_.clear();
    check_nonce_.clear();
    schedule_check(now);
  }

  void schedule_check(Instant now) {
    if (request_.self_check_interval == Duration::zero()) return;
    timers_.arm(Timer::again, saturating_add(now, request_.self_check_interval));
  }

  /// Publishes on the own channel what only the own ear will heed (R11).
  void check_self(Instant now, Duration patience, Actions& out) {
    check_nonce_ = dice_.fresh_id();
    timers_.disarm_steps();
    timers_.arm(Timer::patience, saturating_add(now, patience));
    out.emplace_back(action::Publish{identity_.channel, encode_check(check_nonce_)});
  }

  void pass_check(Instant now) {
    check_nonce_.clear();
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

  std::string doubt_;        // why the lock may not be called held just now
  std::string check_nonce_;  // of the check that is under way
  std::optional<std::int64_t> fence_token_;
};

}  // namespace sublock::core
