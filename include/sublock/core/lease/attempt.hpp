// SPDX-License-Identifier: MIT
#pragma once

// The state of one who wants a key with a short lease, and each of its moves: taking, looking, proving,
// extending, dropping. Which move follows on what is decided in leaseholder.hpp.

#include <sublock/core/dice.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/lease/action.hpp>
#include <sublock/core/lease/value.hpp>
#include <sublock/core/request.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core::lease {

/// Whose key it is.
struct Identity {
  std::string key;
  std::string uuid;
};

/// What one attempt, and the hold after it, is to keep to.
struct Request {
  Instant deadline = Instant::max();
  Duration expire = std::chrono::seconds(2);    ///< what the server is told, each time
  Duration interval = std::chrono::seconds(1);  ///< between two extensions; less than `expire`
  bool fencing = false;                         ///< draw a token before the lock counts as held
  bool once = false;                            ///< don't wait
  std::string server = "the server";            ///< as errors call it
};

enum class Phase : std::uint8_t {
  idle,      ///< not trying
  opening,   ///< waiting for a connection
  taking,    ///< waiting to hear whether the key is ours now
  looking,   ///< it is not, or nobody knows: waiting to hear whose it is
  waiting,   ///< it is somebody else's; will try again in a moment
  proving,   ///< waiting to hear that it is ours still, and for the token
  holding,   ///< has the lock
  dropping,  ///< waiting to hear that the key is gone
};

class Attempt {
 public:
  using Actions = std::vector<Action>;

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool holds() const { return phase_ == Phase::holding; }
  [[nodiscard]] Result result() const { return result_; }
  [[nodiscard]] const Failure& failure() const { return failure_; }
  [[nodiscard]] const Identity& identity() const { return identity_; }
  [[nodiscard]] const std::string& mark() const { return mark_; }
  /// How it stands with an attempt that has ended: what went wrong, and what there was under the key at the last
  /// look that found it taken.
  struct Report {
    Failure failure;
    std::optional<event::Looked> blocker;
  };
  [[nodiscard]] Report report() const { return {failure_, blocker_}; }
  /// Until when the server keeps the key for us, at least.
  [[nodiscard]] Instant confirmed_until() const { return confirmed_until_; }
  /// What was drawn for this hold; empty without `fencing`.
  [[nodiscard]] std::optional<std::int64_t> fence_token() const { return holds() ? token_ : std::nullopt; }

  /// Held, but it may not be said so: the last confirmation is too old, or the process stood still since.
  [[nodiscard]] bool doubtful(Instant now) const { return holds() && (doubted_ || now >= confirmed_until_); }

  /// Trying for the lock, and not yet done.
  [[nodiscard]] bool is_trying() const {
    return phase_ != Phase::idle && phase_ != Phase::holding && phase_ != Phase::dropping;
  }

 protected:
  /// Between two looks of one who waits, at most: not everybody says that he gives it back.
  static constexpr Duration look_interval = std::chrono::milliseconds(500);
  /// Until what failed is tried once more, at most.
  static constexpr Duration retry_interval = std::chrono::milliseconds(250);
  static constexpr Duration shortest_retry = std::chrono::milliseconds(10);
  /// How long a last try may take, that begins when the time is over.
  static constexpr Duration last_grace = std::chrono::milliseconds(50);
  /// How long to go on against a server that has never once answered this object.
  static constexpr Duration first_contact = std::chrono::seconds(5);
  /// A TTL is told in whole ones.
  static constexpr Duration tick_of_ttl = std::chrono::milliseconds(1);

  Attempt(std::string key, Dice dice) : identity_{std::move(key), {}}, dice_(dice) { renew_mark(); }

  // --- on the way to the lock --------------------------------------------------------------------

  void take(Instant now, Actions& out) {
    renew_mark();  // a command that was given up, and is carried out late, must not look like this one
    phase_ = Phase::taking;
    doubted_ = rang_ = false;
    again_ = Instant::max();
    sent_at_ = now;
    out.emplace_back(action::Take{identity_.key, mark_, request_.expire});
  }

  void look(Actions& out) {
    phase_ = Phase::looking;
    again_ = Instant::max();
    out.emplace_back(action::Look{identity_.key});
  }

  void wait(Duration pause, Instant now) {
    phase_ = Phase::waiting;
    again_ = saturating_add(now, pause);
  }

  /// The server can't, or can't be reached, just now.
  void try_later(const Failure& failure, Instant now, Actions& out) {
    trouble_ = failure;
    phase_ = Phase::waiting;
    if (request_.once) return run_out_of_time(now, out);
    wait(dice_.jittered(retry_interval), now);
  }

  /// The key is ours; for how long it counts from when we asked.
  void begin(Instant now, Actions& out) {
    confirmed_until_ = saturating_add(sent_at_, request_.expire);
    if (now >= confirmed_until_) return fail_the_proof(too_late(), now, out);
    if (request_.fencing || doubted_) return prove(now, out);
    proven_ = true;
    hold_if_proven(now, out);
  }

  /// It is ours if it can be extended; and a token counts if that was so after it had been drawn.
  void prove(Instant now, Actions& out) {
    phase_ = Phase::proving;
    proven_ = false;
    token_.reset();
    again_ = Instant::max();
    doubted_ = false;
    if (request_.fencing) out.emplace_back(action::Increment{fence_key(identity_.key)});
    send_extension(now, out);
  }

  void hold_if_proven(Instant now, Actions& out) {
    if (!proven_ || (request_.fencing && !token_)) return;
    if (now >= confirmed_until_) return fail_the_proof(too_late(), now, out);
    phase_ = Phase::holding;
    result_ = Result::acquired;
    unsure_ = false;
    trouble_ = {};
    again_ = saturating_add(sent_at_, request_.interval);
    if (std::exchange(hears_, false)) out.emplace_back(action::Deafen{});
  }

  [[nodiscard]] Failure too_late() const {
    return {Errc::connect, request_.server + " answers too late for a lease that short"};
  }

  /// It came too late, or somebody else has it already.
  void fail_the_proof(const Failure& why, Instant now, Actions& out) {
    out.emplace_back(action::Drop{identity_.key, mark_});
    unsure_ = false;
    trouble_ = why;
    if (request_.once) return run_out_of_time(now, out);
    wait(dice_.jittered(retry_interval), now);
  }

  // --- while it is held --------------------------------------------------------------------------

  void extend(Instant now, Actions& out) {
    again_ = Instant::max();
    send_extension(now, out);
  }

  void send_extension(Instant now, Actions& out) {
    ++extensions_;
    sent_at_ = now;
    out.emplace_back(action::Extend{identity_.key, mark_, request_.expire});
  }

  /// The sooner the lease ends, the sooner what failed is tried again.
  [[nodiscard]] Duration pause_before_retry(Instant now) const {
    if (phase_ != Phase::holding) return retry_interval;
    return std::clamp<Duration>((confirmed_until_ - now) / 4, shortest_retry, retry_interval);
  }

  void expire(Actions& out) {
    const std::string why = trouble_.text.empty() ? "no answer from " + request_.server : trouble_.text;
    lose("its lease could not be extended in time: " + why, out);
  }

  void lose(const std::string& why, Actions& out) {
    out.emplace_back(
        action::Drop{identity_.key, mark_});  // should it be there still, nobody need wait for it
    failure_ = {Errc::lost, why};
    end(Result::lost);
  }

  // --- the end -----------------------------------------------------------------------------------

  void drop(Result then, Actions& out) {
    phase_ = Phase::dropping;
    after_ = then;
    again_ = Instant::max();
    out.emplace_back(action::Drop{identity_.key, mark_});
    out.emplace_back(action::Publish{release_channel(identity_.key), {}});
  }

  /// Once more when the time is over, for it may have become free since the last look.
  void run_out_of_time(Instant now, Actions& out) {
    const bool may_try = phase_ == Phase::waiting && !unsure_ && !request_.once;
    if (may_try && !std::exchange(tried_last_, true)) {
      deadline_ = saturating_add(now, last_grace);
      return take(now, out);
    }
    if (trouble_.text.empty() && !blocker_)
      trouble_ = {Errc::connect, request_.server + " did not answer in time"};
    if (trouble_.text.empty() || trouble_.code == Errc::busy) return finish(Result::busy, trouble_, out);
    finish(Result::failed, Failure(trouble_), out);
  }

  /// Ends the attempt from wherever it is, and leaves no key behind.
  void finish(Result result, const Failure& failure, Actions& out) {
    failure_ = failure;
    if (phase_ == Phase::opening) {  // there is nobody to tell; what may be ours expires
      out.emplace_back(action::Close{});
      return end(result);
    }
    const bool may_be_ours = unsure_ || phase_ == Phase::taking || phase_ == Phase::proving;
    may_be_ours ? drop(result, out) : end(result);
  }

  void end(Result result) {
    phase_ = Phase::idle;
    result_ = result;
    again_ = Instant::max();
  }

  // --- small helpers -----------------------------------------------------------------------------

  [[nodiscard]] static bool is_transient(Errc code) { return code == Errc::connect || code == Errc::busy; }

  void renew_mark() {
    identity_.uuid = uuid_of(dice_.fresh_id());
    mark_ = mark_of(identity_.uuid);
  }

  Identity identity_;
  Dice dice_;
  std::string mark_;
  Request request_;
  Phase phase_ = Phase::idle;
  Result result_ = Result::none;
  Result after_ = Result::none;
  Instant started_;
  Instant deadline_ = Instant::max();
  Instant again_ = Instant::max();
  Instant sent_at_;          // the last command on which the confirmation rests
  Instant confirmed_until_;  // holds only before that
  bool contacted_ = false;   // the server has answered this object at least once
  bool hears_ = false;       // of the key being given back
  bool rang_ = false;        // it was, or may have been, since the last take
  bool warned_ = false;      // that nobody tells us
  bool unsure_ = false;      // a take was sent, and nobody knows what became of it
  bool proven_ = false;
  bool doubted_ = false;  // the process stood still, and nothing has come back since
  bool tried_last_ = false;
  bool tried_twice_ = false;
  int extensions_ = 0;  // asked for and not answered
  std::optional<std::int64_t> token_;
  std::optional<event::Looked> blocker_;
  Failure trouble_;  // of the last thing that failed; empty once something has worked
  Failure failure_;
};

}  // namespace sublock::core::lease
