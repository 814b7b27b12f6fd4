// SPDX-License-Identifier: MIT
#pragma once

// The switchboard of one transport object: its lines, their ears, the mouth they share, and the turns in
// which all of them are looked after. It starts no thread and never blocks.

#include <sublock/clock/steady.hpp>
#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/ear.hpp>
#include <sublock/transport/hiredis/mouth.hpp>
#include <sublock/transport/hiredis/poller.hpp>
#include <sublock/transport/hiredis/pulse.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::hiredis {

/// Everything here needs `mutex`, but for the constructor and the destructor.
class Hub final : private Ear::Owner, private Mouth::Owner {
 public:
  explicit Hub(const ConnectionOptions& options)
      : settings(options),
        delivery(poller),
        mouth(std::make_shared<Mouth>(poller, settings, spare_reader_, delivery,
                                      static_cast<Mouth::Owner&>(*this))),
        addresses_(numeric_addresses(settings.endpoint)),
        numeric_(!addresses_.empty()),
        must_ask_(!numeric_) {}

  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Gets `line` an ear, from the pool or a new one, once there is an address.
  void open(LineState& line) {
    if (line.open || line.lost) return;
    line.open = true;
    lines_.insert(&line);
    if (const std::string why = poller.start(); !why.empty()) {
      return lose(line, {Errc::connect, "can't connect to Redis at " + settings.where + ": " + why});
    }
    const bool doubtful =
        has_failed_ && !settings.endpoint.sentinels.empty();  // there may be another primary
    const bool found = !line.deaf && !doubtful && seat_idle_ear(line);
    const bool has_all = found || (line.deaf && mouth->ready());
    if (!has_all && has_failed_ && !numeric_) must_ask_ = true;  // the host may have moved
    connect_line(line);
  }

  /// Gets a desk an ear for `channels`. Told is only how it goes with the first.
  void hear(LineState& line, std::vector<std::string> channels) {
    if (!line.open || line.ear) return;
    line.to_hear = std::move(channels);
    if (seat_idle_ear(line)) return tune(line);
    connect_ear(line, SteadyClock().now());
  }

  /// A desk needs it no more.
  void deafen(LineState& line) {
    line.to_hear.clear();
    if (line.ear) retire(unseat(line));
  }

  /// Drops the ear of `line`; nothing is told any more.
  void close(LineState& line) {
    if (!line.open && !line.lost) return;
    deafen(line);
    forget(line);
    line.lost = false;
    if (lines_.empty() && mouth->closed()) mouth->forget();
  }

  [[nodiscard]] bool needs_addresses(const LineState& line) const {
    return line.open && !line.ear && must_ask_ && (line.deaf ? !mouth->ready() : !line.usable);
  }
  /// One caller asks for all; the others need not block for it.
  [[nodiscard]] bool resolver_is_free() const noexcept { return !resolving_; }
  void set_resolving(bool resolving) noexcept { resolving_ = resolving; }
  /// The resolver's answer, for all lines that wait for it.
  void take_addresses(std::variant<Addresses, Failure> answer) {
    if (auto* found = std::get_if<Addresses>(&answer)) {
      const bool has_moved = !settings.endpoint.sentinels.empty() && !addresses_.empty() &&
                             !std::ranges::is_permutation(*found, addresses_);
      addresses_ = std::move(*found);
      must_ask_ = has_failed_ = false;
      if (has_moved) break_with_the_old();
    } else {
      must_ask_ = addresses_.empty();  // else not before the next failure
    }
    const auto lines = lines_;
    for (LineState* line : lines) {
      if (!line->open || line->ear || line->usable) continue;
      if (const auto* failure = std::get_if<Failure>(&answer)) {
        lose(*line, *failure);
      } else {
        connect_line(*line);
      }
    }
    if (mouth_wanted()) mouth->want(SteadyClock().now());
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
    mouth->retry(now);
    remind_lines(now);
    poller.set_busy(false);
    core::Instant next = std::min(poller.next_tick(), mouth->retry_at());
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

  /// The line can't be had, or is no more.
  void lose(LineState& line, const Failure& failure) {
    if (line.ear) unseat(line)->close();
    forget(line);
    line.lost = true;
    delivery.later(line, core::event::Lost{failure});
  }

  std::mutex mutex;
  Pulse pulse;
  std::atomic<bool> stopping = false;  // asks the keeper to end; needs no mutex
  SpareWakes spare_wakes;
  const Settings settings;
  Poller poller;
  Delivery delivery;
  const std::shared_ptr<Mouth> mouth;

 private:
  void connect_line(LineState& line) {
    if (!line.ear && must_ask_ && !(line.deaf && mouth->ready())) {
      return;  // until somebody who waits has asked the resolver
    }
    const core::Instant now = SteadyClock().now();
    mouth->want(now);
    if (!line.open) return;
    if (!line.ear && !line.deaf) connect_ear(line, now);
    announce(line);
  }

  /// There is another primary, so what still goes to the one before it is worth nothing.
  void break_with_the_old() {
    for (const auto& ear : std::exchange(idle_ears_, {})) ear->close();
    const Failure failure{Errc::connect, "Redis " + settings.where + " has another primary now"};
    const auto lines = lines_;
    for (LineState* line : lines)
      if (line->ear) lose_ear(*line, failure);
    mouth->break_off(failure);
  }

  [[nodiscard]] bool seat_idle_ear(LineState& line) {
    if (idle_ears_.empty()) return false;
    seat(line, std::move(idle_ears_.back()));
    idle_ears_.pop_back();
    return true;
  }

  void connect_ear(LineState& line, core::Instant now) {
    auto ear = std::make_shared<Ear>(poller, settings, spare_reader_, delivery, traits_,
                                     static_cast<Ear::Owner&>(*this));
    seat(line, ear);
    ear->connect(addresses_, now);
  }

  /// Tells the ear of a desk what to hear.
  static void tune(LineState& line) {
    bool first = true;
    for (const std::string& channel : std::exchange(line.to_hear, {})) {
      std::exchange(first, false) ? line.ear->listen(channel) : line.ear->listen_besides(channel);
    }
  }

  void retire(const std::shared_ptr<Ear>& ear) {
    ear->retire();
    if (ear->clean() && idle_ears_.size() < settings.options.idle_ears_max) {
      idle_ears_.push_back(ear);
    } else {
      ear->close();
    }
  }

  void remind_lines(core::Instant now) {
    for (LineState* line : lines_) {
      if (line->reminder > now) continue;
      line->reminder = core::Instant::max();
      delivery.later(*line, core::event::Reminded{});
    }
  }

  void seat(LineState& line, std::shared_ptr<Ear> ear) {
    ear->set_line(&line);
    line.ear = std::move(ear);
  }

  static std::shared_ptr<Ear> unseat(LineState& line) {
    line.ear->set_line(nullptr);
    return std::exchange(line.ear, nullptr);
  }

  /// No pool may have it: a desk does without, all others are lost.
  void lose_ear(LineState& line, const Failure& failure) {
    if (!line.deaf) return lose(line, failure);
    unseat(line)->close();
    line.to_hear.clear();
    delivery.later(line, core::event::Refused{core::Verb::listen, failure});
  }

  void forget(LineState& line) {
    line.open = line.announced = line.usable = false;
    line.to_hear.clear();
    line.reminder = core::Instant::max();
    ++line.epoch;
    lines_.erase(&line);
  }

  void announce(LineState& line) {
    const bool hears = line.deaf || (line.ear && line.ear->ready());
    if (!line.open || line.announced || !hears || !mouth->ready()) return;
    line.announced = true;
    // Waking the keeper for a pooled ear would cost more than all the rest of taking a free lock.
    delivery.with_next_turn(line, core::event::Opened{});
  }

  void on_ear_ready(Ear& ear) override {
    LineState* const line = ear.line();
    if (!line) return;
    announce(*line);
    if (!line->to_hear.empty()) tune(*line);
  }
  void on_mouth_ready() override {
    for (LineState* line : lines_) announce(*line);
  }

  void on_ear_broken(Ear& ear, const Failure& failure) override {
    if (failure.code == Errc::connect) has_failed_ = true;
    if (LineState* const line = ear.line()) return lose_ear(*line, failure);
    std::erase_if(idle_ears_, [&](const auto& idle) { return idle.get() == &ear; });
  }

  void on_mouth_unavailable(const Failure& failure) override {
    if (failure.code == Errc::connect) has_failed_ = true;
    const auto lines = lines_;
    for (LineState* line : lines) {
      if ((line->ear || line->deaf) && !line->announced) {
        lose(*line, failure);
      } else if (line->deaf && !numeric_) {
        must_ask_ = true;  // the host may have moved, and this line lives by the mouth alone
        for (Sleeper* sleeper : line->sleepers) sleeper->wake();
      }
    }
  }

  [[nodiscard]] bool mouth_wanted() const override { return !lines_.empty(); }
  [[nodiscard]] const Addresses& addresses() const override { return addresses_; }

  std::unordered_set<LineState*> lines_;         // the open ones
  std::vector<std::shared_ptr<Ear>> idle_ears_;  // all clean, the warmest last
  SpareReader spare_reader_;
  ServerTraits traits_;
  Addresses addresses_;  // the last that were known: the mouth goes on with them
  const bool numeric_;   // the URL gives an address, so that no resolver is needed
  bool must_ask_;        // before the next ear is connected
  bool resolving_ = false;
  bool has_failed_ = false;  // a connection, since the addresses were asked for
};

}  // namespace sublock::hiredis
