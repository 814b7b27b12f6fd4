// SPDX-License-Identifier: MIT
#pragma once

// Watches a player of either protocol from outside, and keeps what is worth telling until somebody may be told:
// nothing that the protocol decides depends on it, and no user's code runs where it watches.

#include <sublock/core/event.hpp>
#include <sublock/core/lease/action.hpp>
#include <sublock/core/lease/attempt.hpp>
#include <sublock/core/request.hpp>
#include <sublock/explain_lease.hpp>
#include <sublock/observation.hpp>
#include <sublock/policies.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock {
namespace detail {

/// Looks at the two kinds of players as if they were one.
struct Sight {
  using Kind = Observation::Kind;

  [[nodiscard]] static const std::string& name(const core::Identity& self) { return self.channel; }
  [[nodiscard]] static const std::string& name(const core::lease::Identity& self) { return self.key; }
  [[nodiscard]] static const std::string& id(const core::Identity& self) { return self.holder_id; }
  [[nodiscard]] static const std::string& id(const core::lease::Identity& self) { return self.uuid; }

  [[nodiscard]] static bool is_question(const core::Action& action, core::Phase phase) {
    const bool asks = phase == core::Phase::probing || phase == core::Phase::waiting;
    return asks && std::holds_alternative<core::action::Ping>(action);
  }
  [[nodiscard]] static bool is_question(const core::lease::Action& action, core::lease::Phase /*phase*/) {
    return std::holds_alternative<core::lease::action::Look>(action);
  }

  [[nodiscard]] static bool is_answered(const auto& player) {
    if constexpr (requires { player.census(); }) {
      using enum core::Phase;
      const auto phase = player.phase();
      const bool weighs = phase == probing || phase == examining || phase == killing || phase == waiting;
      return !weighs || player.census().standing() != core::Census::Standing::open;
    } else {
      return player.phase() != core::lease::Phase::looking;
    }
  }

  [[nodiscard]] static bool waits(core::Phase phase) {
    return phase == core::Phase::waiting || phase == core::Phase::resting;
  }
  [[nodiscard]] static bool waits(core::lease::Phase phase) { return phase == core::lease::Phase::waiting; }

  /// Those who have answered the last question.
  [[nodiscard]] static std::vector<Holder> others(const auto& player) {
    std::vector<Holder> result;
    if constexpr (requires { player.census(); }) {
      for (const auto& [id, holder] : player.census().answers()) result.push_back(holder);
      if (result.empty()) result = player.blockers();
    } else {
      result = holders_in(player.report().blocker);
    }
    return result;
  }

  /// It waits for somebody, and not for a server that can't be reached.
  [[nodiscard]] static bool waits_for_somebody(const auto& player) {
    if (!waits(player.phase())) return false;
    if constexpr (requires { player.census(); }) return player.failure().text.empty();
    return !others(player).empty();
  }

  [[nodiscard]] static bool was_granted(const auto& player) {
    if constexpr (requires { player.was_granted(); }) return player.was_granted();
    return false;
  }
  [[nodiscard]] static bool has_granted(const auto& player) {
    if constexpr (requires { player.has_granted(); }) return player.has_granted();
    return false;
  }

  [[nodiscard]] static Kind kind_of(core::Warning warning) {
    switch (warning) {
      case core::Warning::reaped: return Kind::reaped;
      case core::Warning::stranger: return Kind::stranger;
      case core::Warning::other: break;
    }
    return Kind::warning;
  }
};

}  // namespace detail

/// What has been seen and not been told yet. It is told in order and one at a time, by whoever comes by first.
/// Thread-safe.
class News {
 public:
  void add(Observation seen) {
    const std::lock_guard lock(mutex_);
    untold_.push_back(std::move(seen));
  }

  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return untold_.empty();
  }

  /// Here the user's code runs. Returns at once where another thread is telling, or this one already: that goes on
  /// until nothing is left.
  void tell_all(const Observer& observer) {
    std::unique_lock lock(mutex_);
    if (std::exchange(telling_, true)) return;
    while (!untold_.empty()) {
      const Observation seen = std::move(untold_.front());
      untold_.pop_front();
      lock.unlock();
      tell(observer, seen);
      lock.lock();
    }
    telling_ = false;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Observation> untold_;
  bool telling_ = false;
};

/// Of one attempt, and the hold after it. Without an observer, who must outlive it, it does nothing.
class Witness {
 public:
  using Kind = Observation::Kind;

  explicit Witness(const Observer& observer)
      : observer_(observer), news_(observer ? std::make_shared<News>() : nullptr) {}

  /// The attempt begins.
  void begin(const auto& player, const auto& request, Instant now) {
    if (!observer_) return;
    if constexpr (requires { request.mode; }) mode_ = request.mode;
    since_ = now;
    trying_ = true;
    news_->add(about(Kind::attempt, player, now, {}));
  }

  /// After each step of the player, before its actions are carried out.
  void look(const auto& player, const auto& actions, Instant now) {
    if (!observer_ || !trying_) return;
    if (asked_ && Sight::is_answered(player)) answer(player, now);
    for (const auto& action : actions) {
      if (Sight::is_question(action, player.phase())) {
        if (asked_) answer(player, now);
        asked_ = now;
      }
      if (const auto* warning = std::get_if<core::action::Warn>(&action)) {
        Observation seen = about(Sight::kind_of(warning->kind), player, now, {});
        seen.text = warning->text;
        news_->add(std::move(seen));
      }
    }
    if (!waited_ && Sight::waits_for_somebody(player)) {
      waited_ = true;
      Observation seen = about(Kind::wait, player, now, now - since_);
      seen.others = Sight::others(player);
      news_->add(std::move(seen));
    }
    if (player.holds()) hold(player, now);
  }

  /// The attempt is over, and the lock is not ours.
  void fail(const auto& player, Instant now) {
    if (!observer_ || !std::exchange(trying_, false)) return;
    if (asked_) answer(player, now);
    Observation seen = about(Kind::not_got, player, now, now - since_);
    const bool busy = player.result() == core::Result::busy;
    seen.code = busy ? Errc::busy : player.failure().code;
    seen.text = player.failure().text;
    seen.others = Sight::others(player);
    news_->add(std::move(seen));
  }

  void lose(const auto& player, const std::string& why, Instant now) {
    if (!observer_) return;
    Observation seen = about(Kind::lost, player, now, now - since_);
    seen.code = Errc::lost;
    seen.text = why;
    news_->add(std::move(seen));
  }

  void release(const auto& player, Instant now) {
    if (!observer_) return;
    const Kind kind = Sight::has_granted(player) ? Kind::handed_over : Kind::released;
    news_->add(about(kind, player, now, now - since_));
  }

  [[nodiscard]] bool has_news() const { return news_ && !news_->empty(); }

  /// There is time to tell.
  [[nodiscard]] static bool waits(const auto& player) { return Sight::waits(player.phase()); }

  /// What has been seen, as something to be called where the user's code may run; empty where there is nothing.
  [[nodiscard]] std::function<void()> telling() const {
    if (!has_news()) return {};
    return [&observer = observer_, news = news_] { news->tell_all(observer); };
  }

 private:
  using Sight = detail::Sight;

  void answer(const auto& player, Instant now) {
    Observation seen = about(Kind::probe, player, now, now - *std::exchange(asked_, std::nullopt));
    seen.others = Sight::others(player);
    news_->add(std::move(seen));
  }

  void hold(const auto& player, Instant now) {
    trying_ = false;
    Observation seen = about(Kind::got, player, now, now - since_);
    seen.by_grant = Sight::was_granted(player);
    news_->add(std::move(seen));
    since_ = now;
  }

  [[nodiscard]] Observation about(Kind kind, const auto& player, Instant now, Duration took) const {
    const auto& self = player.identity();
    return {.kind = kind,
            .name = Sight::name(self),
            .holder_id = Sight::id(self),
            .mode = mode_,
            .at = now,
            .took = took};
  }

  const Observer& observer_;
  const std::shared_ptr<News> news_;  // outlives us where somebody is telling it
  LockMode mode_ = LockMode::exclusive;
  bool trying_ = false;
  bool waited_ = false;
  Instant since_;                 // the attempt began, or the hold
  std::optional<Instant> asked_;  // a question is out
};

}  // namespace sublock
