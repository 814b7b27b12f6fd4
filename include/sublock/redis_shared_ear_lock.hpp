// SPDX-License-Identifier: MIT
#pragma once

// The lock that shares its connection with others: a door to hiredis, as redis_lock.hpp is.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/shared_ear.hpp>

namespace sublock {

/// For thousands at once where connections are dear; SharedEarTransport says what it gives up.
using SharedEarLock = BasicRedisLock<SharedEarTransport>;

}  // namespace sublock
