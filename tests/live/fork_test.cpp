// SPDX-License-Identifier: MIT

// A process that forks while it holds a lock: the child has nothing of it, and whatever it does to what it
// inherited stays its own.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <chrono>
#include <csignal>
#include <string>

namespace support {
namespace {

class Fork : public ::testing::Test {
 protected:
  Process fork_and(const std::string& what) { return help("forker", server, {"forked", what}); }

  LiveRedis server;
};

class ForkAnd : public Fork, public ::testing::WithParamInterface<const char*> {};

TEST_P(ForkAnd, WhatTheChildDoesIsItsOwn) {
  auto parent = fork_and(GetParam());
  parent.expect_line("^HELD$");
  EXPECT_EQ(parent.expect_line("^CHILD "), "CHILD 0") << parent.transcript();
  EXPECT_EQ(server.subscribers("forked"), 1);
  auto rival = drive(server, "forked", {"try"});
  rival.expect_line(" FAILED busy ");
  EXPECT_EQ(server.calls("unsubscribe"), 1 + (GetParam() == std::string("anew") ? 2 : 0));
  parent.say("go on");
  EXPECT_EQ(parent.expect_line("^(RELEASED|LOST)$"), "RELEASED");
  EXPECT_EQ(parent.exit_status(), 0) << parent.transcript();
  EXPECT_EQ(server.subscribers("forked"), 0);
  EXPECT_EQ(server.kills(), 0);
}

INSTANTIATE_TEST_SUITE_P(AChild, ForkAnd,
                         ::testing::Values("exit", "destroy", "release", "ask", "acquire", "anew"),
                         [](const auto& child) { return std::string(child.param); });

TEST_F(Fork, AChildThatOutlivesTheHolderDoesNotHoldForIt) {
  auto parent = fork_and("linger");
  parent.expect_line("^HELD$");
  auto waiter = drive(server, "forked", {"wait=20", "hold=0.1"});
  waiter.expect_line(" TRY$");
  parent.signal(SIGKILL);
  const double killed = std::chrono::duration<double>(TestClock::now().time_since_epoch()).count();
  EXPECT_LE(stamp_of(waiter.expect_line(" GOT$")) - killed, 1 + 2 * 0.25 + 1);
  EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
}

}  // namespace
}  // namespace support
