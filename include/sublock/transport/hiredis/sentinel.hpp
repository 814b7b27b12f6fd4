// SPDX-License-Identifier: MIT
#pragma once

// Where the server is, if somebody has to be asked: the system's resolver, or sentinels. May block, so it is called by a
// thread that waits for a line to open, never with a mutex held.

#include <sublock/clock/steady.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/courier.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

namespace sublock::hiredis {

/// Asks one sentinel, which may have several addresses.
[[nodiscard]] inline std::variant<Addresses, Failure> ask_sentinel(const Settings& settings,
                                                                   const Host& sentinel,
                                                                   core::Instant deadline) {
  const std::string at = "the sentinel at " + sentinel.shown();
  auto found = resolve(sentinel);
  if (std::holds_alternative<Failure>(found)) return found;
  std::string bytes;
  if (!settings.options.sentinel_password.empty())
    append(bytes, {"AUTH", settings.options.sentinel_password});
  append(bytes, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings.endpoint.primary});
  std::variant<Reply, Failure> answer = Failure{};
  for (const Host& address : std::get<Addresses>(found)) {
    answer = Courier(settings, at, deadline)
                 .run(address, sentinel.name, bytes, settings.options.sentinel_password.empty() ? 1 : 2);
    if (std::holds_alternative<Reply>(answer)) break;
  }
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  const redisReply& reply = *std::get<Reply>(answer);
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
