// SPDX-License-Identifier: MIT
#pragma once

// The transport over a real Redis server, through hiredis. This file and its rooms in hiredis/ are the
// only place for sockets, threads and waiting. One lock that is held costs one socket; one transport
// object, however many locks use it, costs one thread and one command connection.

#include <sublock/bury.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/lease/value.hpp>
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
  /// How `make` is told where to connect.
  using Options = ConnectionOptions;
  class Line;
  class Desk;

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

  /// Held around every call on a line.
  [[nodiscard]] std::mutex& mutex() const noexcept { return hub_->mutex; }

  /// "Redis at 127.0.0.1:6379".
  [[nodiscard]] std::string server() const { return "Redis at " + hub_->settings.where; }

  /// The keeper has not been able to look after its lines, see Pulse.
  [[nodiscard]] bool stalled() const noexcept { return hub_->pulse.gap() != core::Duration::zero(); }

  /// Whether it was made by a parent process, before a fork.
  [[nodiscard]] bool foreign() const noexcept {
    return generation_ != hiredis::ForkGuard::instance().generation();
  }

 private:
  class Place;

  explicit HiredisTransport(const Options& options)
      : generation_(hiredis::ForkGuard::instance().generation()),
        hub_(std::make_shared<hiredis::Hub>(options)),
        keeper_(std::make_unique<hiredis::Keeper>()) {}

  unsigned generation_;
  std::shared_ptr<hiredis::Hub> hub_;
  std::unique_ptr<hiredis::Keeper> keeper_;  // stops before the hub may go
};

/// What a line and a desk have in common. Everything needs the transport's mutex.
class HiredisTransport::Place {
 public:
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

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

  void publish(std::string_view channel, std::string_view payload) {
    say(hiredis::Request::publish(channel, payload));
  }

  void increment(std::string_view key) { say(hiredis::Request::increment(key)); }

  void remind(Duration delay) {
    if (usable()) hub().remind(*state_, core::saturating_add(SteadyClock().now(), delay));
  }

  /// The calling thread reads the connections itself while it waits.
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
    if (transport_->foreign()) return;
    attendance_ ? attendance_->wait(lock, at_most, stop)
                : hiredis::Waiter(hub(), *state_).wait(lock, at_most, stop);
  }

  /// From now on, and until it is told otherwise, the calling thread keeps the mutex but for its waits, which
  /// follow one another: it reads the connections alone, and spares the keeper the race for them.
  void attend(bool whether) {
    if (transport_->foreign()) return;
    attendance_.reset();
    if (whether) attendance_ = std::make_unique<hiredis::Waiter>(hub(), *state_);
  }

 protected:
  Place(std::shared_ptr<HiredisTransport> transport, core::Listener& listener, bool deaf)
      : transport_(std::move(transport)), state_(std::make_shared<hiredis::LineState>(listener)) {
    state_->deaf = deaf;
  }
  ~Place() {
    if (transport_->foreign()) {
      bury(std::move(state_));
      bury(std::move(attendance_));
    } else {
      attend(false);
      close();
    }
  }

  [[nodiscard]] hiredis::Hub& hub() const noexcept { return *transport_->hub_; }
  [[nodiscard]] hiredis::LineState& state() const noexcept { return *state_; }
  [[nodiscard]] bool usable() const noexcept { return !transport_->foreign() && state_->usable; }
  void say(hiredis::Request request) {
    if (usable()) hub().mouth->say(state_.get(), std::move(request));
  }

 private:
  std::shared_ptr<HiredisTransport> transport_;
  std::shared_ptr<hiredis::LineState> state_;
  std::unique_ptr<hiredis::Waiter> attendance_;
};

/// One participant's ear, and its share of the mouth. Everything needs the transport's mutex.
class HiredisTransport::Line : public Place {
 public:
  Line(std::shared_ptr<HiredisTransport> transport, core::Listener& listener)
      : Place(std::move(transport), listener, false) {}

  void join(std::string_view channel, std::string_view response_channel, std::string_view client_name,
            const core::action::Rosters& rosters = {}) {
    if (usable()) state().ear->join(channel, response_channel, client_name, rosters);
  }

  void listen(std::string_view channel) {
    if (usable()) state().ear->listen(channel);
  }

  void leave(const std::vector<core::action::Note>& notes = {}) {
    if (usable()) state().ear->leave(notes);
  }

  void ping(std::string_view channel, std::string_view response_channel, std::string_view payload) {
    say(hiredis::Request::ping(channel, response_channel, payload));
  }

  void ask(std::string_view channel, std::string_view response_channel, std::string_view payload) {
    if (usable()) state().ear->ask(channel, response_channel, payload);
  }

  void count(std::string_view channel) { say(hiredis::Request::count(channel)); }

  void list() { say(hiredis::Request::list()); }

  void kill(const std::vector<std::int64_t>& ids) {
    if (!usable()) return;
    if (ids.empty()) return hub().delivery.later(state(), core::event::Killed{});
    say(hiredis::Request::kill(ids));
  }
};

/// One lease's share of the mouth, and an ear while it waits. Everything needs the transport's mutex.
class HiredisTransport::Desk : public Place {
 public:
  Desk(std::shared_ptr<HiredisTransport> transport, core::Listener& listener)
      : Place(std::move(transport), listener, true) {}

  void take(const std::string& key, const std::string& value, Duration expire) {
    exchange(core::Verb::take, {.key = key, .value = value, .expire = in_milliseconds(expire)});
  }

  void extend(const std::string& key, const std::string& mark, const std::string& value, Duration expire) {
    exchange(core::Verb::extend, {key, mark, value, in_milliseconds(expire)});
  }

  void drop(const std::string& key, const std::string& mark) {
    exchange(core::Verb::drop, {.key = key, .mark = mark});
  }

  void look(const std::string& key) { exchange(core::Verb::look, {.key = key}); }

  /// From the server, too, where its notify-keyspace-events has K and g, x or e.
  void hear(const std::string& key) {
    if (!usable()) return;
    const std::string database = std::to_string(hub().settings.endpoint.database);
    hub().hear(state(), {core::lease::release_channel(key), "__keyspace@" + database + "__:" + key});
  }

  void deafen() {
    if (usable()) hub().deafen(state());
  }

 private:
  static std::chrono::milliseconds in_milliseconds(Duration span) {
    return std::chrono::ceil<std::chrono::milliseconds>(span);
  }

  void exchange(core::Verb verb, hiredis::KeyClaim claim) {
    if (usable()) say(hiredis::Request::about({verb, std::move(claim), hub().mouth->is_old()}));
  }
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

static_assert(LeaseTransportPolicy<HiredisTransport>);

}  // namespace sublock
