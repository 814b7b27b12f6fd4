// SPDX-License-Identifier: MIT
//
// The smallest program that takes a lock, on the server of REDIS_URL or else on this machine's. Start it in two
// terminals: the second waits for the first.

#include <sublock/redis_lock.hpp>

#include <cstdlib>
#include <iostream>

int main() {
  using namespace std::chrono_literals;
  const char* url = std::getenv("REDIS_URL");
  try {
    sublock::RedisLock lock(sublock::connect(url ? url : "redis://127.0.0.1:6379"), "nightly-import",
                            {.timeout = 30s});
    lock.with([] {
      std::cout << "the lock is ours; Enter gives it back" << std::endl;
      std::cin.get();
    });
  } catch (const sublock::LockError& error) {
    // Says who has it, or that Redis can't be reached, or that the lock was lost while it was ours.
    std::cerr << error.what() << '\n';
    return 1;
  }
}
