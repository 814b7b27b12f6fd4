// SPDX-License-Identifier: MIT
#pragma once

// What a holder knows of those who come after it: who waits outside, in the order in which they were heard,
// and who stands on the channel already. All of it is a hint: losing it costs time, never safety.

#include <sublock/core/event.hpp>
#include <sublock/core/holder.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/wire.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sublock::core {

/// One who has left the channel and listens on an inbox.
struct Waiter {
  std::string holder_id;
  bool writer = true;
  std::chrono::milliseconds interval = usual_interval;  ///< at which he asks
  Instant heard_at;
};

/// A pending writer on the channel, known by the response channel of his latest question.
struct Successor {
  std::string holder_id;
  std::string nonce;
  std::chrono::milliseconds interval = usual_interval;
  Instant heard_at;
  std::vector<std::string> knows = {};  ///< who waits, as we told him when we asked him in
};

class Succession {
 public:
  /// More are not kept: they will be heard again.
  static constexpr std::size_t waiters_max = 4096;
  /// More are not passed on: what is said at a hand-over must stay small.
  static constexpr std::size_t passed_on_max = 64;
  /// So many of his own intervals without a word, and a waiter is forgotten.
  static constexpr int silent_intervals_max = 5;

  Succession() = default;
  explicit Succession(std::string channel) : channel_(std::move(channel)) {}

  /// Those who waited for the one before us, as far as he passed them on, come before those whom we alone
  /// have heard; but what we have heard ourselves is newer. `self` waits no more. O(line * waiters).
  void follow(const std::vector<std::string>& line, const std::string& self, Instant now) {
    successor_.reset();
    invited_ = {};
    const std::vector<Waiter> heard = std::exchange(waiters_, {});
    for (const std::string& entry : line) {
      if (auto waiter = parse(entry, now); waiter && waiter->holder_id != self) keep(*waiter);
    }
    for (const Waiter& waiter : heard) keep(waiter);
  }

  /// Somebody asks from outside: he keeps his place, or gets the last one. One whose inbox is not of our make
  /// gets none. O(waiters).
  void hear_waiter(const Ping& ping, Instant now) {
    forget_the_silent(now);
    const std::string& id = ping.from.holder_id;
    if (is_holder_id(id) && ping.response_channel == inbox(channel_, id)) {
      keep({id, ping.mode == HolderMode::pending, ping.interval, now});
      if (successor_ && successor_->holder_id == id) successor_.reset();  // he has gone out again
    }
  }

  /// He has come in, and waits no more. O(waiters).
  void drop(const std::string& id) {
    std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.holder_id == id; });
  }

  /// A writer asks from inside. True if he comes next: nobody else does, and nobody waits before him; or if
  /// `any` will do, the latest. O(waiters).
  bool hear_standing(const Ping& ping, bool any, Instant now) {
    forget_the_silent(now);
    const bool is_next = any || may_succeed(ping.from.holder_id);
    drop(ping.from.holder_id);
    if (!is_next) return false;
    Successor next{ping.from.holder_id, ping.response_channel, ping.interval, now};
    if (invited_.holder_id == next.holder_id) next.knows = std::move(invited_.knows);
    if (successor_ && successor_->holder_id == next.holder_id) next.knows = std::move(successor_->knows);
    successor_ = std::move(next);
    invited_ = {};
    return true;
  }

  /// A note that asks the first in line to come in, if he is a writer and nobody has been asked yet. It takes
  /// the rest of the line along: the lock may be free before he is there.
  [[nodiscard]] std::optional<action::Note> invite() {
    const bool taken = successor_ || !invited_.holder_id.empty();
    if (taken || waiters_.empty() || !waiters_.front().writer) return std::nullopt;
    invited_ = {waiters_.front().holder_id, line(1)};
    action::Note note{inbox(channel_, invited_.holder_id), encode(Hint{HintKind::next, invited_.knows})};
    std::ranges::sort(invited_.knows);
    return note;
  }

  [[nodiscard]] const std::optional<Successor>& successor(Instant now) {
    forget_the_silent(now);
    return successor_;
  }

  /// Notes that wake the first writer in line, or all the readers before him; the first of them gets the
  /// rest of the line. O(waiters).
  [[nodiscard]] std::vector<action::Note> wake() {
    std::vector<action::Note> notes;
    if (const std::string& id = invited_.holder_id; !id.empty()) {
      // He may have come in by now, and hears what is said on the lock channel.
      notes.push_back({channel_, encode(Grant{id, inbox(channel_, id), news(invited_.knows, 1)})});
    }
    const bool readers = !waiters_.empty() && !waiters_.front().writer;
    const auto end = readers ? std::ranges::find(waiters_, true, &Waiter::writer)
                             : waiters_.begin() + (waiters_.empty() ? 0 : 1);
    const std::vector<Waiter> woken(waiters_.begin(), end);
    waiters_.erase(waiters_.begin(), end);
    for (const Waiter& waiter : woken) {
      Hint hint{HintKind::wake, {}};
      if (&waiter == &woken.front()) hint.queue = line();
      notes.push_back({inbox(channel_, waiter.holder_id), encode(hint)});
    }
    return notes;
  }

  /// Those who wait behind the first `skipped`, as they are passed on.
  [[nodiscard]] std::vector<std::string> line(std::size_t skipped = 0) const {
    std::vector<std::string> entries;
    for (std::size_t i = skipped; i < waiters_.size() && entries.size() < passed_on_max; ++i) {
      entries.push_back(print(waiters_[i]));
    }
    return entries;
  }

  /// Of those, whom one does not know of who has heard of `known`, in their order by letters.
  [[nodiscard]] std::vector<std::string> news(const std::vector<std::string>& known,
                                              std::size_t skipped = 0) const {
    std::vector<std::string> entries = line(skipped);
    std::erase_if(entries,
                  [&](const std::string& entry) { return std::ranges::binary_search(known, entry); });
    return entries;
  }

  [[nodiscard]] const std::vector<Waiter>& waiters() const { return waiters_; }

  /// Nobody is known to wait.
  [[nodiscard]] bool empty() const { return waiters_.empty() && !successor_; }

  [[nodiscard]] std::string state_key() const {
    std::string key = '|' + invited_.holder_id;
    for (const std::string& entry : invited_.knows) key += entry;
    if (successor_) {
      key += '>' + successor_->holder_id + successor_->nonce;
      for (const std::string& entry : successor_->knows) key += entry;
    }
    for (const Waiter& waiter : waiters_) key += print(waiter);
    return key;
  }

 private:
  /// In his place, where he has one.
  void keep(const Waiter& waiter) {
    const auto known = std::ranges::find(waiters_, waiter.holder_id, &Waiter::holder_id);
    if (known != waiters_.end()) {
      *known = waiter;
    } else if (waiters_.size() < waiters_max) {
      waiters_.push_back(waiter);
    }
  }

  [[nodiscard]] bool may_succeed(const std::string& id) const {
    if (successor_) return successor_->holder_id == id;
    if (!invited_.holder_id.empty()) return invited_.holder_id == id;
    return waiters_.empty() || (waiters_.front().writer && waiters_.front().holder_id == id);
  }

  void forget_the_silent(Instant now) {
    const auto is_silent = [now](const auto& one) {
      return now - one.heard_at > silent_intervals_max * one.interval;
    };
    std::erase_if(waiters_, is_silent);
    if (successor_ && is_silent(*successor_)) successor_.reset();
    const auto is_invited = [&](const Waiter& waiter) { return waiter.holder_id == invited_.holder_id; };
    if (std::ranges::none_of(waiters_, is_invited)) invited_ = {};
  }

  /// `w` or `r`, the id, and unless it is the usual one, a colon and the interval in milliseconds.
  [[nodiscard]] static std::string print(const Waiter& waiter) {
    std::string entry = (waiter.writer ? 'w' : 'r') + waiter.holder_id;
    if (waiter.interval != usual_interval) entry += ':' + std::to_string(waiter.interval.count());
    return entry;
  }

  [[nodiscard]] static std::optional<Waiter> parse(std::string_view entry, Instant now) {
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::string_view name = entry.substr(0, colon);
    const bool sound = (name.starts_with('w') || name.starts_with('r')) && is_holder_id(name.substr(1));
    if (!sound) return std::nullopt;
    Waiter waiter{std::string(name.substr(1)), name[0] == 'w', usual_interval, now};
    if (colon == entry.size()) return waiter;
    std::int64_t interval = 0;
    const auto [end, error] =
        std::from_chars(entry.data() + colon + 1, entry.data() + entry.size(), interval);
    if (error != std::errc{} || end != entry.data() + entry.size()) return std::nullopt;
    waiter.interval = detail::clamped_interval(interval);
    return waiter;
  }

  /// The waiter who was told to come in, as long as he is one, and what he was told of the others.
  struct Invited {
    std::string holder_id;
    std::vector<std::string> knows;
  };

  std::string channel_;
  std::vector<Waiter> waiters_;
  std::optional<Successor> successor_;
  Invited invited_;
};

}  // namespace sublock::core
