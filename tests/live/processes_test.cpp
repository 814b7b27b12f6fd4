// SPDX-License-Identifier: MIT

// What happens to processes that hold a lock or wait for it: killed, frozen, cut off, asked to end.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace support {
namespace {

class Processes : public ::testing::Test {
 protected:
  static double now() { return std::chrono::duration<double>(TestClock::now().time_since_epoch()).count(); }

  Process drive(const std::vector<std::string>& words) { return support::drive(server, channel, words); }

  /// Waits until whoever was started stands on the channel, for the holder to hand him the lock.
  void expect_waiting(Process& waiter) {
    waiter.expect_line(" TRY$");
    ASSERT_TRUE(eventually([&] { return server.subscribers(channel) == 2; }));
  }

  static void expect_lost(Process& holder, double since, double within = 1) {
    EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - since, within);
    EXPECT_EQ(holder.exit_status(std::chrono::seconds(2)), 3) << holder.transcript();
  }

  /// The waiter's lines are TRY, GOT, RELEASED and nothing else.
  static void expect_clean(Process& driver) {
    EXPECT_EQ(driver.exit_status(), 0) << driver.transcript();
    ASSERT_EQ(driver.lines().size(), 3u) << driver.transcript();
    EXPECT_TRUE(driver.lines()[0].ends_with(" TRY")) << driver.transcript();
    EXPECT_TRUE(driver.lines()[1].ends_with(" GOT")) << driver.transcript();
    EXPECT_TRUE(driver.lines()[2].ends_with(" RELEASED")) << driver.transcript();
  }

  LiveRedis server;
  std::string channel = "processes";
};

TEST_F(Processes, AWaiterFollowsAKilledHolderWithinTwoIntervals) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  auto waiter = drive({"wait=30", "hold=0.1", "C=1"});
  expect_waiting(waiter);
  holder.signal(SIGKILL);
  const double killed = now();
  const double got = stamp_of(waiter.expect_line(" GOT$"));
  EXPECT_GE(got, killed);
  EXPECT_LE(got - killed, 2 * 1.0);
  expect_clean(waiter);
  EXPECT_EQ(server.kills(), 0);
}

TEST_F(Processes, AFrozenHolderIsFollowedAndLearnsIt) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  holder.signal(SIGSTOP);
  auto follower = drive({"wait=20", "hold=3", "U=0.5", "C=0.1"});
  const double tried = stamp_of(follower.expect_line(" TRY$"));
  // Asked twice, each time for half a second.
  const double took = stamp_of(follower.expect_line(" GOT$")) - tried;
  EXPECT_GE(took, 2 * 0.5);
  EXPECT_LE(took, 2 * 0.5 + 2 * 0.1 + 1);
  EXPECT_EQ(server.kills(), 1);
  holder.signal(SIGCONT);
  expect_lost(holder, now());
  EXPECT_EQ(server.subscribers(channel), 1);
  EXPECT_TRUE(follower.running());
  expect_clean(follower);
}

TEST_F(Processes, AHolderWhoseConnectionIsKilledLearnsItAtOnce) {
  auto holder = drive({"hold=60", "id=0123456789abcdef0123456789abcdef"});
  holder.expect_line(" GOT$");
  auto waiter = drive({"wait=30", "hold=0.1"});
  expect_waiting(waiter);
  const auto id = server.client_id(channel + "-lock-0123456789abcdef0123456789abcdef");
  ASSERT_NE(id, 0);
  const double killed = now();
  ASSERT_EQ(server.command({"CLIENT", "KILL", "ID", std::to_string(id)}), "1");
  expect_lost(holder, killed);
  EXPECT_LE(stamp_of(waiter.expect_line(" GOT$")) - killed, 1.0);
  expect_clean(waiter);
  EXPECT_EQ(server.subscribers(channel), 0);
}

TEST_F(Processes, NobodyLosesAnythingWithTheOtherConnections) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  auto waiter = drive({"wait=60", "hold=0.1"});
  expect_waiting(waiter);
  for (int round = 0; round < 3; ++round) {
    // Their command connections; the waiter has a look at the count from time to time.
    const long looks = server.calls("pubsub|numsub");
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(eventually([&] { return server.calls("pubsub|numsub") >= looks + 2; }));
  }
  EXPECT_EQ(server.subscribers(channel), 2);
  EXPECT_EQ(holder.lines().size(), 2u) << holder.transcript();
  EXPECT_EQ(waiter.lines().size(), 1u) << waiter.transcript();
  holder.signal(SIGTERM);
  expect_clean(holder);
  expect_clean(waiter);
}

TEST_F(Processes, ASignalEndsAWait) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  auto waiter = drive({"wait=60"});
  expect_waiting(waiter);
  const double asked = now();
  waiter.signal(SIGTERM);
  EXPECT_LE(stamp_of(waiter.expect_line(" FAILED cancelled")) - asked, 0.3);
  EXPECT_EQ(waiter.exit_status(), 1);
  EXPECT_EQ(server.subscribers(channel), 1);
  EXPECT_TRUE(holder.running());
}

TEST_F(Processes, ASignalEndsAHold) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  holder.signal(SIGTERM);
  expect_clean(holder);
  EXPECT_EQ(server.subscribers(channel), 0);
}

TEST_F(Processes, AWriterThatIsAskedToEndLetsReadersIn) {
  auto reader = drive({"shared", "hold=60"});
  reader.expect_line(" GOT$");
  auto writer = drive({"wait=60"});
  writer.expect_line(" TRY$");
  ASSERT_TRUE(eventually([&] { return server.subscribers(channel) == 2; }));
  writer.signal(SIGTERM);
  writer.expect_line(" FAILED cancelled");
  auto newcomer = drive({"shared", "try", "hold=0.1"});
  expect_clean(newcomer);
}

TEST_F(Processes, OfTwoThatTryAtOnceExactlyOneGetsIt) {
  for (int round = 0; round < 30; ++round) {
    channel = "pair-" + std::to_string(round);
    auto one = drive({"try", "hold=60"});
    auto other = drive({"try", "hold=60"});
    const bool first = one.expect_line(" (GOT|FAILED)").ends_with(" GOT");
    const bool second = other.expect_line(" (GOT|FAILED)").ends_with(" GOT");
    ASSERT_NE(first, second) << one.transcript() << other.transcript();
    Process& winner = first ? one : other;
    Process& loser = first ? other : one;
    EXPECT_EQ(loser.exit_status(), 1);
    EXPECT_NE(loser.lines().back().find("FAILED busy"), std::string::npos) << loser.transcript();
    EXPECT_LE(stamp_of(loser.lines().back()) - stamp_of(loser.lines().front()), 4.0);
    winner.signal(SIGTERM);
    expect_clean(winner);
  }
  EXPECT_EQ(server.kills(), 0);
}

}  // namespace
}  // namespace support
