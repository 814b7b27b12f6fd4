// SPDX-License-Identifier: MIT
#pragma once

// A cluster of one node, which has all slots: as much as those tests need that look at one channel.

#include <live/live_world.hpp>
#include <sublock/transport/cluster.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace sublock::testing {

/// For LiveWorldOn and LineWorldOn.
struct LoneNode {
  using Transport = ClusterTransport;
  static constexpr const char* subscribe = "SSUBSCRIBE";
  static constexpr const char* publish = "SPUBLISH";
  static std::size_t subscribers(support::LiveRedis& server, const std::string& channel) {
    const std::string answer = server.command({"PUBSUB", "SHARDNUMSUB", channel});
    return std::stoul(answer.substr(answer.rfind('\n') + 1));
  }
  static std::string channel_of(const std::string& name) { return '{' + name + '}'; }
  static std::vector<std::string> arguments() {
    return {"--cluster-enabled", "yes", "--cluster-port", std::to_string(support::LiveRedis::free_port())};
  }
  static void prepare(support::LiveRedis& server) {
    server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    const auto is_well = [&] {
      return server.command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    };
    if (!support::eventually(is_well)) throw std::runtime_error("the node does not come up");
  }
  static ConnectionOptions reach(support::LiveRedis& server) {
    return {.url = "redis+cluster" + server.url().substr(5)};
  }
};

}  // namespace sublock::testing
