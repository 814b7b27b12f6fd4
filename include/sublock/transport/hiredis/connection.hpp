// SPDX-License-Identifier: MIT
#pragma once

// What every transport over sockets is: a hub, and the thread that looks after it, shared by many lines.

#include <sublock/bury.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>
#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/keeper.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sublock::hiredis {

/// Lives in a shared_ptr. Thread-safe by `mutex()`.
///
/// - The keeper thread starts with the first line that is opened, blocks all signals, and ends with the
///   object; so does every socket. The destructor returns at once, whatever the server does.
/// - SIGPIPE is never raised and its disposition not touched.
/// - After fork() the child has no descriptor of it, and `foreign()` is true there; a new object works.
/// - A server that falls silent is noticed within `health_check_interval` + `health_check_timeout`.
/// - Looking up a host name happens inside `Line::wait`, and takes as long as the resolver takes.
class Connection {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Held around every call on a line.
  [[nodiscard]] std::mutex& mutex() const noexcept { return hub_->mutex; }

  /// "Redis at 127.0.0.1:6379".
  [[nodiscard]] std::string server() const { return hub_->name(); }

  /// The keeper has not been able to look after its lines, see Pulse.
  [[nodiscard]] bool stalled() const noexcept { return hub_->pulse.gap() != core::Duration::zero(); }

  /// Whether it was made by a parent process, before a fork.
  [[nodiscard]] bool foreign() const noexcept { return generation_ != ForkGuard::instance().generation(); }

 protected:
  explicit Connection(std::shared_ptr<Hub> hub)
      : generation_(ForkGuard::instance().generation()),
        hub_(std::move(hub)),
        keeper_(std::make_unique<Keeper>()) {}

  /// Must not be called with the mutex held.
  ~Connection() {
    if (foreign()) {
      // The keeper doesn't exist here, and what it was doing when the process forked is half done.
      bury(std::move(keeper_));
      bury(std::move(hub_));
    }
  }

 private:
  friend class Place;

  [[nodiscard]] Hub& hub() const noexcept { return *hub_; }

  /// Makes what is made once; needs the mutex. Returns why not, or nothing.
  [[nodiscard]] std::string start() {
    if (const std::string why = hub_->poller.start(); !why.empty())
      return "can't connect to " + server() + ": " + why;
    const std::string why = keeper_->start(hub_);
    return why.empty() ? why : "can't start the thread that reads from Redis: " + why;
  }

  unsigned generation_;
  std::shared_ptr<Hub> hub_;
  std::unique_ptr<Keeper> keeper_;  // stops before the hub may go
};

}  // namespace sublock::hiredis
