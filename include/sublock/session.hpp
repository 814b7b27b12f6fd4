// SPDX-License-Identifier: MIT
#pragma once

// Where a player of either protocol meets a transport: events and time become steps, and steps actions. Knows when
// to wait and for how long, and nothing of what the protocol decides, nor of what users call.

#include <sublock/attendance.hpp>
#include <sublock/bury.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/request.hpp>
#include <sublock/explain_lease.hpp>
#include <sublock/loss_notice.hpp>
#include <sublock/perform.hpp>
#include <sublock/policies.hpp>
#include <sublock/witness.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock {

/// One lock object's place on one connection, for one attempt and the hold after it: `Line`, on which
/// `Player`, a state machine, plays its part. `acquire` and `release` are called once each, by one thread at a
/// time; the keeper may step in between.
template <class Transport, class Line, class Player, ClockPolicy Clock>
class Session final : private core::Listener {
 public:
  /// `notice` and `observer` must outlive the session.
  Session(std::shared_ptr<Transport> transport, Player player, Clock clock, LossNotice& notice,
          const Observer& observer)
      : transport_(std::move(transport)),
        player_(std::move(player)),
        clock_(std::move(clock)),
        notice_(notice),
        witness_(observer) {}

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Drops the ear, if there is one still.
  ~Session() {
    if (transport_->foreign()) {
      // A forked child has neither the keeper nor, maybe, the mutex: it must not touch the line.
      bury(std::move(line_));
      return;
    }
    const std::lock_guard lock(transport_->mutex());
    line_.reset();
  }

  /// How an attempt ended, copied out of the state that may change once the mutex is free.
  struct Outcome {
    core::Result result = core::Result::none;
    typename Player::Report report;
    std::vector<std::string> warnings;
  };

  /// Tries until the request's deadline, plus at most `polite_grace` for leaving the channel.
  Outcome acquire(const auto& request, const std::stop_token& stop) {
    std::unique_lock lock(transport_->mutex());
    line_ = std::make_unique<Line>(transport_, static_cast<core::Listener&>(*this));
    witness_.begin(player_, request, clock_.now());
    player_.acquire(request, clock_.now(), actions_);
    std::optional<Instant> limit;
    run(lock, stop, [&] {
      if (!limit) limit = polite_limit(request.deadline);
      return *limit;
    });
    const bool holds = player_.holds() || player_.result() == core::Result::lost;
    if (!holds) witness_.fail(player_, clock_.now());
    if (!holds) line_.reset();
    return {holds ? core::Result::acquired : player_.result(), player_.report(),
            std::exchange(warnings_, {})};
  }

  /// Gives the lock back and waits for the confirmation until nothing has been heard for `at_most`, and not longer
  /// than `patience` times that; then drops the connection.
  /// False where the lock had been lost, or where nobody confirmed that it was still ours.
  bool release(Duration at_most) {
    std::unique_lock lock(transport_->mutex());
    const bool held = player_.holds();
    bool kept = player_.release(clock_.now(), actions_);
    const bool asked = kept;
    if (kept) {
      heard_at_ = clock_.now();
      const Instant last =
          core::saturating_add(heard_at_, std::min(at_most, Duration::max() / patience) * patience);
      const auto limit = [&] { return std::min(core::saturating_add(heard_at_, at_most), last); };
      kept = run(lock, {}, limit) && player_.result() == core::Result::released;
    } else {
      perform();
    }
    if (held && !kept) {
      const std::string& why = player_.failure().text;
      const std::string unconfirmed = asked ? "the server did not confirm the release" : "";
      tell_loss(unconfirmed + (asked && !why.empty() ? ": " : "") + why);
    }
    if (kept) witness_.release(player_, clock_.now());
    line_.reset();
    return kept;
  }

  /// Tells the observer what there is to tell: here the user's code runs, without the mutex.
  void tell_news() {
    std::unique_lock lock(transport_->mutex());
    tell_news(lock);
  }

  /// What `look` sees of the participant, under the mutex.
  [[nodiscard]] auto inspect(auto look) const {
    const std::lock_guard lock(transport_->mutex());
    return look(player_);
  }

  /// Held, but it may not be said so.
  [[nodiscard]] bool doubtful() const {
    if (transport_->stalled()) return true;  // needs no mutex
    const std::lock_guard lock(transport_->mutex());
    return is_in_doubt();
  }

  [[nodiscard]] const std::shared_ptr<Transport>& transport() const { return transport_; }

 private:
  /// A server that is busy with others is not gone.
  static constexpr int patience = 4;
  /// Leaving politely may take this much longer than the caller's deadline.
  static constexpr Duration polite_grace = std::chrono::milliseconds(5);
  /// Or this long after a stop was asked for.
  static constexpr Duration polite_patience = std::chrono::milliseconds(100);

  void on_event(const core::Event& event) override {
    if (std::holds_alternative<core::event::Reminded>(event)) reminder_.reset();
    step([&](Instant now) {
      if (is_from_the_server(event)) heard_at_ = now;
      player_.on(event, now, actions_);
    });
    perform();
    if (player_.holds()) ask_for_reminder();
  }

  [[nodiscard]] static bool is_from_the_server(const core::Event& event) {
    namespace happened = core::event;
    return !std::holds_alternative<happened::Reminded>(event) &&
           !std::holds_alternative<happened::Doubted>(event) &&
           !std::holds_alternative<happened::Refused>(event) &&
           !std::holds_alternative<happened::Lost>(event);
  }

  /// One move of the player, and what others must learn of it at once.
  void step(auto move) {
    const bool held = player_.holds();
    const Instant now = clock_.now();
    move(now);
    witness_.look(player_, actions_, now);
    if (held && player_.result() == core::Result::lost) tell_loss(player_.failure().text);
  }

  void tell_loss(const std::string& why) {
    witness_.lose(player_, why, clock_.now());
    notice_.tell(LockLost(explain_loss(player_.identity(), why)), witness_.telling());
  }

  void tell_news(std::unique_lock<std::mutex>& lock) {
    const auto telling = witness_.telling();
    if (!telling) return;
    lock.unlock();
    telling();
    lock.lock();
  }

  /// After the process stood still, nobody may be told that he holds before somebody has looked.
  [[nodiscard]] bool is_in_doubt() const { return transport_->stalled() || player_.doubtful(clock_.now()); }

  /// Steps until the player is at rest, holding or idle. False where it had not left the channel by
  /// the limit that `limit_of_leaving` gives while the outcome is known; its connection is then dropped.
  bool run(std::unique_lock<std::mutex>& lock, std::stop_token stop, auto limit_of_leaving) {
    constexpr auto idle = decltype(player_.phase())::idle;
    std::optional<Attendance<Line>> attendance(std::in_place, *line_);
    std::optional<Instant> limit;  // while it is leaving
    const auto move_on = [&] {
      step([&](Instant then) {
        if (stop.stop_requested()) {
          player_.cancel(actions_);
          stop = {};  // heard; the rest is waiting for the good-bye
        }
        player_.decide(then, actions_);
        player_.tick(then, actions_);
        player_.decide(then, actions_);
      });
    };
    for (;;) {
      perform();
      if (witness_.has_news() && Witness::waits(player_)) {
        attendance.reset();  // the keeper reads meanwhile
        tell_news(lock);
        attendance.emplace(*line_);
        move_on();  // what has come in meanwhile has been heard, and nothing has been concluded
        perform();
      }
      if (player_.holds()) ask_for_reminder();
      if (player_.phase() == idle || (player_.holds() && !is_in_doubt())) return true;
      const Instant now = clock_.now();
      if (!player_.is_trying() && !player_.holds()) {
        limit = limit_of_leaving();
        if (now >= *limit) break;
      }
      line_->wait(lock, time_until(player_.next_due(), limit, now), stop);
      move_on();
    }
    player_.abandon(actions_);
    perform();
    return false;
  }

  static Duration time_until(std::optional<Instant> due, std::optional<Instant> limit, Instant now) {
    if (!due && !limit) return Duration::max();
    const Instant next = std::min(due.value_or(Instant::max()), limit.value_or(Instant::max()));
    return std::max(next - now, Duration::zero());
  }

  [[nodiscard]] Instant polite_limit(Instant deadline) const {
    const Instant now = clock_.now();
    const Instant patient = std::min(core::saturating_add(now, polite_patience), deadline);
    return std::max(patient, core::saturating_add(now, polite_grace));
  }

  /// Nobody waits while the lock is held: whatever is due then, the transport must remind us of.
  void ask_for_reminder() {
    const auto due = player_.next_due();
    if (due && due != reminder_) line_->remind(std::max(*due - clock_.now(), Duration::zero()));
    reminder_ = due;
  }

  void perform() {
    sublock::perform(actions_, *line_, clock_,
                     [this](const std::string& text) { warnings_.push_back(text); });
  }

  std::shared_ptr<Transport> transport_;
  Player player_;
  Clock clock_;
  LossNotice& notice_;
  std::unique_ptr<Line> line_;
  typename Player::Actions actions_;
  std::vector<std::string> warnings_;
  std::optional<Instant> reminder_;
  Instant heard_at_;  // from the server, whatever it was
  Witness witness_;
};

}  // namespace sublock
