// SPDX-License-Identifier: MIT

// A holder that stood still with its connection intact: it may not call the lock held before it has checked,
// and it may afterwards. The server is paused so that the check can't be faster than the question.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <csignal>
#include <string>

namespace support {
namespace {

class Doubt : public ::testing::Test {
 protected:
  /// Longer than a beat that is late by what is put up with.
  static constexpr auto standstill = 1400ms;

  static void hold(Process& holder) {
    holder.expect_line("^GOT ");
    ASSERT_EQ(holder.next_line(), "HELD");
  }

  /// Stands still, and wakes while the server sleeps.
  void stand_still(Process& holder) {
    holder.freeze();
    ASSERT_TRUE(throughout(standstill, [&] { return server.subscribers("doubt") == 1; }));
    server.pause();
    holder.signal(SIGCONT);
  }

  LiveRedis server;
};

TEST_F(Doubt, IsThereAtOnceAndOverAfterACheck) {
  auto holder = help("watcher", server, {"doubt"});
  hold(holder);
  stand_still(holder);
  EXPECT_EQ(holder.next_line(), "DOUBTFUL") << holder.transcript();
  server.resume();
  EXPECT_EQ(holder.next_line(), "HELD") << holder.transcript();
  holder.say("release");
  EXPECT_EQ(holder.next_line(), "RELEASED") << holder.transcript();
}

TEST_F(Doubt, OfTwoStandstillsIsOverEachTime) {
  auto holder = help("watcher", server, {"doubt"});
  hold(holder);
  for (int round = 0; round < 2; ++round) {
    stand_still(holder);
    EXPECT_EQ(holder.next_line(), "DOUBTFUL") << holder.transcript();
    server.resume();
    EXPECT_EQ(holder.next_line(), "HELD") << holder.transcript();
  }
}

TEST_F(Doubt, IsALossWhereTheCheckDoesNotComeBack) {
  auto holder = help("watcher", server, {"doubt"});
  hold(holder);
  stand_still(holder);
  EXPECT_EQ(holder.next_line(), "DOUBTFUL") << holder.transcript();
  EXPECT_EQ(holder.next_line(), "LOST") << holder.transcript();
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.subscribers("doubt") == 0; }));
  EXPECT_TRUE(holder.stays_without("HELD", 300ms)) << holder.transcript();
  holder.say("release");
  EXPECT_EQ(holder.next_line(), "NOT RELEASED") << holder.transcript();
}

TEST_F(Doubt, IsNoTimeToReleaseInVain) {
  auto holder = help("watcher", server, {"doubt"});
  hold(holder);
  stand_still(holder);
  EXPECT_EQ(holder.next_line(), "DOUBTFUL") << holder.transcript();
  holder.say("release");
  server.resume();
  // It was ours all the time, whether the check or the release is heard first.
  holder.expect_line("^RELEASED$");
  EXPECT_EQ(holder.exit_status(), 0);
}

}  // namespace
}  // namespace support
