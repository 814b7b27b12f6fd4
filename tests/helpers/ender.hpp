// SPDX-License-Identifier: MIT
#pragma once

// Ender: a program that returns 7 from main, once it reads a line, while a lock is in use.
//
//   waiting        another thread waits for it; says WAITING
//   holding        a static lock holds it; says HOLDING
//   holding-given  the same, on a connection that is static as well
//   holding-lost   the same as the first, and says TOLD when the lock is lost
//
//   sublock-helper ender URL CHANNEL WAY

#include <unistd.h>
#include <sublock/redis_lock.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ender {

// In this order: the lock ends first, then its connection.
inline std::shared_ptr<sublock::HiredisTransport> connection;  // NOLINT(cert-err58-cpp)
inline std::optional<sublock::RedisLock> lock;                 // NOLINT(cert-err58-cpp)

/// Without a library between, so that whole lines come from any thread.
inline void say(std::string line) {
  line += '\n';
  static_cast<void>(::write(STDOUT_FILENO, line.data(), line.size()) + 0);
}

inline int run(const std::string& url, const std::string& channel, const std::string& way) {
  sublock::RedisLock::Options options;
  options.connection.url = url;
  options.timeout = std::chrono::minutes(1);
  options.on_lost = [](const sublock::LockLost&) { say("TOLD"); };
  if (way == "waiting") {
    std::thread([options, channel] {
      sublock::RedisLock waiting(channel, options);
      say("WAITING");
      waiting.lock();
    }).detach();
  } else {
    if (way == "holding-given") connection = sublock::connect(url);
    connection ? lock.emplace(connection, channel, options) : lock.emplace(channel, options);
    lock->acquire();
    say("HOLDING");
  }
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
  }
  return 7;
}

inline int start(const std::vector<std::string>& words) { return run(words.at(0), words.at(1), words.at(2)); }

}  // namespace ender
