// SPDX-License-Identifier: MIT
#pragma once

// Where the server is, if somebody has to be asked: the system's resolver, or sentinels. May block, so it is called by a
// thread that waits for a line to open, never with a mutex held.

#include <sublock/clock/steady.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/pipe.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <poll.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

namespace sublock::hiredis {

/// One exchange with one server, on a connection of its own.
class Errand {
 public:
  Errand(const Settings& settings, std::string where, core::Instant deadline)
      : settings_(settings), where_(std::move(where)), deadline_(deadline) {}

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

  [[nodiscard]] Failure failure(const std::string& why) const {
    return {Errc::connect, "the sentinel at " + where_ + ": " + why};
  }

  const Settings& settings_;
  const std::string where_;
  const core::Instant deadline_;
  Pipe pipe_;
};

/// Asks one sentinel, which may have several addresses.
[[nodiscard]] inline std::variant<Addresses, Failure> ask_sentinel(const Settings& settings,
                                                                   const Host& sentinel,
                                                                   core::Instant deadline) {
  auto found = resolve(sentinel);
  if (std::holds_alternative<Failure>(found)) return found;
  std::string bytes;
  if (!settings.options.sentinel_password.empty())
    append(bytes, {"AUTH", settings.options.sentinel_password});
  append(bytes, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings.endpoint.primary});
  std::variant<Reply, Failure> answer = Failure{};
  for (const Host& address : std::get<Addresses>(found)) {
    answer = Errand(settings, sentinel.shown(), deadline)
                 .run(address, sentinel.name, bytes, settings.options.sentinel_password.empty() ? 1 : 2);
    if (std::holds_alternative<Reply>(answer)) break;
  }
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  const redisReply& reply = *std::get<Reply>(answer);
  const std::string at = "the sentinel at " + sentinel.shown();
  if (is_error(reply)) return Failure{Errc::connect, at + " says: " + shown(text_of(reply))};
  const auto port = is_array(reply, 2) ? url::number(text_of(*reply.element[1]), 65535) : std::nullopt;
  if (!port) return Failure{Errc::connect, at + " knows no primary of that name"};
  return resolve({std::string(text_of(*reply.element[0])), static_cast<std::uint16_t>(*port)});
}

/// The first sentinel's word that can be had within `connect_timeout`; each has an equal share of what is left.
[[nodiscard]] inline std::variant<Addresses, Failure> find_primary(const Settings& settings) {
  const core::Instant deadline = core::saturating_add(SteadyClock().now(), settings.options.connect_timeout);
  std::string reasons;
  std::size_t left = settings.endpoint.sentinels.size();
  for (const Host& sentinel : settings.endpoint.sentinels) {
    const core::Instant now = SteadyClock().now();
    const auto share =
        std::max(deadline - now, core::Duration::zero()) / static_cast<core::Duration::rep>(left--);
    auto answer = ask_sentinel(settings, sentinel, now + share);
    if (std::holds_alternative<Addresses>(answer)) return answer;
    reasons += (reasons.empty() ? "" : "; ") + std::get<Failure>(answer).text;
  }
  return Failure{Errc::connect, "nobody says where Redis " + settings.where + " is: " + reasons};
}

/// Asks whoever knows.
[[nodiscard]] inline std::variant<Addresses, Failure> look_up(const Settings& settings) {
  if (!settings.endpoint.sentinels.empty()) return find_primary(settings);
  return resolve({settings.endpoint.host, settings.endpoint.port});
}

}  // namespace sublock::hiredis
