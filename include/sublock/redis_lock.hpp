// SPDX-License-Identifier: MIT
#pragma once

// The everyday lock: one of the two doors to hiredis, without which everything else of the library does.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/hiredis.hpp>

namespace sublock {

/// A lock on a Redis server.
using RedisLock = BasicRedisLock<HiredisTransport>;

}  // namespace sublock
