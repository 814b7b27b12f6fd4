// SPDX-License-Identifier: MIT
#pragma once

// The switchboard of one transport object: the turns in which its lines, their ears and the mouths they share are
// looked after, whatever servers they lead to. It starts no thread and never blocks.

#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/link.hpp>
#include <sublock/transport/hiredis/poller.hpp>
#include <sublock/transport/hiredis/pulse.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sublock::hiredis {

/// Which server a line is led to is decided by those who derive from this. Everything here needs `mutex`, but for
/// the constructor and the destructor.
class Hub {
 public:
  Hub() : delivery(poller) {}
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  virtual ~Hub() = default;

  /// As errors call what it leads to: "Redis at 127.0.0.1:6379".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Leads the line to the server where `channel` lives, at once or once somebody has asked where that is.
  virtual void open(LineState& line, std::string_view channel) = 0;
  /// Drops what the line has; nothing is told any more.
  virtual void close(LineState& line) = 0;

  /// What to do with an answer, with the mutex.
  using Conclusion = std::function<void()>;
  /// What to ask, without the mutex, for it may block.
  using Errand = std::function<Conclusion()>;
  /// This line can't go on before somebody has asked where its server is.
  [[nodiscard]] virtual bool needs_errand(const LineState& line) const = 0;
  [[nodiscard]] virtual Errand errand() = 0;
  /// One caller asks for all; the others need not block for it.
  [[nodiscard]] bool errand_is_free() const noexcept { return !running_errand_; }
  void set_running_errand(bool running) noexcept { running_errand_ = running; }

  /// A connection has failed, or a server is not what it was: where lines lead may have changed.
  virtual void on_trouble() {}

  /// From now on the line is looked after.
  void admit(LineState& line) {
    line.open = true;
    lines_.insert(&line);
  }
  /// No more: what was on its way to it is stale.
  void dismiss(LineState& line) {
    line.open = line.announced = line.usable = line.lost = false;
    line.to_hear.clear();
    line.reminder = core::Instant::max();
    ++line.epoch;
    lines_.erase(&line);
  }
  /// The line, which has no ear, can't be had, or is no more.
  void lose(LineState& line, const Failure& failure) {
    dismiss(line);
    line.lost = true;
    delivery.later(line, core::event::Lost{failure});
  }

  /// Tells what is due to be told, sends what is due to be sent. Ends every turn, of whichever thread.
  void settle(core::Instant now) {
    constexpr int rounds_max = 64;  // then others may have the mutex
    const bool was_busy = poller.busy();
    poller.set_busy(true);
    int round = 0;
    for (; round < rounds_max; ++round) {
      const auto attention = poller.take_attention();
      if (attention.empty() && !delivery.pending()) break;
      delivery.deliver_pending();
      for (const auto& weak : attention) {
        if (const auto link = weak.lock()) link->settle(now);
      }
    }
    poller.set_busy(was_busy);
    if (round == rounds_max) poller.wake();
  }

  /// One link's share of a turn. True if there may be more to read.
  bool pump(Link& link, core::Instant now) {
    poller.set_busy(true);
    const bool more = link.pump(now);
    poller.set_busy(false);
    return more;
  }

  /// Everything that time brings about.
  void tick(core::Instant now) {
    if (now < poller.next_tick()) return;
    poller.set_next_tick(core::Instant::max());
    poller.set_busy(true);
    std::vector<std::shared_ptr<Link>> links;
    links.reserve(poller.links().size());
    for (const auto& entry : poller.links()) links.push_back(entry.second->shared_from_this());
    for (const auto& link : links) link->tick(now);
    core::Instant next = tick_servers(now);
    remind_lines(now);
    poller.set_busy(false);
    next = std::min(next, poller.next_tick());
    for (const LineState* line : lines_) next = std::min(next, line->reminder);
    for (const auto& entry : poller.links()) next = std::min(next, entry.second->due());
    poller.set_next_tick(next);
  }

  /// Ends a caller's wait: what he leaves behind unread, and awaits something, is the keeper's again.
  void hand_over() {
    for (const std::uint64_t id : poller.unwatched()) {
      if (Link* link = poller.find(id); link && !link->idle()) link->take_up();
    }
  }

  /// Ends a turn of the keeper: it watches whatever nobody reads.
  void take_up() {
    for (const std::uint64_t id : poller.take_unwatched()) {
      Link* const link = poller.find(id);
      if (!link) continue;
      link->forget_unwatched();
      link->take_up();
    }
  }

  void remind(LineState& line, core::Instant when) {
    line.reminder = when;
    poller.hasten(when);
  }

  /// The process has stood still, so whatever was true of these lines may be so no more.
  void doubt_all(const std::string& why) {
    for (LineState* line : lines_) delivery.later(*line, core::event::Doubted{why});
  }

  std::mutex mutex;
  Pulse pulse;
  std::atomic<bool> stopping = false;  // asks the keeper to end; needs no mutex
  SpareWakes spare_wakes;
  SpareReader spare_reader;
  Poller poller;
  Delivery delivery;

 protected:
  /// What time brings about at the servers, links apart. Returns when there is more of that.
  virtual core::Instant tick_servers(core::Instant now) = 0;

  [[nodiscard]] const std::unordered_set<LineState*>& lines() const noexcept { return lines_; }

 private:
  void remind_lines(core::Instant now) {
    for (LineState* line : lines_) {
      if (line->reminder > now) continue;
      line->reminder = core::Instant::max();
      delivery.later(*line, core::event::Reminded{});
    }
  }

  std::unordered_set<LineState*> lines_;  // the open ones
  bool running_errand_ = false;
};

}  // namespace sublock::hiredis
