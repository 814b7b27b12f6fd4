// SPDX-License-Identifier: MIT
#pragma once

// One question to one server that somebody has to ask before it is known where to go. Blocks, so it is run by a thread
// that waits for a line to open, never with a mutex held.

#include <sublock/clock/steady.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/pipe.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <poll.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace sublock::hiredis {

/// One exchange with one server, on a connection of its own.
class Courier {
 public:
  /// Errors call the server `whom`, for instance "the sentinel at 10.0.0.1:26379".
  Courier(const Settings& settings, std::string whom, core::Instant deadline)
      : settings_(settings), whom_(std::move(whom)), deadline_(deadline) {}

  /// Sends `bytes` to the server that the user calls `name`, and returns the last of so many replies; a refusal ends
  /// it sooner.
  [[nodiscard]] std::variant<Reply, Failure> run(const Host& address, const std::string& name,
                                                 const std::string& bytes, int replies) {
    std::string why = "no answer in time";
    pipe_.open(dial(settings_, address, why));
    if (!pipe_) return failure(why);
    if (!wait_for(POLLOUT)) return failure(why);
    if (const auto outcome = dialled(pipe_.fd()); !outcome || !outcome->empty())
      return failure(outcome.value_or(why));
    if (settings_.options.tls) pipe_.encipher(*settings_.options.tls, name);
    std::size_t sent = 0;
    const Reader reader(::redisReaderCreate());
    if (!reader) throw std::bad_alloc();
    for (;;) {
      if (sent < bytes.size()) {
        const ssize_t count = pipe_.send(bytes.data() + sent, bytes.size() - sent);
        if (count < 0 && errno != EAGAIN && errno != EINTR) return failure(pipe_.failure().text);
        sent += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
      }
      char buffer[4096];
      const ssize_t count = pipe_.recv(buffer, sizeof buffer);
      if (count == 0) return failure("it closed the connection");
      if (count < 0 && errno != EAGAIN && errno != EINTR) return failure(pipe_.failure().text);
      if (count > 0) ::redisReaderFeed(reader.get(), buffer, static_cast<std::size_t>(count));
      for (void* raw = nullptr; count > 0; raw = nullptr) {
        if (::redisReaderGetReply(reader.get(), &raw) != REDIS_OK) return failure(reader->errstr);
        if (raw == nullptr) break;
        Reply reply(static_cast<redisReply*>(raw));
        if (--replies == 0 || is_error(*reply)) return reply;
      }
      const bool writes = sent < bytes.size() && !pipe_.waits_for_peer();
      if (count <= 0 && !wait_for(static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN)))
        return failure(why);
    }
  }

 private:
  [[nodiscard]] bool wait_for(short events) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - SteadyClock().now());
      if (left.count() <= 0) return false;
      pollfd poll = {pipe_.fd(), events, 0};
      const int ready =
          ::poll(&poll, 1, static_cast<int>(std::min<decltype(left)::rep>(left.count(), 3'600'000)));
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

  [[nodiscard]] Failure failure(const std::string& why) const { return {Errc::connect, whom_ + ": " + why}; }

  const Settings& settings_;
  const std::string whom_;
  const core::Instant deadline_;
  Pipe pipe_;
};

}  // namespace sublock::hiredis
