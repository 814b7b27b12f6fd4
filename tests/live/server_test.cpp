// SPDX-License-Identifier: MIT

// What happens to processes when the server restarts, freezes or dies, and what sixty of them at once are to
// it.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace support {
namespace {

class Server : public ::testing::Test {
 protected:
  static double now() { return std::chrono::duration<double>(TestClock::now().time_since_epoch()).count(); }

  Process drive(const std::vector<std::string>& words) { return support::drive(server, "server", words); }

  /// Nothing but the passing of time.
  static void let_pass(TestClock::duration span) {
    ASSERT_TRUE(throughout(span, [] { return true; }));
  }

  /// The server goes away for that long while one holds, one waits and, on its return, a third one comes.
  void restart(TestClock::duration outage) {
    auto holder = drive({"loop", "hold=60", "wait=20"});
    holder.expect_line(" GOT$");
    auto waiter = drive({"wait=30", "hold=0.2"});
    waiter.expect_line(" TRY$");
    ASSERT_TRUE(eventually([&] { return server.subscribers("server") == 2; }));
    const double gone = now();
    server.crash();
    EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - gone, 1.0);
    let_pass(outage);
    EXPECT_EQ(waiter.lines().size(), 1u) << waiter.transcript();
    server.restart();
    const double back = now();
    auto third = drive({"wait=30", "hold=0.2"});
    // The object that lost it is a contender like any other, and keeps it once it has it.
    const auto some = [](Process& driver) {
      return std::ranges::any_of(driver.lines(),
                                 [&](const std::string& line) { return line.ends_with(" GOT"); });
    };
    const auto again = [](Process& driver) {
      return std::ranges::count_if(driver.lines(),
                                   [](const std::string& line) { return line.ends_with(" GOT"); }) == 2;
    };
    ASSERT_TRUE(eventually([&] { return some(waiter) || some(third) || again(holder); }))
        << waiter.transcript() << third.transcript() << holder.transcript();
    EXPECT_LE(now() - back, 2.0);
    ASSERT_TRUE(eventually([&] { return again(holder); }, std::chrono::seconds(20))) << holder.transcript();
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
    EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
    EXPECT_EQ(third.exit_status(), 0) << third.transcript();
    EXPECT_EQ(server.subscribers("server"), 0);
  }

  LiveRedis server;
};

TEST_F(Server, AFastRestartIsALossAndNoMore) { restart(std::chrono::milliseconds(0)); }

TEST_F(Server, ASlowRestartIsALossAndNoMore) { restart(std::chrono::seconds(2)); }

TEST_F(Server, AReleaseWithoutAServerEndsInTime) {
  auto holder = drive({"hold=60", "U=0.5"});
  holder.expect_line(" GOT$");
  server.pause();
  const double asked = now();
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.exit_status(std::chrono::seconds(3)), 3) << holder.transcript();
  EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - asked, 2.0);
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.subscribers("server") == 0; }));
}

TEST_F(Server, AServerThatDiesInTheMomentOfTheReleaseIsALoss) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  server.pause();
  holder.signal(SIGTERM);
  let_pass(std::chrono::milliseconds(100));
  server.crash();
  holder.expect_line(" LOST ");
  EXPECT_EQ(holder.exit_status(std::chrono::seconds(2)), 3) << holder.transcript();
}

TEST_F(Server, NobodyWaitsLongerForAFrozenServerThanHeWanted) {
  server.pause();
  auto late = drive({"wait=0.5", "U=0.5"});
  const double tried = stamp_of(late.expect_line(" TRY$"));
  const double failed = stamp_of(late.expect_line(" FAILED (connect|busy) "));
  EXPECT_GE(failed - tried, 0.5);
  EXPECT_LE(failed - tried, 0.5 + 0.5 + 1);
  EXPECT_EQ(late.exit_status(), 1);
  auto cancelled = drive({"wait=60"});
  cancelled.expect_line(" TRY$");
  let_pass(std::chrono::milliseconds(100));
  const double asked = now();
  cancelled.signal(SIGTERM);
  EXPECT_LE(stamp_of(cancelled.expect_line(" FAILED cancelled")) - asked, 2.0);
  server.resume();
  auto next = drive({"try"});
  EXPECT_EQ(next.exit_status(), 0) << next.transcript();
}

TEST_F(Server, AHoldSurvivesAServerThatFreezesForAMoment) {
  auto holder = drive({"hold=60"});
  holder.expect_line(" GOT$");
  auto waiter = drive({"wait=1"});
  const double tried = stamp_of(waiter.expect_line(" TRY$"));
  server.pause();
  const double failed = stamp_of(waiter.expect_line(" FAILED (connect|busy) "));
  EXPECT_LE(failed - tried, 1 + 1 + 1);
  server.resume();
  auto rival = drive({"try"});
  rival.expect_line(" FAILED busy ");
  EXPECT_EQ(holder.lines().size(), 2u) << holder.transcript();
  holder.signal(SIGTERM);
  holder.expect_line(" RELEASED$");
  EXPECT_EQ(holder.exit_status(), 0);
}

TEST_F(Server, SixtyReadersHoldAtOnceAndAWriterWaitsForAll) {
  std::vector<std::unique_ptr<Process>> readers;
  for (int i = 0; i < 60; ++i) {
    readers.push_back(std::make_unique<Process>(std::vector<std::string>{
        SUBLOCK_DRIVER, "lock", "server", "url=" + server.url(), "shared", "U=3", "hold=60"}));
    readers.back()->expect_line(" TRY$");
  }
  for (const auto& reader : readers) {
    const double got = stamp_of(reader->expect_line(" GOT$"));
    EXPECT_LE(got - stamp_of(reader->lines().front()), 5.0) << reader->transcript();
  }
  EXPECT_EQ(server.subscribers("server"), 60);
  auto refused = drive({"wait=1", "U=3"});
  const double tried = stamp_of(refused.expect_line(" TRY$"));
  const double failed = stamp_of(refused.expect_line(" FAILED busy "));
  EXPECT_GE(failed - tried, 1.0);
  EXPECT_LE(failed - tried, 1.0 + 0.5);
  EXPECT_EQ(server.subscribers("server"), 60);
  auto writer = drive({"wait=60", "U=3", "hold=0.1"});
  writer.expect_line(" TRY$");
  ASSERT_TRUE(eventually([&] { return server.subscribers("server") == 61; }));
  for (const auto& reader : readers) reader->signal(SIGTERM);
  double last = 0;
  for (const auto& reader : readers) {
    last = std::max(last, stamp_of(reader->expect_line(" RELEASED$")));
    EXPECT_EQ(reader->exit_status(), 0) << reader->transcript();
    EXPECT_EQ(reader->lines().size(), 3u) << reader->transcript();
  }
  const double got = stamp_of(writer.expect_line(" GOT$"));
  EXPECT_LE(got - last, 2.0);
  EXPECT_EQ(writer.exit_status(), 0) << writer.transcript();
  EXPECT_EQ(server.kills(), 0);
}

}  // namespace
}  // namespace support
