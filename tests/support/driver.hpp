// SPDX-License-Identifier: MIT
#pragma once

// How tests start the event driver, its helpers and the Python peers on a server.

#include "support/live_redis.hpp"
#include "support/process.hpp"

#include <string>
#include <utility>
#include <vector>

namespace support {

/// `sublock-driver lock CHANNEL words...` on that server.
[[nodiscard]] inline Process drive(const LiveRedis& server, const std::string& channel,
                                   const std::vector<std::string>& words = {}) {
  std::vector<std::string> argv = {SUBLOCK_DRIVER, "lock", channel, "port=" + std::to_string(server.port())};
  argv.insert(argv.end(), words.begin(), words.end());
  return Process(std::move(argv));
}

/// `sublock-helper HELPER URL words...`; it stands beside the driver.
[[nodiscard]] inline Process help(const std::string& helper, const LiveRedis& server,
                                  const std::vector<std::string>& words) {
  std::string program = SUBLOCK_DRIVER;
  program.replace(program.rfind('/') + 1, std::string::npos, "sublock-helper");
  std::vector<std::string> argv = {std::move(program), helper, server.url()};
  argv.insert(argv.end(), words.begin(), words.end());
  return Process(std::move(argv));
}

/// `tests/peers/SCRIPT PORT CHANNEL words...`, with Debian's Python, which has the packages that peers need.
[[nodiscard]] inline Process peer(const std::string& script, const LiveRedis& server,
                                  const std::string& channel, const std::vector<std::string>& words = {}) {
  std::vector<std::string> argv = {"/usr/bin/python3", SUBLOCK_SOURCE_DIR "/tests/peers/" + script,
                                   std::to_string(server.port()), channel};
  argv.insert(argv.end(), words.begin(), words.end());
  return Process(std::move(argv));
}

}  // namespace support
