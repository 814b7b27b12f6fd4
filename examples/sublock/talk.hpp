// SPDX-License-Identifier: MIT
#pragma once

// A conversation with the server in plain words, for questions that a lock never asks: one command, one answer,
// the caller waits. Connects and logs in by the library's own rooms, which only this one of ours knows; knows nothing
// of locks.

#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/greeting.hpp>
#include <sublock/transport/hiredis/pipe.hpp>
#include <sublock/transport/hiredis/reply.hpp>
#include <sublock/transport/hiredis/sentinel.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace command {

using sublock::hiredis::is_error;
using sublock::hiredis::Reply;
using sublock::hiredis::text_of;

class Talk {
 public:
  /// Throws LockError where the server can't be reached or refuses us: as a client, not as somebody who wants a
  /// lock; that is told by `objection`.
  explicit Talk(const sublock::ConnectionOptions& options)
      : settings_(options), limit_(options.connect_timeout), reader_(::redisReaderCreate()) {
    if (!reader_) throw std::bad_alloc();
    connect();
    greet();
  }

  /// Why no lock can be had here: a replica, a cluster, no such database.
  [[nodiscard]] const std::optional<sublock::Failure>& objection() const noexcept { return objection_; }
  [[nodiscard]] const std::string& where() const noexcept { return settings_.where; }
  /// As whom we are logged in.
  [[nodiscard]] std::string user() const {
    return settings_.endpoint.user.empty() ? "default" : settings_.endpoint.user;
  }

  /// The answer, which may be an error. Throws LockError where none comes.
  [[nodiscard]] Reply ask(std::initializer_list<std::string_view> words) {
    std::string bytes;
    sublock::hiredis::append(bytes, words);
    send(bytes);
    return next();
  }

 private:
  void connect() {
    using namespace sublock::hiredis;
    Addresses addresses = numeric_addresses(settings_.endpoint);
    if (addresses.empty()) {
      auto found = look_up(settings_);
      if (const auto* failure = std::get_if<sublock::Failure>(&found)) throw sublock::LockError(*failure);
      addresses = std::get<Addresses>(std::move(found));
    }
    std::string why;
    for (const Host& address : addresses) {
      pipe_.open(dial(settings_, address, why));
      if (!pipe_) continue;
      static_cast<void>(wait_for(POLLOUT));
      why = dialled(pipe_.fd()).value_or("no answer in time");
      if (!why.empty()) continue;
      if (settings_.options.tls)
        pipe_.encipher(*settings_.options.tls,
                       settings_.endpoint.host.empty() ? address.name : settings_.endpoint.host);
      return;
    }
    fail("can't connect to Redis at " + where() + ": " + why);
  }

  void greet() {
    sublock::hiredis::Greeting greeting(settings_, false);
    while (!greeting.done()) {
      if (const std::string bytes = greeting.take_bytes(); !bytes.empty()) send(bytes);
      const auto failure = greeting.take(*next());
      if (!failure) continue;
      if (failure->code != sublock::Errc::usage) throw sublock::LockError(*failure);
      if (!objection_) objection_ = failure;
    }
    greeted_ = true;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = pipe_.send(bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait_for(pipe_.waits_for_peer() ? POLLIN : POLLOUT)) fail_waiting();
      } else if (errno != EINTR) {
        fail_broken();
      }
    }
  }

  [[nodiscard]] Reply next() {
    std::array<char, 16UL * 1024> bytes{};
    for (;;) {
      void* raw = nullptr;
      if (::redisReaderGetReply(reader_.get(), &raw) != REDIS_OK)
        throw sublock::LockError(
            {sublock::Errc::protocol, "Redis at " + where() + " doesn't speak its protocol"});
      if (raw != nullptr) return Reply(static_cast<redisReply*>(raw));
      const ssize_t count = pipe_.recv(bytes.data(), bytes.size());
      if (count > 0) {
        ::redisReaderFeed(reader_.get(), bytes.data(), static_cast<std::size_t>(count));
      } else if (count == 0) {
        fail("Redis at " + where() + " closed the connection");
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait_for(POLLIN)) fail_waiting();
      } else if (errno != EINTR) {
        fail_broken();
      }
    }
  }

  /// False once the time for one step is over.
  [[nodiscard]] bool wait_for(short what) const {
    pollfd poll{pipe_.fd(), what, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit_).count();
    for (;;) {
      const int ready = ::poll(&poll, 1, static_cast<int>(std::min<long long>(milliseconds, 3'600'000)));
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

  [[noreturn]] void fail_waiting() const {
    const bool greeted = greeted_ || !pipe_.hoards();
    fail("Redis at " + where() + " did not answer in time" + (greeted ? "" : "; does it speak TLS there?"));
  }

  [[noreturn]] void fail_broken() const {
    const sublock::Failure why = pipe_.failure();
    throw sublock::LockError({why.code, "the connection to Redis at " + where() + " broke: " + why.text});
  }

  [[noreturn]] static void fail(std::string why) {
    throw sublock::LockError({sublock::Errc::connect, std::move(why)});
  }

  const sublock::hiredis::Settings settings_;
  const sublock::core::Duration limit_;
  sublock::hiredis::Reader reader_;
  sublock::hiredis::Pipe pipe_;
  bool greeted_ = false;
  std::optional<sublock::Failure> objection_;
};

}  // namespace command
