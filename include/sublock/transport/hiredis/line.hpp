// SPDX-License-Identifier: MIT
#pragma once

// What a lock sees of a connection over sockets: verbs in, events out.

#include <sublock/bury.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/core/event.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/connection.hpp>
#include <sublock/transport/hiredis/server.hpp>
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

namespace sublock::hiredis {

/// What a line and a desk have in common. Everything needs the transport's mutex.
class Place {
 public:
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void open(std::string_view channel = {}) {
    if (connection_->foreign() || state_->open || state_->lost) return;
    const std::string why = connection_->start();
    why.empty() ? hub().open(*state_, channel) : hub().lose(*state_, {Errc::connect, why});
  }

  void close() {
    if (!connection_->foreign() && (state_->open || state_->lost)) hub().close(*state_);
  }

  void publish(std::string_view channel, std::string_view payload) {
    if (usable()) say(Request::publish(dialect(), channel, payload));
  }

  void increment(std::string_view key) { say(Request::increment(key)); }

  void remind(core::Duration delay) {
    if (usable()) hub().remind(*state_, core::saturating_add(SteadyClock().now(), delay));
  }

  /// The calling thread reads the connections itself while it waits.
  void wait(std::unique_lock<std::mutex>& lock, core::Duration at_most, std::stop_token stop) {
    if (connection_->foreign()) return;
    attendance_ ? attendance_->wait(lock, at_most, stop) : Waiter(hub(), *state_).wait(lock, at_most, stop);
  }

  /// From now on, and until it is told otherwise, the calling thread keeps the mutex but for its waits, which
  /// follow one another: it reads the connections alone, and spares the keeper the race for them.
  void attend(bool whether) {
    if (connection_->foreign()) return;
    attendance_.reset();
    if (whether) attendance_ = std::make_unique<Waiter>(hub(), *state_);
  }

 protected:
  Place(std::shared_ptr<Connection> connection, core::Listener& listener, bool deaf)
      : connection_(std::move(connection)), state_(std::make_shared<LineState>(listener)) {
    state_->deaf = deaf;
  }
  ~Place() {
    if (connection_->foreign()) {
      bury(std::move(state_));
      bury(std::move(attendance_));
    } else {
      attend(false);
      close();
    }
  }

  [[nodiscard]] Hub& hub() const noexcept { return connection_->hub(); }
  [[nodiscard]] LineState& state() const noexcept { return *state_; }
  [[nodiscard]] bool usable() const noexcept { return !connection_->foreign() && state_->usable; }
  [[nodiscard]] const Dialect& dialect() const noexcept { return state_->server->settings.dialect; }
  void say(Request request) {
    if (usable()) state_->server->mouth->say(state_.get(), std::move(request));
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<LineState> state_;
  std::unique_ptr<Waiter> attendance_;
};

/// One participant's ear, and its share of the mouth. Everything needs the transport's mutex.
class Line : public Place {
 public:
  Line(std::shared_ptr<Connection> connection, core::Listener& listener)
      : Place(std::move(connection), listener, false) {}

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
    if (usable()) say(Request::ping(dialect(), channel, response_channel, payload));
  }

  void ask(std::string_view channel, std::string_view response_channel, std::string_view payload) {
    if (usable()) state().ear->ask(channel, response_channel, payload);
  }

  void count(std::string_view channel) {
    if (usable()) say(Request::count(dialect(), channel));
  }

  void list() { say(Request::list()); }

  void kill(const std::vector<std::int64_t>& ids) {
    if (!usable()) return;
    if (ids.empty()) return hub().delivery.later(state(), core::event::Killed{});
    say(Request::kill(ids));
  }
};

/// Blocks until `connection` has proved that it works where `channel` lives, at most for its own limits; throws
/// LockError where it doesn't.
inline void prove(const std::shared_ptr<Connection>& connection, std::string_view channel = {}) {
  struct : core::Listener {
    void on_event(const core::Event& event) override {
      opened = opened || std::holds_alternative<core::event::Opened>(event);
      if (const auto* lost = std::get_if<core::event::Lost>(&event)) failure = lost->failure;
    }
    bool opened = false;
    std::optional<Failure> failure;
  } listener;
  {
    std::unique_lock lock(connection->mutex());
    Line line(connection, listener);
    line.open(channel);
    // The transport's own limits end this, one way or the other.
    while (!listener.opened && !listener.failure) line.wait(lock, core::Duration::max(), {});
  }
  if (listener.failure) throw LockError(*listener.failure);
}

}  // namespace sublock::hiredis
