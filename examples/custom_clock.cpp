// SPDX-License-Identifier: MIT
//
// A clock of one's own: one that goes on while the machine sleeps, so that a deadline passes on a laptop
// with a closed lid as well.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/transport/in_memory.hpp>

#include <ctime>
#include <iostream>

namespace {

/// Linux's CLOCK_BOOTTIME, on the steady clock's scale.
struct BootClock {
  [[nodiscard]] sublock::Instant now() const noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return sublock::Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

static_assert(sublock::ClockPolicy<BootClock>);

using BootTimeLock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                             sublock::ClientListReaper, BootClock>;

}  // namespace

int main() {
  using namespace std::chrono_literals;
  sublock::InMemoryRedis redis;
  BootTimeLock holder(redis.connect(), "laptop");
  BootTimeLock waiter(redis.connect(), "laptop");
  holder.acquire();

  const auto before = BootClock().now();
  const bool got_it = waiter.try_lock_for(50ms);
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(BootClock().now() - before);
  std::cout << "the waiter " << (got_it ? "got it" : "gave up") << " after " << waited.count()
            << " ms of boot time\n";
  return got_it ? 1 : 0;
}
