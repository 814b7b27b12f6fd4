// SPDX-License-Identifier: MIT
#pragma once

// What the laws of the lock stand on: a world to take locks in, and short words for what they do there. The
// laws themselves are in the *_laws.hpp beside this; instantiate every suite.
//
// | a world needs          | meaning                                                                     |
// | ---------------------- | --------------------------------------------------------------------------- |
// | `Transport`, `Clock`   | the models under test                                                       |
// | `exact`                | whether time passes only where somebody waits, so that spans can be exact   |
// | default constructor    | a server that nobody but this test and former ones' remains uses            |
// | `connect()`            | shared_ptr<Transport>: a process of its own                                 |
// | `reach()`              | Transport::Options: how a lock reaches that server itself                   |
// | `clock()`              | the clock that belongs to it                                                |
// | `after(span, act)`     | `act()` runs that much later, while the test waits in a lock; returns a     |
// |                        | handle that must not outlive what `act` uses                                |
// | `eventually(condition)`| waits until it is true, and lets things happen meanwhile; bounded           |
// | `subscribers(channel)` | as a raw client counts them                                                 |
// | `stranger(channel, name)` | subscribes somebody who never answers, under that client name            |
// | `is_connected(name)`   | whether the server has a client of that name                                |
// | `kill(name)`           | the server closes the connection of that client name; false: there is none  |

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <sublock/basic_redis_lock.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::testing {

using namespace std::chrono_literals;

/// What kind of LockError `act` throws; nothing where it throws none. Other exceptions pass.
template <class Act>
std::optional<Errc> error_of(Act act) {
  try {
    act();
  } catch (const LockError& error) {
    return error.kind();
  }
  return {};
}

/// A world, a channel in it that no other test uses, and locks on it.
template <class World>
class LockFixture : public ::testing::Test {
 protected:
  using Transport = typename World::Transport;
  using Lock = BasicRedisLock<Transport, LowestIdElection, ClientListReaper, typename World::Clock>;
  using Options = typename Lock::Options;

  LockFixture() {
    static int tests = 0;
    channel = "lock-laws-" + std::to_string(::getpid()) + '-' + std::to_string(++tests);
    if constexpr (requires { World::channel_of(channel); }) channel = World::channel_of(channel);
  }

  /// Quick to look again, so that a test in real time is short.
  [[nodiscard]] Options options() const {
    Options options;
    options.check_interval = 20ms;
    options.connection = world.reach();
    options.clock = world.clock();
    return options;
  }

  [[nodiscard]] Options shared_options() const {
    Options options = this->options();
    options.mode = LockMode::shared;
    return options;
  }

  /// A lock of another process.
  [[nodiscard]] std::unique_ptr<Lock> lock(Options options) {
    return std::make_unique<Lock>(world.connect(), channel, std::move(options));
  }
  [[nodiscard]] std::unique_ptr<Lock> lock() { return lock(options()); }

  [[nodiscard]] std::unique_ptr<Lock> held() {
    auto lock = this->lock();
    lock->acquire();
    return lock;
  }

  [[nodiscard]] std::unique_ptr<Lock> held_by_reader() {
    auto lock = this->lock(shared_options());
    lock->acquire();
    return lock;
  }

  /// How long `act` takes in this world.
  template <class Act>
  Duration time(Act act) {
    const Instant start = world.clock().now();
    act();
    return world.clock().now() - start;
  }

  /// Not shorter, and longer only by what a busy machine may cost.
  static ::testing::AssertionResult is_about(Duration span, Duration expected) {
    const Duration slack = World::exact ? Duration::zero() : Duration(500ms);
    if (span >= expected && span <= expected + slack) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << std::chrono::duration<double, std::milli>(span).count() << " ms instead of "
           << std::chrono::duration<double, std::milli>(expected).count();
  }

  World world;
  std::string channel;
};

}  // namespace sublock::testing
