// SPDX-License-Identifier: MIT
#pragma once

// Thousands of locks on one connection object: what each costs, and that all are told when it ends. SUBLOCK_LOCKS says
// how many, up to what descriptors and the server allow.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sublock/redis_lock.hpp>

#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/sanitized.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::many {

using Milliseconds = std::chrono::duration<double, std::milli>;

/// The default of the library, on a machine that is not slowed down.
inline constexpr Duration patience =
    std::chrono::milliseconds(static_cast<std::int64_t>(support::within(1) * 1000));

template <class Lock>
typename Lock::Options patient_options() {
  typename Lock::Options options;
  options.timeout = std::chrono::seconds(100);
  options.unavailable_timeout = patience;
  options.on_warning = [](std::string_view text) { ADD_FAILURE() << text; };
  return options;
}

template <class Act>
Milliseconds time(Act act) {
  const auto start = std::chrono::steady_clock::now();
  act();
  return std::chrono::steady_clock::now() - start;
}

/// More descriptors than a shell gives, for as long as this lives.
class ManyDescriptors {
 public:
  ManyDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit_), 0);
    const rlimit wide{std::max<rlim_t>(limit_.rlim_max, 4096), std::max<rlim_t>(limit_.rlim_max, 4096)};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &wide), 0);
  }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;
  ~ManyDescriptors() { ::setrlimit(RLIMIT_NOFILE, &limit_); }

 private:
  rlimit limit_{};
};

inline std::size_t locks_wanted() {
  const char* const text = std::getenv("SUBLOCK_LOCKS");
  return text == nullptr ? 500 : static_cast<std::size_t>(std::atoi(text));
}

/// A figure of this process from /proc: VmRSS in kB, Threads.
inline long figure(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  return -1;
}

inline long server_memory(support::LiveRedis& server) {
  const std::string info = server.command({"INFO", "memory"});
  const std::string key = "used_memory:";
  return std::stol(info.substr(info.find(key) + key.size()));
}

/// To the server, whoever's.
inline std::string connections_of(support::LiveRedis& server) {
  const std::string info = server.command({"INFO", "clients"});
  const std::string key = "connected_clients:";
  const auto at = info.find(key) + key.size();
  return info.substr(at, info.find_first_of("\r\n", at) - at);
}

/// `connection` leads to `server`.
template <class Lock>
void expect_many_locks_on(support::LiveRedis& server, const auto& connection) {
  const std::size_t count = locks_wanted();
  EXPECT_EQ(server.command({"CONFIG", "SET", "maxclients", std::to_string(count + 100)}), "OK");
  const auto mine_before = figure("VmRSS");
  const auto theirs_before = server_memory(server);
  std::vector<std::unique_ptr<Lock>> locks;
  const Milliseconds took = time([&] {
    for (std::size_t i = 0; i < count; ++i) {
      locks.push_back(
          std::make_unique<Lock>(connection, "lock-" + std::to_string(i), patient_options<Lock>()));
      locks.back()->acquire();
    }
  });
  const auto threads = figure("Threads");
  std::cout << count << " locks taken in " << took.count() << " ms; each costs "
            << (figure("VmRSS") - mine_before) * 1024 / static_cast<long>(count) << " bytes here and "
            << (server_memory(server) - theirs_before) / static_cast<long>(count) << " on the server; "
            << threads << " threads, " << connections_of(server) << " connections of all\n";
  RedisLock asker(connect(server.url()), "lock-" + std::to_string(count - 1), patient_options<RedisLock>());
  EXPECT_EQ(asker.probe(patience).size(), 1U);
  RedisLock other(connect(server.url()), "lock-0", patient_options<RedisLock>());
  const Milliseconds handed = time([&] {
    locks[0]->release();
    EXPECT_TRUE(other.try_lock());
  });
  std::cout << "one is given back and taken by another in " << handed.count() << " ms\n";
  locks.erase(locks.begin());
  for (const auto& lock : locks) EXPECT_TRUE(lock->held());
  const Milliseconds told = time([&] {
    server.crash();
    EXPECT_TRUE(support::eventually([&] {
      return std::ranges::all_of(locks, [](const auto& lock) { return lock->stop_token().stop_requested(); });
    }));
  });
  std::cout << "all are told of the server's end within " << told.count() << " ms\n";
}

}  // namespace sublock::many
