// SPDX-License-Identifier: MIT
#pragma once

// The only opinion on overlap, from outside: two who believe to hold the lock, both of whose subscriptions
// the server still counts, must be compatible. Asks the believers and the server, never the lock.

#include <sublock/transport/in_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {

using Clients = std::vector<InMemoryRedis::Client>;

/// One who has been told that he has the lock, and not yet that he has lost it.
struct Believer {
  std::string channel;
  std::vector<std::int64_t> ears;  ///< the connections that make it so, by the server's id
  bool is_shared = false;
};

/// The connections of that name that are subscribed to the channel. More than one only where an earlier
/// attempt of the same object is still on its way to its end.
[[nodiscard]] inline std::vector<std::int64_t> ears_of(const std::string& channel, const std::string& name,
                                                       const Clients& clients) {
  std::vector<std::int64_t> ears;
  for (const auto& client : clients) {
    const bool subscribes = std::ranges::find(client.channels, channel) != client.channels.end();
    if (subscribes && client.name == name) ears.push_back(client.id);
  }
  return ears;
}

/// Whether the server still counts that subscription.
[[nodiscard]] inline bool is_counted(const Believer& believer, const Clients& clients) {
  return std::ranges::any_of(clients, [&](const InMemoryRedis::Client& client) {
    return std::ranges::find(believer.ears, client.id) != believer.ears.end() &&
           std::ranges::find(client.channels, believer.channel) != client.channels.end();
  });
}

/// Two of them that exclude each other and are both counted; nothing where there are none.
[[nodiscard]] inline std::optional<std::string> overlap(const std::vector<Believer>& believers,
                                                        const Clients& clients) {
  for (auto one = believers.begin(); one != believers.end(); ++one) {
    for (auto other = one + 1; other != believers.end(); ++other) {
      if (one->channel != other->channel || (one->is_shared && other->is_shared)) continue;
      if (is_counted(*one, clients) && is_counted(*other, clients)) {
        return "two holders of " + one->channel + ": connection " + std::to_string(one->ears.front()) +
               " and connection " + std::to_string(other->ears.front());
      }
    }
  }
  return {};
}

/// Keeps the list of believers. An overlap can begin only where somebody begins to believe, for nobody is
/// counted again who was not, so that is when the referee looks.
class Referee {
 public:
  using Seat = std::size_t;

  /// `lost` is whether the believer has been told of his loss.
  Seat enters(Believer believer, std::function<bool()> lost) {
    believers_.emplace(++seats_, Entry{std::move(believer), std::move(lost)});
    return seats_;
  }

  void leaves(Seat seat) { believers_.erase(seat); }

  [[nodiscard]] std::optional<std::string> look(const InMemoryRedis& redis) const {
    std::vector<Believer> believers;
    for (const auto& [seat, entry] : believers_) {
      if (!entry.lost()) believers.push_back(entry.believer);
    }
    return overlap(believers, redis.connections());
  }

 private:
  struct Entry {
    Believer believer;
    std::function<bool()> lost;
  };

  std::map<Seat, Entry> believers_;
  Seat seats_ = 0;
};

}  // namespace sublock::testing
