// SPDX-License-Identifier: MIT
#pragma once

// The everyday lock, and the one door to hiredis: everything else of the library does without it.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/hiredis.hpp>

namespace sublock {

/// A lock on a Redis server.
using RedisLock = BasicRedisLock<HiredisTransport>;

}  // namespace sublock
