// SPDX-License-Identifier: MIT
#pragma once

// The lock with a lease that production uses: one of the two doors to hiredis.

#include <sublock/basic_redis_getlock.hpp>
#include <sublock/transport/hiredis.hpp>

namespace sublock {

/// A key with a short lease on one Redis server, extended as long as it is held.
using RedisGetlock = BasicRedisGetlock<HiredisTransport>;

}  // namespace sublock
