// SPDX-License-Identifier: MIT

// The everyday case: a second process waits for a device until the first has done. And what it costs where
// nobody else is there.

#include <cases/cases.hpp>

#include <sublock/redis_lock.hpp>

#include <iostream>

namespace support {
namespace {

class SecondWaiter : public Cases {
 protected:
  /// TRY, GOT, RELEASED and not a word besides.
  static void expect_clean(Process& driver) {
    EXPECT_EQ(driver.exit_status(), 0) << driver.transcript();
    EXPECT_EQ(driver.lines().size(), 3u) << driver.transcript();
    EXPECT_EQ(driver.errors(), "");
  }

  void expect_to_follow(double hold) {
    auto holder = drive("dev", {"hold=" + std::to_string(hold)});
    const double held = stamp_of(holder.expect_line(" GOT$"));
    auto waiter = drive("dev", {"wait=" + std::to_string(hold + 60), "hold=0.1"});
    waiter.expect_line(" TRY$");
    const double released = stamp_of(holder.expect_line(" RELEASED$", span(hold + 10)));
    const double followed = stamp_of(waiter.expect_line(" GOT$"));
    EXPECT_GE(followed - held, hold) << "nothing but waiting, until the lock is handed over";
    EXPECT_LE(followed - released, 1.0);
    expect_clean(waiter);
    EXPECT_EQ(server.kills(), 0);
    EXPECT_EQ(server.subscribers("dev"), 0);
  }

  static double median(std::vector<double> times) {
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

  /// So often on a free channel; how long each takes.
  static void expect_cheap(sublock::RedisLock& lock) {
    std::vector<double> acquiring;
    std::vector<double> releasing;
    for (int round = 0; round < 100; ++round) {
      const double start = now();
      lock.acquire();
      const double got = now();
      ASSERT_TRUE(lock.release());
      acquiring.push_back(got - start);
      releasing.push_back(now() - got);
    }
    std::cout << "acquire " << median(acquiring) * 1000 << " ms, release " << median(releasing) * 1000
              << " ms\n";
    EXPECT_LE(median(acquiring), 0.030);
    EXPECT_LE(median(releasing), 0.030);
  }
};

TEST_F(SecondWaiter, HasItAsSoonAsTheFirstHasDone) { expect_to_follow(scaled(2.0, 6.0)); }

TEST_F(SecondWaiter, HasItAfterMinutesToo) {
  if (!large()) GTEST_SKIP() << "waits for 90 s: SUBLOCK_CASES=large";
  expect_to_follow(90);
}

TEST_F(SecondWaiter, PaysLittleWhereNobodyIsFirst) {
  const sublock::RedisLock::Options options = {.connection = {.url = server.url()}};
  sublock::RedisLock of_its_own("free", options);
  expect_cheap(of_its_own);
  sublock::RedisLock given(sublock::connect(server.url()), "free");
  expect_cheap(given);
}

TEST_F(SecondWaiter, FollowsPythonsPortalockerAndIsFollowedByIt) {
  auto theirs = peer("portalocker_peer.py", server, "dev", {"hold=2"});
  theirs.expect_line(" GOT$");
  auto ours = drive("dev", {"wait=60", "hold=1.5"});
  const double released = stamp_of(theirs.expect_line(" RELEASED$"));
  EXPECT_LE(stamp_of(ours.expect_line(" GOT$")) - released, 1.0);
  auto after = peer("portalocker_peer.py", server, "dev", {"wait=60", "hold=0.1"});
  after.expect_line(" TRY$");
  expect_clean(ours);
  const double given_back = stamp_of(ours.lines().back());
  EXPECT_LE(stamp_of(after.expect_line(" GOT$")) - given_back, 1.5);
  EXPECT_EQ(after.exit_status(), 0) << after.transcript();
  EXPECT_EQ(server.kills(), 0);
}

TEST_F(SecondWaiter, FollowsAFirstThatIsKilled) {
  auto holder = drive("dev", {"hold=60"});
  holder.expect_line(" GOT$");
  auto waiter = drive("dev", {"wait=60", "hold=0.1"});
  waiter.expect_line(" TRY$");
  let_pass(0.5);
  holder.signal(SIGKILL);
  const double killed = now();
  EXPECT_LE(stamp_of(waiter.expect_line(" GOT$")) - killed, 2 * C + 0.5);
  expect_clean(waiter);
}

}  // namespace
}  // namespace support
