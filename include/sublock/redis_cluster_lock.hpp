// SPDX-License-Identifier: MIT
#pragma once

// The lock that lives in a Redis Cluster: a door to hiredis, as redis_lock.hpp is.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/cluster.hpp>

namespace sublock {

/// A lock at the primary that owns its channel's slot.
using RedisClusterLock = BasicRedisLock<ClusterTransport>;

}  // namespace sublock
