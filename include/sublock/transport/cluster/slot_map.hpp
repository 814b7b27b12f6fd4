// SPDX-License-Identifier: MIT
#pragma once

// Who owns which slots, as a node of the cluster says, and whom to ask. Blocks, so it is run by a thread that waits for a
// line to open, never with a mutex held.

#include <sublock/error.hpp>
#include <sublock/transport/cluster/slot.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/courier.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::cluster {

using hiredis::Host;

/// A run of slots and the primary that owns them.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
  Host owner;
  hiredis::Addresses addresses = {};  ///< its; empty where its name can't be looked up
};

/// The cluster as one node sees it.
struct SlotMap {
  std::vector<Range> ranges;
  std::vector<Host> nodes;  ///< replicas among them: anybody may be asked next time

  /// Null where the slot has no owner. O(ranges).
  [[nodiscard]] const Range* find(std::size_t slot) const {
    const auto found = std::ranges::find_if(
        ranges, [slot](const Range& range) { return range.first <= slot && slot <= range.last; });
    return found == ranges.end() ? nullptr : &*found;
  }
};

/// The answer to CLUSTER SLOTS. A node whose address is not known there goes by that of `asked`. Nothing for what no
/// Redis would say.
[[nodiscard]] inline std::optional<SlotMap> read_slot_map(const redisReply& reply, const Host& asked) {
  if (reply.type != REDIS_REPLY_ARRAY) return std::nullopt;
  SlotMap map;
  for (std::size_t at = 0; at < reply.elements; ++at) {
    const redisReply& entry = *reply.element[at];
    if (entry.type != REDIS_REPLY_ARRAY || entry.elements < 3) return std::nullopt;
    const redisReply& first = *entry.element[0];
    const redisReply& last = *entry.element[1];
    const auto is_slot = [](const redisReply& number) {
      return number.type == REDIS_REPLY_INTEGER && number.integer >= 0 &&
             static_cast<std::size_t>(number.integer) < slots;
    };
    if (!is_slot(first) || !is_slot(last)) return std::nullopt;
    for (std::size_t node = 2; node < entry.elements; ++node) {
      const redisReply& told = *entry.element[node];
      constexpr long long port_max = 65'535;
      if (told.type != REDIS_REPLY_ARRAY || told.elements < 2) return std::nullopt;
      const redisReply& port = *told.element[1];
      if (port.type != REDIS_REPLY_INTEGER || port.integer < 1 || port.integer > port_max)
        return std::nullopt;
      std::string name(hiredis::text_of(*told.element[0]));
      if (name.empty() || name == "?") name = asked.name;
      const Host host{std::move(name), static_cast<std::uint16_t>(port.integer)};
      if (std::ranges::find(map.nodes, host) == map.nodes.end()) map.nodes.push_back(host);
      if (node > 2) continue;
      map.ranges.push_back(
          {static_cast<std::size_t>(first.integer), static_cast<std::size_t>(last.integer), host});
    }
  }
  return map;
}

/// The addresses of all owners; mostly they are numbers already.
inline void look_up(SlotMap& map) {
  for (Range& range : map.ranges) {
    const auto known = std::ranges::find(map.ranges, range.owner, &Range::owner);
    if (known->addresses.empty()) {
      auto found = hiredis::resolve(range.owner);
      if (auto* addresses = std::get_if<hiredis::Addresses>(&found)) known->addresses = std::move(*addresses);
    }
    range.addresses = known->addresses;
  }
}

/// Asks one node, which may have several addresses.
[[nodiscard]] inline std::variant<SlotMap, Failure> ask_node(const hiredis::Settings& settings,
                                                             const Host& node, core::Instant deadline) {
  const std::string whom = "the node at " + node.shown();
  auto found = hiredis::resolve(node);
  if (auto* failure = std::get_if<Failure>(&found)) return std::move(*failure);
  std::string bytes;
  const hiredis::Endpoint& endpoint = settings.endpoint;
  if (endpoint.password && endpoint.user.empty()) hiredis::append(bytes, {"AUTH", *endpoint.password});
  if (endpoint.password && !endpoint.user.empty())
    hiredis::append(bytes, {"AUTH", endpoint.user, *endpoint.password});
  hiredis::append(bytes, {"CLUSTER", "SLOTS"});
  std::variant<hiredis::Reply, Failure> answer = Failure{};
  for (const Host& address : std::get<hiredis::Addresses>(found)) {
    answer =
        hiredis::Courier(settings, whom, deadline).run(address, node.name, bytes, endpoint.password ? 2 : 1);
    if (std::holds_alternative<hiredis::Reply>(answer)) break;
  }
  if (auto* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  const redisReply& reply = *std::get<hiredis::Reply>(answer);
  if (hiredis::is_error(reply)) {
    const auto error = hiredis::text_of(reply);
    if (!hiredis::contains(error, "cluster support disabled"))
      return hiredis::refusal(node.shown(), "CLUSTER SLOTS", error);
    return Failure{Errc::usage,
                   "Redis at " + node.shown() + " is no node of a cluster; use sublock::RedisLock"};
  }
  if (auto map = read_slot_map(reply, node)) {
    look_up(*map);
    return std::move(*map);
  }
  return Failure{Errc::protocol, whom + " answered CLUSTER SLOTS with something else"};
}

/// The first word that can be had within `connect_timeout`, asking `nodes` in their order; each has an equal share of
/// what is left. A refusal for good is passed on only where nobody knows better.
[[nodiscard]] inline std::variant<SlotMap, Failure> find_owners(const hiredis::Settings& settings,
                                                                const std::vector<Host>& nodes) {
  const core::Instant deadline = core::saturating_add(SteadyClock().now(), settings.options.connect_timeout);
  std::string reasons;
  Errc code = Errc::connect;
  std::size_t left = nodes.size();
  for (const Host& node : nodes) {
    const core::Instant now = SteadyClock().now();
    const auto share =
        std::max(deadline - now, core::Duration::zero()) / static_cast<core::Duration::rep>(left--);
    auto answer = ask_node(settings, node, now + share);
    if (std::holds_alternative<SlotMap>(answer)) return answer;
    const Failure& failure = std::get<Failure>(answer);
    if (code == Errc::connect) code = failure.code;
    reasons += (reasons.empty() ? "" : "; ") + failure.text;
  }
  return Failure{code, "no node of the Redis cluster says who owns its slots: " + reasons};
}

}  // namespace sublock::cluster
