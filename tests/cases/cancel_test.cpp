// SPDX-License-Identifier: MIT

// Giving up cleanly: a writer that waits for readers keeps new readers out, so one that is cancelled, or whose
// program ends, must vanish at once.

#include <cases/cases.hpp>
#include <support/fault_proxy.hpp>

#include <sublock/redis_lock.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

namespace support {
namespace {

using namespace std::chrono_literals;

class Cancel : public Cases {
 protected:
  Process ender(const std::string& what) { return help("ender", server, {"cw", what}); }
};

TEST_F(Cancel, AWaitIsOverAtOnceAndLeavesNothingBehind) {
  auto reader = drive("cw", {"shared", "hold=60"});
  reader.expect_line(" GOT$");
  sublock::RedisLock::Options options;
  options.timeout = 30s;
  options.connection.url = server.url();
  sublock::RedisLock lock("cw", options);
  for (int round = 0; round < 3; ++round) {
    std::stop_source stop;
    std::optional<sublock::Errc> error;
    std::jthread waiting([&] {
      try {
        lock.acquire({.stop = stop.get_token()});
      } catch (const sublock::LockError& failure) {
        error = failure.kind();
      }
    });
    ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 2; }));
    let_pass(scaled(0.3, 3.0));
    const double asked = now();
    stop.request_stop();
    waiting.join();
    EXPECT_LE(now() - asked, 0.3);
    EXPECT_EQ(error, sublock::Errc::cancelled);
    EXPECT_TRUE(eventually([&] { return server.subscribers("cw") == 1; }, 500ms));
    auto newcomer = drive("cw", {"shared", "wait=2"});
    expect_after_try(newcomer, " GOT$", 0, 1);
    EXPECT_EQ(newcomer.exit_status(), 0) << newcomer.transcript();
  }
  expect_kept(reader);
  EXPECT_NO_THROW(lock.acquire());
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(server.subscribers("cw"), 0);
}

TEST_F(Cancel, AKeyboardInterruptEndsAWait) {
  auto reader = drive("cw", {"shared", "hold=60"});
  reader.expect_line(" GOT$");
  auto writer = drive("cw", {"wait=30"});
  ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 2; }));
  const double asked = now();
  writer.signal(SIGINT);
  EXPECT_LE(stamp_of(writer.expect_line(" FAILED cancelled ")) - asked, 0.3);
  EXPECT_EQ(writer.exit_status(), 1) << writer.transcript();
  EXPECT_EQ(server.subscribers("cw"), 1);
  expect_kept(reader);
}

TEST_F(Cancel, AProgramMayEndWhileAnotherOfItsThreadsWaits) {
  auto holder = drive("cw", {"shared", "hold=60"});
  holder.expect_line(" GOT$");
  auto program = ender("waiting");
  program.expect_line("^WAITING$");
  ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 2; }));
  program.say("end");
  EXPECT_EQ(program.exit_status(2s), 7) << program.transcript();
  EXPECT_TRUE(eventually([&] { return server.subscribers("cw") == 1; }, 500ms));
  expect_kept(holder);
}

TEST_F(Cancel, AProgramMayEndWhileAStaticLockIsHeld) {
  for (const char* way : {"holding", "holding-given", "holding-lost"}) {
    auto program = ender(way);
    program.expect_line("^HOLDING$");
    EXPECT_EQ(server.subscribers("cw"), 1);
    if (way == std::string("holding-lost")) {
      server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
      program.expect_line("^TOLD$");
    }
    program.say("end");
    EXPECT_EQ(program.exit_status(2s), 7) << program.transcript();
    EXPECT_EQ(program.errors(), "");
    EXPECT_EQ(server.subscribers("cw"), 0);
  }
}

TEST_F(Cancel, AProgramMayEndWhileItsServerIsFrozen) {
  auto program = ender("holding");
  program.expect_line("^HOLDING$");
  server.pause();
  program.say("end");
  EXPECT_EQ(program.exit_status(2s), 7) << program.transcript();
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.subscribers("cw") == 0; }));
}

TEST_F(Cancel, AFrozenServerDoesNotHoldUpWhoGivesUp) {
  auto reader = drive("cw", {"shared", "hold=60"});
  reader.expect_line(" GOT$");
  auto writer = drive("cw", {"wait=30"});
  ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 2; }));
  server.pause();
  const double asked = now();
  writer.signal(SIGTERM);
  EXPECT_LE(stamp_of(writer.expect_line(" FAILED cancelled ")) - asked, 2);
  EXPECT_EQ(writer.exit_status(2s), 1) << writer.transcript();
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.subscribers("cw") == 1; }));
  expect_kept(reader);
}

TEST_F(Cancel, ANetworkThatSwallowsEverythingDoesNotHoldUpWhoGivesUp) {
  auto reader = drive("cw", {"shared", "hold=60"});
  reader.expect_line(" GOT$");
  FaultProxy proxy(server.port());
  auto writer = drive_anywhere("cw", {"wait=30", "port=" + std::to_string(proxy.port())});
  ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 2; }));
  proxy.half_open();
  ASSERT_TRUE(eventually([&] { return server.subscribers("cw") == 1; }));
  const double asked = now();
  writer.signal(SIGTERM);
  EXPECT_LE(stamp_of(writer.expect_line(" FAILED cancelled ")) - asked, 2);
  EXPECT_EQ(writer.exit_status(2s), 1) << writer.transcript();
  expect_kept(reader);
}

}  // namespace
}  // namespace support
