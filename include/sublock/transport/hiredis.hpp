// SPDX-License-Identifier: MIT
#pragma once

// The transport over a real Redis server, through hiredis. This file and its rooms in hiredis/ are the
// only place for sockets, threads and waiting. One lock that is held costs one socket; one transport
// object, however many locks use it, costs one thread and one command connection.

#include <sublock/bury.hpp>
#include <sublock/core/event.hpp>
#include <sublock/error.hpp>
#include <sublock/policies.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>
#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/keeper.hpp>
#include <sublock/transport/hiredis/waiter.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sublock {

/// A connection to one Redis server, for many locks. Lives in a shared_ptr. Thread-safe by `mutex()`.
///
/// - The keeper thread starts with the first line that is opened, blocks all signals, and ends with the
///   object; so does every socket. The destructor returns at once, whatever the server does.
/// - SIGPIPE is never raised and its disposition not touched.
/// - After fork() the child has no descriptor of it, and `foreign()` is true there; a new object works.
/// - A server that falls silent is noticed within `health_check_interval` + `health_check_timeout`.
/// - Looking up a host name happens inside `Line::wait`, and takes as long as the resolver takes.
class HiredisTransport {
 public:
  using Options = ConnectionOptions;
  class Line;

  /// Throws LockError(usage) for options that make no sense. Neither connects nor blocks.
  [[nodiscard]] static std::shared_ptr<HiredisTransport> make(const Options& options) {
    return std::shared_ptr<HiredisTransport>(new HiredisTransport(options));
  }

  HiredisTransport(const HiredisTransport&) = delete;
  HiredisTransport& operator=(const HiredisTransport&) = delete;

  /// Must not be called with the mutex held.
  ~HiredisTransport() {
    if (foreign()) {
      // The keeper doesn't exist here, and what it was doing when the process forked is half done.
      bury(std::move(keeper_));
      bury(std::move(hub_));
    }
  }

  [[nodiscard]] std::mutex& mutex() const noexcept { return hub_->mutex; }

  /// "Redis at 127.0.0.1:6379".
  [[nodiscard]] std::string server() const { return "Redis at " + hub_->settings.where; }

  /// The keeper has not been able to look after its lines, see Pulse.
  [[nodiscard]] bool stalled() const noexcept { return hub_->pulse.gap() != core::Duration::zero(); }

  [[nodiscard]] bool foreign() const noexcept {
    return generation_ != hiredis::ForkGuard::instance().generation();
  }

 private:
  explicit HiredisTransport(const Options& options)
      : generation_(hiredis::ForkGuard::instance().generation()),
        hub_(std::make_shared<hiredis::Hub>(options)),
        keeper_(std::make_unique<hiredis::Keeper>()) {}

  unsigned generation_;
  std::shared_ptr<hiredis::Hub> hub_;
  std::unique_ptr<hiredis::Keeper> keeper_;  // stops before the hub may go
};

/// One participant's ear, and its share of the mouth. Everything needs the transport's mutex.
class HiredisTransport::Line {
 public:
  Line(std::shared_ptr<HiredisTransport> transport, core::Listener& listener)
      : transport_(std::move(transport)), state_(std::make_shared<hiredis::LineState>(listener)) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    if (transport_->foreign()) {
      bury(std::move(state_));
      bury(std::move(attendance_));
    } else {
      attend(false);
      close();
    }
  }

  void open() {
    if (transport_->foreign()) return;
    hub().open(*state_);
    if (!state_->open) return;
    if (const std::string why = transport_->keeper_->start(transport_->hub_); !why.empty()) {
      hub().lose(*state_, {Errc::connect, "can't start the thread that reads from Redis: " + why});
    }
  }

  void close() {
    if (!transport_->foreign()) hub().close(*state_);
  }

  void join(std::string_view channel, std::string_view response_channel, std::string_view client_name,
            const core::action::Rosters& rosters = {}) {
    if (usable()) state_->ear->join(channel, response_channel, client_name, rosters);
  }

  void listen(std::string_view channel) {
    if (usable()) state_->ear->listen(channel);
  }

  void leave(const std::vector<core::action::Note>& notes = {}) {
    if (usable()) state_->ear->leave(notes);
  }

  void ping(std::string_view channel, std::string_view response_channel, std::string_view payload) {
    if (usable()) say(hiredis::Request::ping(channel, response_channel, payload));
  }

  void ask(std::string_view channel, std::string_view response_channel, std::string_view payload) {
    if (usable()) state_->ear->ask(channel, response_channel, payload);
  }

  void publish(std::string_view channel, std::string_view payload) {
    if (usable()) say(hiredis::Request::publish(channel, payload));
  }

  void count(std::string_view channel) {
    if (usable()) say(hiredis::Request::count(channel));
  }

  void list() {
    if (usable()) say(hiredis::Request::list());
  }

  void kill(const std::vector<std::int64_t>& ids) {
    if (!usable()) return;
    if (ids.empty()) return hub().delivery.later(*state_, core::event::Killed{});
    say(hiredis::Request::kill(ids));
  }

  void increment(std::string_view key) {
    if (usable()) say(hiredis::Request::increment(key));
  }

  void remind(Duration delay) {
    if (usable()) hub().remind(*state_, core::saturating_add(SteadyClock().now(), delay));
  }

  /// The calling thread reads the line's connections itself while it waits.
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
    if (transport_->foreign()) return;
    attendance_ ? attendance_->wait(lock, at_most, stop)
                : hiredis::Waiter(hub(), *state_).wait(lock, at_most, stop);
  }

  /// From now on, and until it is told otherwise, the calling thread keeps the mutex but for its waits, which
  /// follow one another: it reads the line's connections alone, and spares the keeper the race for them.
  void attend(bool whether) {
    if (transport_->foreign()) return;
    attendance_.reset();
    if (whether) attendance_ = std::make_unique<hiredis::Waiter>(hub(), *state_);
  }

 private:
  [[nodiscard]] hiredis::Hub& hub() const noexcept { return *transport_->hub_; }
  [[nodiscard]] bool usable() const noexcept { return !transport_->foreign() && state_->usable; }
  void say(hiredis::Request request) { hub().mouth->say(state_.get(), std::move(request)); }

  std::shared_ptr<HiredisTransport> transport_;
  std::shared_ptr<hiredis::LineState> state_;
  std::unique_ptr<hiredis::Waiter> attendance_;
};

/// A connection that is known to work: connected, authenticated, and to a primary. Blocks until then, at
/// most for `connect_timeout` and what the resolver takes; throws LockError (usage, auth, connect,
/// protocol) where that can't be had. Any thread.
[[nodiscard]] inline std::shared_ptr<HiredisTransport> connect(const ConnectionOptions& options) {
  struct : core::Listener {
    void on_event(const core::Event& event) override {
      opened = opened || std::holds_alternative<core::event::Opened>(event);
      if (const auto* lost = std::get_if<core::event::Lost>(&event)) failure = lost->failure;
    }
    bool opened = false;
    std::optional<Failure> failure;
  } listener;
  auto transport = HiredisTransport::make(options);
  {
    std::unique_lock lock(transport->mutex());
    HiredisTransport::Line line(transport, listener);
    line.open();
    // The transport's own limits end this, one way or the other.
    while (!listener.opened && !listener.failure) line.wait(lock, Duration::max(), {});
  }
  if (listener.failure) throw LockError(*listener.failure);
  return transport;
}

/// The same with a URL such as "redis://user:password@host:6379", and defaults for the rest.
[[nodiscard]] inline std::shared_ptr<HiredisTransport> connect(std::string url) {
  return connect(ConnectionOptions{.url = std::move(url)});
}

static_assert(TransportPolicy<HiredisTransport>);

}  // namespace sublock
