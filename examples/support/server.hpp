// SPDX-License-Identifier: MIT
#pragma once

// Where an example finds its Redis: the server that REDIS_URL names, or one in memory, so that it runs
// anywhere. Your own code needs none of this, only `sublock::RedisLock` and `sublock::connect(url)`.

#include <sublock/redis_lock.hpp>
#include <sublock/transport/in_memory.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

// Compiled once, in server.cpp, as is whatever opens a connection: worth doing wherever many files take
// locks, since it saves seconds for each of them.
extern template class sublock::BasicRedisLock<sublock::HiredisTransport>;
extern template class sublock::BasicRedisLock<sublock::InMemoryTransport>;

namespace examples {

/// A Redis in memory, in real time.
class MemoryServer {
 public:
  using Lock = sublock::BasicRedisLock<sublock::InMemoryTransport>;

  MemoryServer();
  ~MemoryServer();

  /// A process of its own, as far as the server can see.
  [[nodiscard]] std::shared_ptr<sublock::InMemoryTransport> connect();

  /// The server closes the connection of that lock, as it does when a process dies. (A cable that is pulled is silent,
  /// and takes a health check to be noticed.)
  void cut(const Lock& lock);

  /// As SIGSTOP and SIGCONT do.
  void freeze(sublock::InMemoryTransport& process);
  void thaw(sublock::InMemoryTransport& process);

 private:
  std::unique_ptr<sublock::InMemoryRedis> redis_;
};

/// A real one: that of REDIS_URL, or the default.
class LiveServer {
 public:
  using Lock = sublock::RedisLock;

  [[nodiscard]] static std::string url();

  /// Says at once if it can't be reached. Throws LockError.
  void expect_an_answer() const;

  [[nodiscard]] std::shared_ptr<sublock::HiredisTransport> connect() const;

  /// By CLIENT KILL.
  void cut(const Lock& lock) const;
};

/// Two runs on one server must not meet.
[[nodiscard]] std::string channel_of_our_own(const std::string& name);

/// What main returns: 0 where `show()` has shown what it is there to show.
int exit_status(auto show) {
  try {
    if (show()) return 0;
    std::cerr << "this did not show what it is there to show\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}

/// The same for `show(server)`, on either kind of server.
int on_a_server(auto show) {
  return exit_status([&] {
    if (std::getenv("REDIS_URL") != nullptr) {
      LiveServer server;
      server.expect_an_answer();
      return show(server);
    }
    MemoryServer server;
    return show(server);
  });
}

}  // namespace examples
