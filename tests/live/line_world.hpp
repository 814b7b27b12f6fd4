// SPDX-License-Identifier: MIT
#pragma once

// The world of the laws of transports and lines on a real server.

#include <live/live_world.hpp>
#include <support/live_redis.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sublock::testing {

template <class Server>
struct LineWorldOn {
  using Transport = typename Server::Transport;

  std::shared_ptr<Transport> connect() { return Transport::make(Server::reach(redis())); }
  static std::string channel_of(const std::string& name) { return Server::channel_of(name); }
  std::size_t publish(const std::string& channel, const std::string& payload) {
    const std::lock_guard lock(mutex());
    return std::stoul(redis().command({Server::publish, channel, payload}));
  }
  std::size_t subscribers(const std::string& channel) {
    const std::lock_guard lock(mutex());
    return Server::subscribers(redis(), channel);
  }
  void kill(std::int64_t id) { ask({"CLIENT", "KILL", "ID", std::to_string(id)}); }
  void close_everything() {
    ask({"CLIENT", "KILL", "TYPE", "pubsub"});
    close_mouths();
  }
  void close_mouths() { ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); }

 private:
  static void ask(const std::vector<std::string>& words) {
    const std::lock_guard lock(mutex());
    redis().command(words);
  }
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  /// One server for all laws: each uses names of its own.
  static support::LiveRedis& redis() {
    static support::LiveRedis server(Server::arguments());
    static const bool prepared = (Server::prepare(server), true);
    static_cast<void>(prepared);
    return server;
  }
};

}  // namespace sublock::testing
