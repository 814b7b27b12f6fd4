// SPDX-License-Identifier: MIT
#pragma once

// How tests start a process that holds one lock and tells what the lock says of itself.

#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <string>
#include <utility>
#include <vector>

namespace support {

/// Stands beside the driver.
[[nodiscard]] inline Process watch(const LiveRedis& server, const std::string& channel,
                                   const std::vector<std::string>& words = {}) {
  std::string program = SUBLOCK_DRIVER;
  program.replace(program.rfind('/') + 1, std::string::npos, "sublock-watcher");
  std::vector<std::string> argv = {std::move(program), server.url(), channel};
  argv.insert(argv.end(), words.begin(), words.end());
  return Process(std::move(argv));
}

}  // namespace support
