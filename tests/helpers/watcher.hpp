// SPDX-License-Identifier: MIT
#pragma once

// Watcher: takes one lock and says, every time it changes, what the lock says of itself: HELD,
// DOUBTFUL, LOST or NOT_HELD. Says GOT with the fencing token first, or FAILED and why. A line on its stdin
// makes it give the lock back.
//
//   sublock-helper watcher URL CHANNEL [fencing]

#include <poll.h>
#include <unistd.h>
#include <sublock/redis_lock.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace watcher {

using namespace std::chrono_literals;

inline std::string standing(const sublock::RedisLock& lock) {
  try {
    const bool held = lock.held();
    lock.ensure_held();
    return held ? "HELD" : "DOUBTFUL";  // the check came back between the two questions
  } catch (const sublock::LockError& error) {
    switch (error.kind()) {
      case sublock::Errc::doubtful: return "DOUBTFUL";
      case sublock::Errc::lost: return "LOST";
      default: return "NOT_HELD";
    }
  }
}

inline int watch(const std::string& url, const std::string& channel, bool fencing) {
  sublock::RedisLock::Options options;
  options.timeout = 1min;
  options.fencing = fencing;
  options.connection.url = url;
  sublock::RedisLock lock(channel, options);
  lock.acquire();
  std::cout << "GOT " << (fencing ? lock.fence_token() : 0) << std::endl;
  std::string last;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (::poll(&input, 1, 1) <= 0) {  // once a millisecond
    const std::string now = standing(lock);
    if (now != last) std::cout << now << std::endl;
    last = now;
  }
  std::cout << (lock.release() ? "RELEASED" : "NOT RELEASED") << std::endl;
  return 0;
}

inline int start(const std::vector<std::string>& words) {
  return watch(words.at(0), words.at(1), words.size() > 2 && words[2] == "fencing");
}

}  // namespace watcher
