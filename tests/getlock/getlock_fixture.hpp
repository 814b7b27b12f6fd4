// SPDX-License-Identifier: MIT
#pragma once

// What the laws of RedisGetlock stand on: the worlds of the lock's laws, in which keys can be seen and set by hand.
//
// | a world needs besides     | meaning                                                        |
// | ------------------------- | -------------------------------------------------------------- |
// | `set(key, value, expire)` | SET by a raw client; without `expire` the key stays            |
// | `erase(key)`              | DEL by a raw client, who tells nobody                          |
// | `value(key)`              | GET; empty where there is no such key                          |
// | `left(key)`               | PTTL; empty where the key never expires, zero where it is gone |

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lock/lock_fixture.hpp>
#include <sublock/basic_redis_getlock.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sublock::testing {

/// A world, a key in it that no other test uses, and locks on it.
template <class World>
class GetlockFixture : public ::testing::Test {
 protected:
  using Transport = typename World::Transport;
  using Lock = BasicRedisGetlock<Transport, typename World::Clock>;
  using Options = typename Lock::Options;

  GetlockFixture() {
    static int tests = 0;
    key = "getlock-laws-" + std::to_string(::getpid()) + '-' + std::to_string(++tests);
  }

  /// Short leases, so that a test in real time is short, but long enough for a busy machine.
  [[nodiscard]] Options options() const {
    Options options;
    options.expire = 1500ms;
    options.interval = 250ms;
    options.connection = world.reach();
    options.clock = world.clock();
    return options;
  }

  /// A lock of another process.
  [[nodiscard]] std::unique_ptr<Lock> lock(Options options) {
    return std::make_unique<Lock>(world.connect(), key, std::move(options));
  }
  [[nodiscard]] std::unique_ptr<Lock> lock() { return lock(options()); }

  [[nodiscard]] std::unique_ptr<Lock> held() {
    auto lock = this->lock();
    lock->lock();
    return lock;
  }

  /// Lets that much time go by, in which whoever lives here does what is due.
  void pass(Duration span) {
    Lock other(world.connect(), key + "-other", options());
    world.set(key + "-other", "nobody gives it back", {});
    EXPECT_FALSE(other.try_lock_for(span));
  }

  template <class Act>
  Duration time(Act act) {
    const Instant start = world.clock().now();
    act();
    return world.clock().now() - start;
  }

  /// What `lock()` says when it gives up.
  static std::string refusal(auto& lock, Errc kind = Errc::busy) {
    try {
      lock.lock();
    } catch (const LockError& error) {
      return error.kind() == kind ? error.what() : "of another kind: " + std::string(error.what());
    }
    return "";
  }

  World world;
  std::string key;
};

}  // namespace sublock::testing
