// SPDX-License-Identifier: MIT
#pragma once

// How tests start the event driver, its helpers and the peers in other languages on a server.

#include "support/live_redis.hpp"
#include "support/process.hpp"

#include <string>
#include <utility>
#include <vector>

namespace support {

namespace detail {

[[nodiscard]] inline Process run(std::vector<std::string> argv, const std::vector<std::string>& words) {
  argv.insert(argv.end(), words.begin(), words.end());
  return Process(std::move(argv));
}

}  // namespace detail

/// `sublock-driver lock CHANNEL words...` on that server.
[[nodiscard]] inline Process drive(const LiveRedis& server, const std::string& channel,
                                   const std::vector<std::string>& words = {}) {
  return detail::run({SUBLOCK_DRIVER, "lock", channel, "port=" + std::to_string(server.port())}, words);
}

/// `sublock-driver key KEY words...` on that server.
[[nodiscard]] inline Process drive_key(const LiveRedis& server, const std::string& key,
                                       const std::vector<std::string>& words = {}) {
  return detail::run({SUBLOCK_DRIVER, "key", key, "port=" + std::to_string(server.port())}, words);
}

/// `sublock-helper HELPER URL words...`; it stands beside the driver.
[[nodiscard]] inline Process help(const std::string& helper, const LiveRedis& server,
                                  const std::vector<std::string>& words) {
  std::string program = SUBLOCK_DRIVER;
  program.replace(program.rfind('/') + 1, std::string::npos, "sublock-helper");
  return detail::run({std::move(program), helper, server.url()}, words);
}

/// `tests/peers/SCRIPT PORT CHANNEL words...`, with Debian's Python or Ruby, which have the packages that peers
/// need.
[[nodiscard]] inline Process peer(const std::string& script, const LiveRedis& server,
                                  const std::string& channel, const std::vector<std::string>& words = {}) {
  const std::string interpreter = script.ends_with(".rb") ? "/usr/bin/ruby" : "/usr/bin/python3";
  return detail::run(
      {interpreter, SUBLOCK_SOURCE_DIR "/tests/peers/" + script, std::to_string(server.port()), channel},
      words);
}

}  // namespace support
