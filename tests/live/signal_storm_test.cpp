// SPDX-License-Identifier: MIT

// A program that handles a signal a thousand times a second, without SA_RESTART, so that every system call
// of its thread may end with EINTR at any time: no turn with a lock is the worse for it.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <sublock/redis_lock.hpp>

#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>

namespace support {
namespace {

using namespace std::chrono_literals;

/// SIGALRM to this process every millisecond, for as long as it lives. One at a time.
class Storm {
 public:
  Storm() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++caught_; };
    ::sigaction(SIGALRM, &action, &before_);
    set_interval(1000);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
  ~Storm() {
    set_interval(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

  [[nodiscard]] static long caught() { return caught_; }

 private:
  static void set_interval(suseconds_t microseconds) {
    const itimerval every{{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }

  static inline std::atomic<long> caught_ = 0;
  struct sigaction before_ {};
};

class SignalStorm : public ::testing::Test {
 protected:
  /// Takes it and gives it back so often, and until many signals have come; every turn must be a good one.
  static void take_turns(sublock::RedisLock& lock, int turns) {
    const Storm storm;
    const long enough = Storm::caught() + 500;
    for (int turn = 0; turn < turns || Storm::caught() < enough; ++turn) {
      lock.acquire();
      ASSERT_TRUE(lock.held()) << "turn " << turn;
      ASSERT_TRUE(lock.release()) << "turn " << turn;
    }
  }

  [[nodiscard]] sublock::RedisLock::Options options(const std::string& host = "127.0.0.1") const {
    sublock::RedisLock::Options options;
    options.timeout = 60s;
    options.check_interval = 2ms;
    options.unavailable_timeout = 10s;
    options.connection.url = "redis://" + host + ":" + std::to_string(server.port());
    return options;
  }

  LiveRedis server;
};

TEST_F(SignalStorm, DisturbsNoTurnOnAConnectionThatStays) {
  sublock::RedisLock lock(sublock::connect(server.url()), "storm", options());
  take_turns(lock, 2000);
  EXPECT_EQ(server.subscribers("storm"), 0);
}

TEST_F(SignalStorm, DisturbsNoTurnWithANameToLookUpAndAConnectionToMake) {
  sublock::RedisLock lock("storm", options("localhost"));
  take_turns(lock, 500);
  EXPECT_EQ(server.subscribers("storm"), 0);
}

TEST_F(SignalStorm, DisturbsNoWaitForSomebodyElse) {
  auto rival = drive(server, "storm", {"loop", "wait=60", "C=0.01", "U=10", "hold=0.002"});
  rival.expect_line(" GOT$");
  sublock::RedisLock lock(sublock::connect(server.url()), "storm", options());
  take_turns(lock, 200);
  rival.signal(SIGTERM);
  EXPECT_EQ(rival.exit_status(), 0) << rival.transcript();
  EXPECT_EQ(rival.transcript().find(" LOST"), std::string::npos);
  EXPECT_EQ(server.kills(), 0);
}

TEST_F(SignalStorm, DoesNotEndAHold) {
  sublock::RedisLock lock("storm", options());
  lock.acquire();
  {
    const Storm storm;
    const long before = Storm::caught();
    ASSERT_TRUE(eventually([&] { return Storm::caught() >= before + 500; }, 60s));
    // Whoever asks meanwhile is answered.
    auto rival = drive(server, "storm", {"try"});
    rival.expect_line(" FAILED busy ");
  }
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.release());
}

}  // namespace
}  // namespace support
