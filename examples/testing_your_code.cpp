// SPDX-License-Identifier: MIT
//
// Testing code that takes locks, without a server and without waiting: the code is a template on its
// lock, production puts RedisLock there, and a test an in-memory one with a clock that it moves itself.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <iostream>
#include <stop_token>

namespace {

/// Code under test: imports rows while it holds the lock, and stops in time when the lock is lost.
template <class Lock>
class Importer {
 public:
  explicit Importer(Lock& lock) : lock_(lock) {}

  /// The number of rows that were imported under the lock.
  int run(int rows, auto&& import_row) {
    lock_.acquire();
    int imported = 0;
    while (imported < rows && !lock_.lost()) {
      import_row();
      ++imported;
    }
    lock_.release();
    return imported;
  }

 private:
  Lock& lock_;
};

using TestLock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                         sublock::ClientListReaper, sublock::ManualClock>;

}  // namespace

int main() {
  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);
  const auto process = redis.connect();
  TestLock lock(process, "rows", {.clock = clock});
  Importer importer(lock);

  // The connection breaks in the middle of the third row. A Redis in memory has no thread: what it has sent arrives
  // where somebody waits, or where a test pumps.
  int row = 0;
  const int imported = importer.run(10, [&] {
    if (++row == 3) redis.drop(*process);
    redis.pump();
  });
  std::cout << "imported " << imported << " of 10 rows before the lock was lost\n";

  // Somebody else holds it: five seconds pass, of which we wait for none.
  TestLock other(redis.connect(), "rows", {.clock = clock});
  other.acquire();
  const auto before = clock.now();
  bool busy = false;
  try {
    importer.run(1, [] {});
  } catch (const sublock::AlreadyLocked&) {
    busy = true;
  }
  std::cout << "gave up after " << std::chrono::duration<double>(clock.now() - before).count() << " s\n";
  return imported == 3 && busy ? 0 : 1;
}
