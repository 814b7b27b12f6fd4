// SPDX-License-Identifier: MIT
#pragma once

// A leaseholder to talk to: what happens goes in, what it asks for comes out, and time is what the test says it
// is. Marks are called "1", "2", … in the order of the takes; and actions print as sentences, so that a script that
// goes wrong reads like one.

#include <gtest/gtest.h>
#include <sublock/core/lease/leaseholder.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::core {

namespace action {

inline void PrintTo(const Open&, std::ostream* out) { *out << "open a line"; }
inline void PrintTo(const Close&, std::ostream* out) { *out << "close the line"; }
inline void PrintTo(const Increment& increment, std::ostream* out) { *out << "increment " << increment.key; }
inline void PrintTo(const Publish& publish, std::ostream* out) { *out << "say on " << publish.channel; }
inline void PrintTo(const Warn& warn, std::ostream* out) { *out << "warn: " << warn.text; }

}  // namespace action

inline void PrintTo(Result result, std::ostream* out) {
  constexpr const char* names[] = {"none", "acquired", "busy", "failed", "cancelled", "released", "lost"};
  *out << names[static_cast<std::size_t>(result)];
}

namespace lease {

namespace action {

inline void PrintTo(const Take& take, std::ostream* out) {
  *out << "take " << take.key << " as " << take.mark;
}
inline void PrintTo(const Extend& extend, std::ostream* out) { *out << "extend " << extend.mark; }
inline void PrintTo(const Drop& drop, std::ostream* out) { *out << "drop " << drop.mark; }
inline void PrintTo(const Look& look, std::ostream* out) { *out << "look at " << look.key; }
inline void PrintTo(const Hear& hear, std::ostream* out) { *out << "hear of " << hear.key; }
inline void PrintTo(const Deafen&, std::ostream* out) { *out << "hear no more"; }

}  // namespace action

inline void PrintTo(Phase phase, std::ostream* out) {
  constexpr const char* names[] = {"idle",    "opening", "taking",  "looking",
                                   "waiting", "proving", "holding", "dropping"};
  *out << names[static_cast<std::size_t>(phase)];
}

using namespace std::chrono_literals;

using Said = std::vector<Action>;

inline constexpr Duration lease_time = 2s;

// --- what is said ------------------------------------------------------------------------------------

inline const Said nothing;
inline const Action open{action::Open{}};
inline const Action close{action::Close{}};
inline const Action look{action::Look{"K"}};
inline const Action hear{action::Hear{"K"}};
inline const Action deafen{action::Deafen{}};
inline const Action draw{action::Increment{fence_key("K")}};
inline const Action tell{action::Publish{release_channel("K"), {}}};

[[nodiscard]] inline Action take(const std::string& mark) { return action::Take{"K", mark, lease_time}; }
[[nodiscard]] inline Action extend(const std::string& mark) { return action::Extend{"K", mark, lease_time}; }
[[nodiscard]] inline Action drop(const std::string& mark) { return action::Drop{"K", mark}; }

// --- what happens ------------------------------------------------------------------------------------

[[nodiscard]] inline event::Keyed taken(bool done) { return {Verb::take, done}; }
[[nodiscard]] inline event::Keyed extended(bool done) { return {Verb::extend, done}; }
[[nodiscard]] inline event::Keyed dropped(bool done) { return {Verb::drop, done}; }

inline const event::Looked found_nothing{"none", {}, {}};
inline const event::Doubted standstill{"the process stood still for 3 s"};
inline const Failure gone{Errc::connect, "the connection is gone"};
inline const Failure busy{Errc::busy, "BUSY Redis is busy running a script"};
inline const Failure no_permission{Errc::permission, "NOPERM this user has no permissions"};

[[nodiscard]] inline event::Looked found_another(std::optional<Duration> left = lease_time) {
  return {"string", value_of(mark_of(uuid_of(std::string(32, 'f'))), {}), left};
}
[[nodiscard]] inline event::Refused refused(Verb verb, const Failure& failure) { return {verb, failure}; }

// --- who is talked to ----------------------------------------------------------------------------------

class Conversation {
 public:
  static constexpr Instant start = Instant(1h);

  Said acquire(const Request& request = {}) {
    return collect([&](Said& out) { holder_.acquire(request, now_, out); });
  }
  Said release() {
    return collect([&](Said& out) { released_ = holder_.release(now_, out); });
  }
  Said cancel() {
    return collect([&](Said& out) { holder_.cancel(out); });
  }
  Said abandon() {
    return collect([&](Said& out) { holder_.abandon(out); });
  }
  Said hears(const Event& event) {
    return collect([&](Said& out) { holder_.on(event, now_, out); });
  }
  Said hears_message(const std::string& channel, const std::string& payload) {
    return hears(event::Message{channel, payload});
  }
  /// Time passes, and what is due happens.
  Said after(Duration span) {
    now_ += span;
    return collect([&](Said& out) { holder_.tick(now_, out); });
  }
  /// Time passes, and nobody looks.
  void passes(Duration span) { now_ += span; }
  /// Until the next timer, which there must be.
  Said after_next_timer() {
    const auto due = holder_.next_due();
    EXPECT_TRUE(due.has_value()) << "nothing is waited for";
    return due ? after(*due - now_) : Said{};
  }
  [[nodiscard]] std::optional<Duration> next_due_in() const {
    const auto due = holder_.next_due();
    return due ? std::optional(*due - now_) : std::nullopt;
  }

  // --- shortcuts through conversations told elsewhere ----------------------------------------------

  void takes(const Request& request = {}) {
    acquire(request);
    hears(event::Opened{});
    EXPECT_EQ(phase(), Phase::taking);
  }
  /// Somebody else has it.
  void waits(const Request& request = {}) {
    takes(request);
    hears(taken(false));
    hears(found_another());
    EXPECT_EQ(phase(), Phase::waiting);
  }
  void holds(const Request& request = {}) {
    takes(request);
    hears(taken(true));
    if (request.fencing) {
      hears(event::Incremented{7});
      hears(extended(true));
    }
    EXPECT_EQ(phase(), Phase::holding);
  }

  // --- what is known -------------------------------------------------------------------------------

  [[nodiscard]] const Leaseholder& holder() const { return holder_; }
  [[nodiscard]] Phase phase() const { return holder_.phase(); }
  [[nodiscard]] Result result() const { return holder_.result(); }
  [[nodiscard]] const std::string& why() const { return holder_.failure().text; }
  [[nodiscard]] Errc code() const { return holder_.failure().code; }
  [[nodiscard]] bool released() const { return released_; }
  [[nodiscard]] bool is_held() const { return holder_.holds() && !holder_.doubtful(now_); }
  [[nodiscard]] Duration confirmed_for() const { return holder_.confirmed_until() - now_; }
  /// What there is under the key where it is the holder's own.
  [[nodiscard]] event::Looked found_own(Duration left = lease_time) const {
    return {"string", value_of(holder_.mark(), {}), left};
  }

 private:
  Said collect(auto step) {
    Said out;
    step(out);
    for (Action& action : out) {
      if (auto* take = std::get_if<action::Take>(&action)) adopt(take->mark);
      if (auto* extend = std::get_if<action::Extend>(&action)) extend->mark = name_of(extend->mark);
      if (auto* drop = std::get_if<action::Drop>(&action)) drop->mark = name_of(drop->mark);
    }
    return out;
  }

  /// A mark is never used twice.
  void adopt(std::string& mark) {
    EXPECT_EQ(std::ranges::find(marks_, mark), marks_.end()) << mark << " has been used before";
    marks_.push_back(mark);
    mark = name_of(mark);
  }

  [[nodiscard]] std::string name_of(const std::string& mark) const {
    const auto place = std::ranges::find(marks_, mark);
    return place == marks_.end() ? "a mark that nothing was taken with"
                                 : std::to_string(place - marks_.begin() + 1);
  }

  Leaseholder holder_{"K", Dice({1, 2})};
  Instant now_ = start;
  std::vector<std::string> marks_;
  bool released_ = false;
};

[[nodiscard]] inline Request until(Duration span) {
  Request request;
  request.deadline = Conversation::start + span;
  return request;
}

[[nodiscard]] inline Request fenced() {
  Request request;
  request.fencing = true;
  return request;
}

[[nodiscard]] inline Request once() {
  Request request;
  request.once = true;
  return request;
}

}  // namespace lease
}  // namespace sublock::core
