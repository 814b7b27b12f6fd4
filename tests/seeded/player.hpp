// SPDX-License-Identifier: MIT
#pragma once

// One who takes a lock again and again, in every way there is, and holds what happens against the promises:
// spans to the nanosecond, losses that everybody agrees on, and the referee's look at each new hold.

#include <seeded/swarm.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace sublock::testing {

template <class Election>
class Player {
 public:
  using Lock = BasicRedisLock<InMemoryTransport, Election, ClientListReaper, ManualClock>;

  Player(Stage<Election>& stage, Process<Election>& process, std::size_t number)
      : stage_(stage),
        process_(process),
        number_(number),
        chance_(stage.chance.split()),
        channel_("lock-" + std::to_string(chance_.below(stage.weather.channels))),
        owns_connection_(chance_.percent(stage.weather.owners)),
        draws_tokens_(chance_.percent(stage.weather.fencers)) {}

  /// The whole life of a player, on a thread of its own.
  void play() {
    while (!stage_.is_calm) {
      stage_.pacing->sleep(chance_.between(0ns, stage_.weather.think_max));
      if (!lock_ || has_died() || chance_.percent(3)) renew();
      if (chance_.percent(4)) {
        ask();
      } else {
        attempt(draw_attempt());
      }
    }
    if (has_died()) renew();
    while (!attempt({.mode = draw_mode(), .timeout = infinite}) && draws_tokens_) {
    }
    lock_.reset();
    ++stage_.done;
  }

  /// From outside: gives up whatever it waits for.
  void stop() { stop_.request_stop(); }

  /// The connection of its own, while it has one.
  [[nodiscard]] std::shared_ptr<InMemoryTransport> own_connection() const {
    return owns_connection_ && lock_ ? lock_->connection() : nullptr;
  }

  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  struct Plan {
    LockMode mode = LockMode::exclusive;
    Duration timeout{};
    bool fail_when_locked = false;
    std::optional<Duration> cancel_after = {};
  };

  struct Outcome {
    std::optional<Errc> failure;
    bool was_calm = false;  ///< when it began
    Duration took{};
    Duration stood_still{};  ///< meanwhile
  };

  [[nodiscard]] bool has_died() const { return life_ != process_.life; }

  LockMode draw_mode() {
    const bool reads = !draws_tokens_ && chance_.percent(stage_.weather.readers);
    return reads ? LockMode::shared : LockMode::exclusive;
  }

  Plan draw_attempt() {
    Plan plan{.mode = draw_mode()};
    if (chance_.percent(stage_.weather.patience))
      plan.timeout = chance_.between(1ns, 4 * stage_.weather.unavailable_timeout);
    plan.fail_when_locked = chance_.percent(10);
    if (chance_.percent(stage_.weather.cancels)) {
      plan.timeout = chance_.percent(50) ? infinite : Duration(5s);
      plan.cancel_after = chance_.between(0ns, stage_.weather.unavailable_timeout);
    }
    return plan;
  }

  /// A new object, maybe in a new process.
  void renew() {
    lock_.reset();
    life_ = process_.life;
    typename Lock::Options options;
    options.check_interval = stage_.weather.check_interval;
    options.unavailable_timeout = stage_.weather.unavailable_timeout;
    options.self_check_interval = stage_.weather.self_check_interval;
    options.fencing = draws_tokens_;
    options.connection = {.server = &stage_.redis};
    options.clock = stage_.clock;
    options.entropy = [this] { return core::Dice::Seed{stage_.dice.word(), stage_.dice.word()}; };
    lock_ = owns_connection_ ? std::make_unique<Lock>(channel_, options)
                             : std::make_unique<Lock>(process_.connection, channel_, options);
  }

  /// Whether it got the lock.
  bool attempt(const Plan& plan) {
    stop_ = std::stop_source();
    if (plan.cancel_after) stage_.pacing->stop_at(stage_.clock.now() + *plan.cancel_after, stop_);
    const Outcome outcome = measure([&] {
      lock_->acquire({.mode = plan.mode,
                      .timeout = plan.timeout,
                      .fail_when_locked = plan.fail_when_locked,
                      .stop = stop_.get_token()});
    });
    if (has_died()) return false;  // nobody is left who could believe anything
    check_span(plan, outcome);
    if (outcome.failure) {
      say("failed, error " + std::to_string(static_cast<int>(*outcome.failure)));
      return false;
    }
    if (plan.timeout == infinite && stage_.is_calm) {
      stage_.report.slowest = std::max(stage_.report.slowest, stage_.clock.now() - stage_.calm_since);
    }
    hold(plan.mode);
    release();
    return true;
  }

  void hold(LockMode mode) {
    ++stage_.report.acquisitions;
    say(std::string(mode == LockMode::shared ? "reads" : "writes") + (lock_->lost() ? ", lost already" : ""));
    hold_ = {channel_, ears_of(channel_, lock_->client_name(), stage_.redis.connections()),
             mode == LockMode::shared};
    const auto seat = stage_.referee.enters(hold_, [this] { return lock_->lost() || has_died(); });
    if (const auto overlap = stage_.referee.look(stage_.redis)) stage_.accuse(*overlap);
    if (draws_tokens_) check_token();
    const Instant end = stage_.clock.now() + chance_.between(0ns, stage_.weather.hold_max);
    do {
      check_standing();
      const Duration left = end - stage_.clock.now();
      stage_.pacing->sleep(chance_.between(0ns, std::max(left, Duration(1ns))));
    } while (stage_.clock.now() < end && !lock_->lost() && !has_died());
    check_standing();
    stage_.referee.leaves(seat);
  }

  void release() {
    bool kept = false;
    const Outcome outcome = measure([&] { kept = lock_->release(); });
    if (has_died()) return;
    say(kept ? "gives it back" : "has lost it");
    if (!kept) ++stage_.report.losses;
    if (kept == lock_->lost()) accuse("a release and lost() do not agree");
    if (lock_->held()) accuse("held after a release");
    // As long as anything is heard, and not for ever.
    if (outcome.took > 4 * stage_.weather.unavailable_timeout + outcome.stood_still) {
      accuse("a release took " + text_of(outcome.took));
    }
    // Where an earlier attempt is still on its way, nobody can tell which of the two ears is counted.
    if (kept && hold_.ears.size() == 1 && is_counted()) accuse("given back, and still counted");
  }

  /// Who is there? Disturbs nobody, and takes no longer than it was told.
  void ask() {
    const Duration limit = chance_.between(1ms, stage_.weather.unavailable_timeout);
    const Outcome outcome = measure([&] { static_cast<void>(lock_->probe(limit)); });
    if (!has_died() && outcome.took > limit + outcome.stood_still) accuse("a probe took too long");
  }

  // --- what must be so -----------------------------------------------------------------------------

  void check_standing() {
    if (has_died()) return;
    const bool lost = lock_->lost();
    std::optional<Errc> failure;
    try {
      lock_->ensure_held();
    } catch (const LockError& error) {
      failure = error.kind();
    }
    if (lock_->held() == lost) accuse("held() and lost() do not agree");
    if (failure != (lost ? std::optional(Errc::lost) : std::nullopt)) accuse("ensure_held() does not agree");
  }

  /// Greater than all before it. One whom the server does not count any more may be late with his.
  void check_token() {
    const std::int64_t token = lock_->fence_token();
    std::int64_t& greatest = stage_.tokens[channel_];
    if (token <= greatest && is_counted()) {
      accuse("token " + std::to_string(token) + " after " + std::to_string(greatest));
    }
    greatest = std::max(greatest, token);
  }

  void check_span(const Plan& plan, const Outcome& outcome) {
    const Duration grace = 5ms;  // to leave the channel
    const Duration once = stage_.weather.unavailable_timeout + stage_.weather.unavailable_timeout / 4;
    const Duration limit = plan.timeout == Duration::zero() ? once : plan.timeout;
    const Duration late = outcome.failure ? grace : Duration::zero();
    const std::string what = outcome.failure
                                 ? "failed with error " + std::to_string(static_cast<int>(*outcome.failure))
                                 : "acquired";
    if (plan.timeout != infinite && outcome.took > limit + late + outcome.stood_still) {
      accuse(what + " after " + text_of(outcome.took) + ", with a timeout of " + text_of(plan.timeout));
    }
    if (outcome.failure == Errc::busy && plan.timeout > Duration::zero() && !plan.fail_when_locked &&
        outcome.took < plan.timeout) {
      accuse("busy after " + text_of(outcome.took) + ", with a timeout of " + text_of(plan.timeout));
    }
    if (const auto asked = plan.cancel_after) {
      const bool is_early = outcome.failure == Errc::cancelled && outcome.took < *asked;
      if (is_early || outcome.took > *asked + 100ms + outcome.stood_still) {
        accuse(what + " after " + text_of(outcome.took) + ", cancelled after " + text_of(*asked));
      }
    }
    if (outcome.failure && !may_fail_with(plan, outcome)) accuse(what);
  }

  [[nodiscard]] bool may_fail_with(const Plan& plan, const Outcome& outcome) const {
    switch (*outcome.failure) {
      case Errc::busy: return plan.timeout != infinite || plan.fail_when_locked;
      case Errc::cancelled: return plan.cancel_after.has_value();
      // A timeout may be too short for one journey, and a token is asked for once.
      case Errc::connect: return !outcome.was_calm || plan.timeout != infinite || draws_tokens_;
      case Errc::permission: return !outcome.was_calm && stage_.weather.has_refusals();
      default: return false;
    }
  }

  template <class Act>
  Outcome measure(Act act) {
    Outcome outcome{.failure = {}, .was_calm = stage_.is_calm};
    const Instant before = stage_.clock.now();
    const Duration still = process_.stood_still_for;
    try {
      act();
    } catch (const LockError& error) {
      outcome.failure = error.kind();
    }
    outcome.took = stage_.clock.now() - before;
    outcome.stood_still = process_.stood_still_for - still;
    return outcome;
  }

  [[nodiscard]] bool is_counted() const { return testing::is_counted(hold_, stage_.redis.connections()); }

  static std::string text_of(Duration span) { return std::to_string(span.count()) + " ns"; }

  void say(const std::string& text) { stage_.say("player " + std::to_string(number_) + " " + text); }
  void accuse(const std::string& text) { stage_.accuse("player " + std::to_string(number_) + ": " + text); }

  Stage<Election>& stage_;
  Process<Election>& process_;
  const std::size_t number_;
  Chance chance_;
  const std::string channel_;
  const bool owns_connection_;
  const bool draws_tokens_;
  std::uint64_t life_ = 0;
  std::stop_source stop_;
  std::unique_ptr<Lock> lock_;
  Believer hold_;
};

}  // namespace sublock::testing
