// SPDX-License-Identifier: MIT
//
// The lock that is a key with a short lease: it outlives a connection that breaks for a moment, ends by itself
// two seconds after its owner, and is told lost when its lease could not be extended.

#include <sublock/basic_redis_getlock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <chrono>
#include <iostream>

namespace {

using namespace std::chrono_literals;

using Getlock = sublock::BasicRedisGetlock<sublock::InMemoryTransport, sublock::ManualClock>;

}  // namespace

int main() {
  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);
  const auto process = redis.connect();
  Getlock mine(process, "nightly-import", {.clock = clock});
  Getlock other(redis.connect(), "nightly-import", {.clock = clock});

  mine.lock();
  redis.drop(*process);  // the connection breaks, and is there again for the next extension
  bool right = !other.try_lock_for(10s) && mine.held();
  std::cout << std::boolalpha << "ten seconds later, one broken connection behind us: held " << mine.held()
            << '\n';

  redis.partition(*process);  // the network swallows everything
  const auto start = clock.now();
  other.lock();
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - start);
  right = right && !mine.held() && mine.lost() && other.held() && waited <= 2s + 1ms;
  std::cout << "cut off: the other has it after " << waited.count() << " ms, and we know: lost "
            << mine.lost() << '\n';
  try {
    mine.ensure_held();
  } catch (const sublock::LockLost& lost) {
    std::cout << lost.what() << '\n';
  }
  return right ? 0 : 1;
}
