// SPDX-License-Identifier: MIT

// A user who tests code that takes locks, on a machine without hiredis.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/in_memory.hpp>

#if defined(HIREDIS_MAJOR)
#error "the core has brought hiredis along"
#endif

#include <iostream>

int main() {
  sublock::InMemoryRedis redis;
  using Lock = sublock::BasicRedisLock<sublock::InMemoryTransport>;
  Lock lock(redis.connect(), "nightly-import");
  lock.acquire();
  const bool held = redis.subscribers("nightly-import") == 1;
  std::cout << (lock.release() && held ? "taken and given back\n" : "something is wrong\n");
  return held ? 0 : 1;
}
