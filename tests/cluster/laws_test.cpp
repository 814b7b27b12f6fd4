// SPDX-License-Identifier: MIT

// The cluster transport under the laws of all transports, and its lock under those of all locks. One node is enough for
// that: a law has one channel, and so one slot.

#include <cluster/lone_node.hpp>
#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <live/line_world.hpp>
#include <live/live_world.hpp>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/use_laws.hpp>
#include <sublock/redis_cluster_lock.hpp>

namespace sublock::testing {
namespace {

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
