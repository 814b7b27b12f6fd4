// SPDX-License-Identifier: MIT
#pragma once

// What has happened on a channel between two looks, as far as looks can tell. Given what was seen and when; asks
// nobody, and prints nothing.

#include "look.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace command {

using Instant = std::chrono::steady_clock::time_point;

/// One event. What is not known, or has no meaning for it, is empty.
struct Entry {
  std::string_view event;
  Instant at{};  ///< when it happened, or when it was seen where nobody tells
  std::optional<Holder> who = {};
  std::optional<Milliseconds> waited = {};
  std::optional<Milliseconds> held = {};       ///< when it was last seen to hold
  std::optional<Milliseconds> hand_over = {};  ///< at most: from the last sight of the one before
  std::optional<Milliseconds> away = {};
  std::size_t silent = 0;
  std::string why = {};
};

class Chronicle {
 public:
  /// What is new since the last look; at the first, everything that is there. The look was taken between
  /// `asked` and `answered`.
  [[nodiscard]] std::vector<Entry> take(const Sight& sight, Instant asked, Instant answered) {
    std::vector<Entry> entries;
    if (away_since_)
      entries.push_back({.event = "back", .at = answered, .away = span(*away_since_, answered)});
    if (sight.silent != silent_) {
      const std::string_view event = sight.silent > silent_ ? "silent" : "answers";
      entries.push_back({.event = event, .at = answered, .silent = sight.silent});
    }
    silent_ = sight.silent;
    std::map<std::string, const Holder*> now;
    for (const Holder& one : sight.people) now.emplace(one.holder_id, &one);
    for (auto& [id, one] : known_) {
      if (now.contains(id)) continue;
      ++one.missed;
      one.doubtful = one.doubtful || silent_ > 0;
    }
    tell_who_ended(now, answered, entries);
    tell_who_got_it(sight, asked, answered, entries);
    tell_who_gave_up(now, answered, entries);
    tell_who_waits(sight, answered, entries);
    away_since_.reset();
    began_ = true;
    return entries;
  }

  /// The server gives no answer.
  [[nodiscard]] std::vector<Entry> lose_sight(std::string why, Instant now) {
    if (std::exchange(away_since_, away_since_.value_or(now))) return {};
    for (auto& [id, one] : known_) one.doubtful = true;
    return {{.event = "unreachable", .at = now, .why = std::move(why)}};
  }

  [[nodiscard]] const std::optional<Milliseconds>& last_hand_over() const noexcept { return last_hand_over_; }

 private:
  struct Known {
    Holder last;
    Instant asked;          // when it was last seen, or a moment before
    Instant answered;       // the same, or a moment after
    Instant since;          // it waits, or holds
    bool doubtful = false;  // has been silent, or the server was away
    int missed = 0;         // looks without it
  };

  /// Whoever waits may just have been on his way between inbox and channel.
  static constexpr int misses_max = 2;
  static constexpr Milliseconds slack{100};

  static Milliseconds span(Instant from, Instant to) {
    return std::chrono::floor<Milliseconds>(std::max(to - from, Instant::duration::zero()));
  }

  static Instant since(const Holder& one, Instant answered) {
    return answered - (is_holding(one) ? one.held_for : one.waiting_for).value_or(Milliseconds(0));
  }

  /// It has let go, and has got the lock anew since.
  static bool is_another_hold(const Known& before, const Holder& now, Instant asked) {
    if (!before.last.held_for || !now.held_for) return false;
    return *now.held_for + slack < *before.last.held_for + (asked - before.answered);
  }

  void end(const Known& one, bool lost, Instant answered, std::vector<Entry>& entries) {
    entries.push_back({.event = lost ? "lost" : "released",
                       .at = answered,
                       .who = one.last,
                       .held = span(one.since, one.answered)});
    if (one.last.mode == sublock::HolderMode::exclusive) let_go_after_ = one.asked;
  }

  void tell_who_ended(const std::map<std::string, const Holder*>& now, Instant answered,
                      std::vector<Entry>& entries) {
    std::erase_if(known_, [&](const auto& entry) {
      const Known& one = entry.second;
      const auto found = now.find(entry.first);
      const bool gone = found == now.end();
      if (!is_holding(one.last) || (!gone && is_holding(*found->second))) return false;
      if (gone && silent_ > 0) return false;  // it may be the one who does not answer
      end(one, gone && one.doubtful, answered, entries);
      return true;
    });
  }

  void tell_who_got_it(const Sight& sight, Instant asked, Instant answered, std::vector<Entry>& entries) {
    for (const Holder& one : sight.people) {
      if (!is_holding(one)) continue;
      const auto before = known_.find(one.holder_id);
      const bool known = before != known_.end();
      const Known now{one, asked, answered, since(one, answered)};
      if (known && is_holding(before->second.last)) {
        if (!is_another_hold(before->second, one, asked)) {
          const Instant then = before->second.since;
          before->second = now;
          before->second.since = std::min(then, now.since);
          continue;
        }
        end(before->second, false, answered, entries);
      }
      Entry entry{.event = began_ ? "got" : "holds", .at = now.since, .who = one};
      if (!began_) entry.held = one.held_for;
      const bool was_in_line = known && !is_holding(before->second.last);
      if (was_in_line) entry.waited = span(before->second.since, now.since);
      for (Entry& earlier : entries) {  // whoever had it had let go by then
        if (earlier.event == "released") earlier.at = std::min(earlier.at, now.since);
      }
      if (was_in_line && let_go_after_) entry.hand_over = last_hand_over_ = span(*let_go_after_, now.since);
      if (one.mode == sublock::HolderMode::exclusive) let_go_after_.reset();
      entries.push_back(std::move(entry));
      known_.insert_or_assign(one.holder_id, now);
    }
  }

  /// Nobody else can have had the lock since he was last seen, so he gave up; else he may have had it between two looks.
  [[nodiscard]] bool has_surely_waited_in_vain(const Known& one) const {
    return std::ranges::any_of(known_, [&](const auto& entry) {
      const Known& other = entry.second;
      const bool excludes =
          other.last.mode == sublock::HolderMode::exclusive || wish(one.last) == "exclusive";
      return is_holding(other.last) && excludes && other.since <= one.answered;
    });
  }

  void tell_who_gave_up(const std::map<std::string, const Holder*>& now, Instant answered,
                        std::vector<Entry>& entries) {
    std::vector<std::string> ended;
    for (const auto& [id, one] : known_) {
      if (is_holding(one.last) || one.missed < misses_max || now.contains(id)) continue;
      entries.push_back({.event = has_surely_waited_in_vain(one) ? "gave-up" : "gone",
                         .at = answered,
                         .who = one.last,
                         .waited = span(one.since, one.answered)});
      ended.push_back(id);
    }
    for (const std::string& id : ended) known_.erase(id);
  }

  void tell_who_waits(const Sight& sight, Instant answered, std::vector<Entry>& entries) {
    for (const Holder& one : sight.people) {
      if (doing(one) != "waiting") continue;
      const auto before = known_.find(one.holder_id);
      Known now{one, answered, answered, since(one, answered)};
      if (before != known_.end()) {
        now.since = std::min(before->second.since, now.since);
      } else {
        entries.push_back({.event = "waiting", .at = now.since, .who = one, .waited = one.waiting_for});
      }
      known_.insert_or_assign(one.holder_id, now);
    }
  }

  std::map<std::string, Known> known_;
  std::size_t silent_ = 0;
  bool began_ = false;
  std::optional<Instant> away_since_;
  std::optional<Instant> let_go_after_;  // the last exclusive holder, if nobody has followed him yet
  std::optional<Milliseconds> last_hand_over_;
};

}  // namespace command
