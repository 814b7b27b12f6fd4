// SPDX-License-Identifier: MIT
#pragma once

// A Redis Cluster of a test's own, on loopback: primaries that share all slots, and replicas of them. Where it can't
// form, the test fails.

#include "support/eventually.hpp"
#include "support/live_redis.hpp"

#include <sublock/transport/cluster/slot.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// Not thread-safe, as its nodes are not.
class LiveCluster {
 public:
  static constexpr std::chrono::milliseconds node_timeout{1000};

  /// `replicas` is at most as many as there are primaries; the first has the first.
  explicit LiveCluster(std::size_t primaries, std::size_t replicas = 0,
                       const std::vector<std::string>& arguments = {}) {
    for (std::size_t at = 0; at < primaries + replicas; ++at) {
      const std::string bus = std::to_string(LiveRedis::free_port());
      std::vector<std::string> all{"--cluster-enabled",      "yes",
                                   "--cluster-node-timeout", std::to_string(node_timeout.count()),
                                   "--cluster-port",         bus};
      all.insert(all.end(), arguments.begin(), arguments.end());
      nodes_.push_back(std::make_unique<LiveRedis>(std::move(all)));
      buses_.push_back(bus);
    }
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      must(*nodes_[at], {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(at + 1)});
      if (at < primaries)
        must(*nodes_[at], {"CLUSTER", "ADDSLOTSRANGE", first_slot(at, primaries), last_slot(at, primaries)});
      must(*nodes_[0], {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[at]->port()), buses_[at]});
    }
    wait_for("its nodes know each other",
             [&](LiveRedis& node) { return known_nodes(node) == nodes_.size(); });
    for (std::size_t at = 0; at < replicas; ++at)
      must(*nodes_[primaries + at], {"CLUSTER", "REPLICATE", id(*nodes_[at])});
    wait_until_well();
    for (std::size_t at = 0; at < replicas; ++at) {
      LiveRedis& replica = *nodes_[primaries + at];
      if (!eventually([&] { return has(replica, {"INFO", "REPLICATION"}, "master_link_status:up"); }, 20s))
        throw std::runtime_error("a replica does not follow: " + replica.log());
    }
  }

  /// Of all its nodes.
  [[nodiscard]] std::string url() const {
    std::string hosts;
    for (const auto& node : nodes_)
      hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(node->port());
    return "redis+cluster://" + hosts;
  }
  /// Of one of them.
  [[nodiscard]] static std::string url(const LiveRedis& node) {
    return "redis+cluster" + node.url().substr(5);
  }

  [[nodiscard]] std::vector<std::unique_ptr<LiveRedis>>& nodes() noexcept { return nodes_; }

  /// The primary that serves the channel, as itself says.
  [[nodiscard]] LiveRedis& owner(const std::string& channel) {
    const std::size_t slot = sublock::cluster::slot_of(channel);
    for (auto& node : nodes_)
      if (runs(*node) && serves(*node, slot)) return *node;
    throw std::runtime_error("nobody serves " + channel);
  }
  /// A replica of that primary.
  [[nodiscard]] LiveRedis& replica_of(LiveRedis& primary) {
    for (auto& node : nodes_)
      if (runs(*node) && has(*node, {"INFO", "REPLICATION"}, "master_port:" + std::to_string(primary.port())))
        return *node;
    throw std::runtime_error("it has no replica");
  }
  [[nodiscard]] LiveRedis& other_primary(const LiveRedis& than) {
    for (auto& node : nodes_)
      if (node.get() != &than && runs(*node) && has(*node, {"INFO", "REPLICATION"}, "role:master"))
        return *node;
    throw std::runtime_error("there is no other primary");
  }

  /// Makes the replica the primary, as an administrator would, and waits until everybody knows.
  void fail_over_to(LiveRedis& replica) {
    must(replica, {"CLUSTER", "FAILOVER"});
    if (!eventually([&] { return has(replica, {"INFO", "REPLICATION"}, "role:master"); }))
      throw std::runtime_error("the replica does not take over: " + replica.log());
    wait_until_well();
  }

  /// Moves the channel's slot, which has no keys, in the order in which redis-cli does it.
  void migrate(const std::string& channel, LiveRedis& target) {
    LiveRedis& source = owner(channel);
    const std::string slot = std::to_string(sublock::cluster::slot_of(channel));
    must(target, {"CLUSTER", "SETSLOT", slot, "IMPORTING", id(source)});
    must(source, {"CLUSTER", "SETSLOT", slot, "MIGRATING", id(target)});
    for (LiveRedis* const told : {&target, &source})
      must(*told, {"CLUSTER", "SETSLOT", slot, "NODE", id(target)});
    wait_until_well();
  }

  void wait_until_well() {
    wait_for("all is well", [](LiveRedis& node) {
      return has(node, {"CLUSTER", "INFO"}, "cluster_state:ok");
    });
  }

  [[nodiscard]] static bool has(LiveRedis& node, const std::vector<std::string>& question,
                                const std::string& word) {
    return node.command(question).find(word) != std::string::npos;
  }

 private:
  static constexpr std::size_t slots = sublock::cluster::slots;

  static std::string first_slot(std::size_t at, std::size_t of) { return std::to_string(slots * at / of); }
  static std::string last_slot(std::size_t at, std::size_t of) {
    return std::to_string(slots * (at + 1) / of - 1);
  }
  static bool runs(const LiveRedis& node) { return node.pid() >= 0 && !node.paused(); }

  static void must(LiveRedis& node, const std::vector<std::string>& words) {
    const std::string answer = node.command(words);
    if (answer != "OK") throw std::runtime_error(words[1] + ": " + answer);
  }
  static std::string id(LiveRedis& node) { return node.command({"CLUSTER", "MYID"}); }

  static std::size_t known_nodes(LiveRedis& node) {
    const std::string info = node.command({"CLUSTER", "INFO"});
    const std::string key = "cluster_known_nodes:";
    return std::stoul(info.substr(info.find(key) + key.size()));
  }

  /// As it sees itself: a line of CLUSTER NODES, whose ninth word and those behind it are slots.
  static bool serves(LiveRedis& node, std::size_t slot) {
    std::istringstream lines(node.command({"CLUSTER", "NODES"}));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("myself,master") == std::string::npos) continue;
      std::istringstream words(line);
      std::string word;
      for (int skipped = 0; skipped < 8; ++skipped) words >> word;
      while (words >> word && word[0] != '[') {
        const std::size_t dash = word.find('-');
        const std::size_t first = std::stoul(word);
        const std::size_t last = dash == std::string::npos ? first : std::stoul(word.substr(dash + 1));
        if (first <= slot && slot <= last) return true;
      }
    }
    return false;
  }

  template <class Condition>
  void wait_for(const std::string& what, Condition condition) {
    const auto all = [&] {
      return std::ranges::all_of(nodes_, [&](auto& node) { return !runs(*node) || condition(*node); });
    };
    if (!eventually(all, 30s)) throw std::runtime_error("the cluster does not come so far that " + what);
  }

  std::vector<std::unique_ptr<LiveRedis>> nodes_;
  std::vector<std::string> buses_;
};

}  // namespace support
