// SPDX-License-Identifier: MIT

// The cluster transport under the laws of all transports, and its lock under those of all locks. One node is enough for
// that: a law has one channel, and so one slot.

#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <live/line_world.hpp>
#include <live/live_world.hpp>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/use_laws.hpp>
#include <sublock/redis_cluster_lock.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace sublock::testing {
namespace {

/// A node that has all slots.
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

/// A shard takes no subscription in a transaction.
struct LineWorld : LineWorldOn<LoneNode> {
  static constexpr bool refuses_to_ask = true;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, TransportLaws, LineWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, LineLaws, LineWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, LockLaws, LiveWorldOn<LoneNode>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, LockUseLaws, LiveWorldOn<LoneNode>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cluster, LockLossLaws, LiveWorldOn<LoneNode>);

}  // namespace
}  // namespace sublock::testing
