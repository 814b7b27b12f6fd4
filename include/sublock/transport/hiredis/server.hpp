// SPDX-License-Identifier: MIT
#pragma once

// One Redis server, as one transport object has it: the mouth that its lines share, their ears, and the pool of those
// that nobody needs just now.

#include <sublock/clock/steady.hpp>
#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/ear.hpp>
#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/mouth.hpp>
#include <sublock/transport/hiredis/own_ear.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::hiredis {

/// Everything here needs the hub's mutex, but for the constructor and the destructor.
class Server final : private Ear::Owner, private Mouth::Owner {
 public:
  /// `hub` outlives it, and so does where ears come from, if each line does not have its own.
  Server(Hub& hub, Settings its_settings, EarSource* source = nullptr)
      : settings(std::move(its_settings)),
        mouth(std::make_shared<Mouth>(hub.poller, settings, hub.spare_reader, hub.delivery,
                                      static_cast<Mouth::Owner&>(*this))),
        hub_(hub),
        source_(source),
        addresses_(numeric_addresses(settings.endpoint)),
        numeric_(!addresses_.empty()),
        must_ask_(!numeric_) {}

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Gets `line` an ear, from the pool or a new one, once there is an address.
  void open(LineState& line) {
    line.server = this;
    lines_.insert(&line);
    hub_.admit(line);
    if (watches() && mouth->ready()) watch(SteadyClock().now());
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
    deafen(line);
    forget(line);
    if (lines_.empty() && mouth->closed()) mouth->forget();
  }

  [[nodiscard]] bool needs_addresses(const LineState& line) const {
    return line.open && !line.ear && must_ask_ && (line.deaf ? !mouth->ready() : !line.usable);
  }
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

  /// What time brings about; returns when there is more of that.
  core::Instant tick(core::Instant now) {
    mouth->retry(now);
    if (watches()) watch(now);
    return std::min(mouth->retry_at(), watches() ? watch_at_ : core::Instant::max());
  }

  /// The line can't be had, or is no more.
  void lose(LineState& line, const Failure& failure) {
    if (line.ear) unseat(line)->drop();
    lines_.erase(&line);
    hub_.lose(line, failure);
  }

  const Settings settings;
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

  // --- as a node of a cluster --------------------------------------------------------------------

  /// A primary that is cut off goes on serving channels until it notices: whoever believes in it must ask.
  [[nodiscard]] bool watches() const { return settings.dialect.sharded && !lines_.empty(); }

  /// Asks how it sees the cluster, each `cluster_check_interval`; one that doesn't say within two is done for.
  void watch(core::Instant now) {
    if (now < watch_at_) return;
    const core::Duration interval = settings.options.cluster_check_interval;
    if (asked_at_ && now - *asked_at_ >= 2 * interval) mouth->pump(now);  // what has arrived counts
    if (asked_at_ && now - *asked_at_ >= 2 * interval) {
      return abandon("does not say any more how it sees the cluster");
    }
    watch_at_ = now + interval;
    hub_.poller.hasten(watch_at_);
    if (asked_at_ || !was_ready_) return;
    asked_at_ = now;
    mouth->say(nullptr, Request::cluster_state());
  }

  /// Nothing here is to be believed any more. It may come back, by a new greeting.
  void abandon(const std::string& why) {
    was_ready_ = false;
    asked_at_.reset();
    break_with_all({Errc::connect, "Redis at " + settings.where + ' ' + why});
    hub_.on_trouble();
  }

  void on_cluster_state(const std::string& trouble) override {
    asked_at_.reset();
    if (!trouble.empty()) abandon(trouble);
  }

  void on_misplaced(LineState* line, bool all, const std::string& why) override {
    if (all) return abandon(why);
    if (line) lose(*line, {Errc::connect, "Redis at " + settings.where + ' ' + why});
    hub_.on_trouble();
  }

  // --- connections -------------------------------------------------------------------------------

  /// There is another primary, so what still goes to the one before it is worth nothing.
  void break_with_the_old() {
    break_with_all({Errc::connect, "Redis " + settings.where + " has another primary now"});
  }

  void break_with_all(const Failure& failure) {
    for (const auto& ear : std::exchange(idle_ears_, {})) ear->drop();
    const auto lines = lines_;
    for (LineState* line : lines)
      if (line->ear) lose_ear(*line, failure);
    if (source_) source_->drop_all();
    mouth->break_off(failure);
  }

  [[nodiscard]] bool seat_idle_ear(LineState& line) {
    if (idle_ears_.empty()) return false;
    seat(line, std::move(idle_ears_.back()));
    idle_ears_.pop_back();
    return true;
  }

  void connect_ear(LineState& line, core::Instant now) {
    Ear::Owner& self = *this;
    const std::shared_ptr<Ear> ear = source_
                                         ? source_->ear_for(line, settings, *mouth, self)
                                         : std::make_shared<OwnEar>(hub_.poller, settings, hub_.spare_reader,
                                                                    hub_.delivery, traits_, self);
    seat(line, ear);
    ear->open(addresses_, now);
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
      ear->drop();
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
    unseat(line)->drop();
    line.to_hear.clear();
    hub_.delivery.later(line, core::event::Refused{core::Verb::listen, failure});
  }

  void forget(LineState& line) {
    lines_.erase(&line);
    hub_.dismiss(line);
  }

  void announce(LineState& line) {
    const bool hears = line.deaf || (line.ear && line.ear->hears_now());
    if (!line.open || line.announced || !hears || !mouth->ready()) return;
    line.announced = true;
    // Waking the keeper for a pooled ear would cost more than all the rest of taking a free lock.
    hub_.delivery.with_next_turn(line, core::event::Opened{line.ear ? line.ear->id() : std::string()});
  }

  void on_ear_ready(Ear& ear) override {
    LineState* const line = ear.line();
    if (!line) return;
    announce(*line);
    if (!line->to_hear.empty()) tune(*line);
  }
  void on_mouth_ready() override {
    was_ready_ = true;
    asked_at_.reset();
    watch_at_ = SteadyClock().now() + settings.options.cluster_check_interval;
    hub_.poller.hasten(watch_at_);
    for (LineState* line : lines_) announce(*line);
  }

  void on_ear_broken(Ear& ear, const Failure& failure) override {
    if (failure.code == Errc::connect) has_failed_ = true, hub_.on_trouble();
    if (LineState* const line = ear.line()) return lose_ear(*line, failure);
    std::erase_if(idle_ears_, [&](const auto& idle) { return idle.get() == &ear; });
  }

  void on_mouth_unavailable(const Failure& failure) override {
    if (failure.code == Errc::connect) has_failed_ = true, hub_.on_trouble();
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

  Hub& hub_;
  EarSource* const source_;
  std::unordered_set<LineState*> lines_;         // the open ones
  std::vector<std::shared_ptr<Ear>> idle_ears_;  // all clean, the warmest last
  ServerTraits traits_;
  Addresses addresses_;                    // the last that were known: the mouth goes on with them
  const bool numeric_;                     // the URL gives an address, so that no resolver is needed
  bool must_ask_;                          // before the next ear is connected
  bool was_ready_ = false;                 // the mouth, and the cluster was well
  std::optional<core::Instant> asked_at_;  // how it sees the cluster; not answered yet
  core::Instant watch_at_;                 // when that is due again
  bool has_failed_ = false;                // a connection, since the addresses were asked for
};

}  // namespace sublock::hiredis
