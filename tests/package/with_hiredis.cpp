// SPDX-License-Identifier: MIT

// A user with a server somewhere: builds the lock, and needs no server to see that it is free of errors.

#include <sublock/redis_lock.hpp>

#include <iostream>

int main() {
  sublock::RedisLock lock("nightly-import");
  try {
    sublock::RedisLock("");
  } catch (const sublock::LockError& error) {
    std::cout << error.what() << '\n';
    return lock.lost() ? 1 : 0;
  }
  return 1;
}
