// SPDX-License-Identifier: MIT

// A lock that needs no server to exist: the package has what it says.

#include <sublock/redis_lock.hpp>

#include <iostream>

int main() {
  const sublock::RedisLock lock("nightly-import");
  std::cout << "sublock " << sublock::version << ", " << (lock.held() ? "held" : "not held") << '\n';
  return lock.held() ? 1 : 0;
}
