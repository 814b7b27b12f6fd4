// SPDX-License-Identifier: MIT
#pragma once

// The world of the laws on a real server: hiredis, and a redis-server of this test's own.

#include <hiredis/hiredis.h>
#include <lock/timers.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/transport/hiredis.hpp>
#include <sublock/transport/openssl.hpp>
#include <support/authority.hpp>
#include <support/live_redis.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {

/// `Server` says how its redis-server is started, reached and spoken to: see PlainServer.
template <class Server>
class LiveWorldOn {
 public:
  using Transport = typename Server::Transport;
  using Clock = SteadyClock;
  static constexpr bool exact = false;

  std::shared_ptr<Transport> connect() { return Transport::make(reach()); }
  [[nodiscard]] typename Transport::Options reach() const { return Server::reach(redis()); }
  /// What a channel that begins with `name` must be called.
  static std::string channel_of(const std::string& name) { return Server::channel_of(name); }
  [[nodiscard]] Clock clock() const { return {}; }
  [[nodiscard]] Timer after(Duration span, std::function<void()> act) { return {span, std::move(act)}; }

  template <class Condition>
  bool eventually(Condition condition) {
    return support::eventually(condition);
  }

  std::size_t subscribers(const std::string& channel) {
    const std::lock_guard lock(mutex());
    return Server::subscribers(redis(), channel);
  }

  void stranger(const std::string& channel, const std::string& name = {}) {
    Stranger stranger(redisConnect("127.0.0.1", redis().port()));
    if (!name.empty()) say(*stranger, {"CLIENT", "SETNAME", name});
    say(*stranger, {Server::subscribe, channel});
    strangers_.push_back(std::move(stranger));
  }

  bool is_connected(const std::string& name) {
    const std::lock_guard lock(mutex());
    return redis().client_id(name) != 0;
  }

  bool kill(const std::string& name) {
    const std::lock_guard lock(mutex());
    const std::int64_t id = redis().client_id(name);
    return id != 0 && redis().command({"CLIENT", "KILL", "ID", std::to_string(id)}) == "1";
  }

  void set(const std::string& key, const std::string& value, std::optional<Duration> expire) {
    std::vector<std::string> words{"SET", key, value};
    if (expire) {
      words.emplace_back("PX");
      words.push_back(std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(*expire).count()));
    }
    ask(words);
  }
  void erase(const std::string& key) { ask({"DEL", key}); }
  [[nodiscard]] std::string value(const std::string& key) { return ask({"GET", key}); }
  [[nodiscard]] std::optional<Duration> left(const std::string& key) {
    const long long left = std::stoll(ask({"PTTL", key}));
    if (left == -1) return std::nullopt;
    return std::chrono::milliseconds(std::max(left, 0LL));
  }

 private:
  static std::string ask(const std::vector<std::string>& words) {
    const std::lock_guard lock(mutex());
    return redis().command(words);
  }

  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Stranger = std::unique_ptr<redisContext, Free>;

  static void say(redisContext& context, const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      argv.push_back(word.data());
      sizes.push_back(word.size());
    }
    void* reply = redisCommandArgv(&context, static_cast<int>(argv.size()), argv.data(), sizes.data());
    if (reply == nullptr) throw std::runtime_error("a stranger can't reach the test's redis-server");
    freeReplyObject(reply);
  }

  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  /// One server for all laws: each uses a channel of its own.
  static support::LiveRedis& redis() {
    static support::LiveRedis server(Server::arguments());
    static const bool prepared = (Server::prepare(server), true);
    static_cast<void>(prepared);
    return server;
  }

  std::vector<Stranger> strangers_;
};

/// As Debian has it.
struct PlainServer {
  using Transport = HiredisTransport;
  static constexpr const char* subscribe = "SUBSCRIBE";
  static constexpr const char* publish = "PUBLISH";
  static std::size_t subscribers(support::LiveRedis& server, const std::string& channel) {
    return static_cast<std::size_t>(server.subscribers(channel));
  }
  static std::string channel_of(const std::string& name) { return name; }
  static void prepare(support::LiveRedis& /*server*/) {}
  static std::vector<std::string> arguments() { return {}; }
  static ConnectionOptions reach(support::LiveRedis& server) { return {.url = server.url()}; }
};

/// Over TLS, on a port beside its own.
struct EncipheredServer : PlainServer {
  static ConnectionOptions reach(support::LiveRedis& server) {
    static support::Authority authority;
    static const std::string url = [&] {
      authority.issue("server", "IP:127.0.0.1");
      return support::encipher(server, authority, "server");
    }();
    return {.url = url, .tls = tls({.ca_file = authority.certificate()})};
  }
};

/// Tells nobody how old it is, and so is spoken to like one before 2.6.12.
struct SilentServer : PlainServer {
  static std::vector<std::string> arguments() {
    return {"--rename-command", "HELLO", "", "--rename-command", "INFO", ""};
  }
};

}  // namespace sublock::testing
