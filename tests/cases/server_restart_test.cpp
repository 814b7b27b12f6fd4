// SPDX-License-Identifier: MIT

// The server goes away and comes back while one process holds, another waits and a third is about to start.
// SIGPIPE is left at its default in all of them.

#include <cases/cases.hpp>

#include <memory>

namespace support {
namespace {

class ServerRestart : public Cases {
 protected:
  static void expect_no_crash(Process& driver) {
    const int status = driver.exit_status(25s);
    EXPECT_TRUE(status == 0 || status == 1 || status == 3) << status << ' ' << driver.transcript();
    EXPECT_EQ(driver.errors().find("terminate"), std::string::npos) << driver.transcript();
  }

  /// Holder, waiter and newcomer around an outage; returns when one of the contenders has had it.
  void play(double outage) {
    auto holder = drive("rs", {"hold=60", "loop", "wait=60"});
    holder.expect_line(" GOT$");
    auto waiter = drive("rs", {"wait=30", "hold=0.2"});
    waiter.expect_line(" TRY$");
    const long looks = server.calls("publish");
    ASSERT_TRUE(eventually([&] { return server.calls("publish") > looks; }));

    const double stopped = now();
    server.stop();
    EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - stopped, 1);
    holder.signal(SIGSTOP);  // so that it does not take it again before the contenders
    let_pass(outage);
    EXPECT_EQ(waiter.lines().size(), 1U) << waiter.transcript();
    server.restart();
    const double back = now();
    auto newcomer = drive("rs", {"wait=10", "hold=0.2"});
    EXPECT_LE(stamp_of(waiter.expect_line(" GOT$")) - back, 2);
    newcomer.expect_line(" GOT$");
    EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
    EXPECT_EQ(newcomer.exit_status(), 0) << newcomer.transcript();

    holder.signal(SIGCONT);
    holder.expect_line(" TRY$");
    holder.expect_line(" GOT$", 5s);
    EXPECT_EQ(server.subscribers("rs"), 1);
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
    EXPECT_TRUE(holder.lines().back().ends_with(" RELEASED")) << holder.transcript();
    EXPECT_EQ(count(holder, "LOST"), 1) << holder.transcript();
  }
};

TEST_F(ServerRestart, OfSomeSecondsIsWaitedOut) { play(scaled(1.5, 3.0)); }

TEST_F(ServerRestart, OfATenthOfASecondIsNotOverlooked) { play(0.1); }

TEST_F(ServerRestart, InTheMomentOfAReleaseLeavesAnObjectThatWorks) {
  for (int round = 0; round < 10; ++round) {
    auto holder = drive("rs", {"hold=" + std::to_string(0.1 + 0.01 * round), "loop", "wait=20"});
    const double got = stamp_of(holder.expect_line(" GOT$"));
    ASSERT_TRUE(eventually([&] { return now() >= got + 0.1; }));
    server.crash();
    holder.expect_line(" (RELEASED|LOST)");
    server.restart();
    for (int again = 0; again < 2; ++again) holder.expect_line(" GOT$", 5s);
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
  }
}

TEST_F(ServerRestart, KillsNoProcessInWhateverMomentItComes) {
  std::vector<std::unique_ptr<Process>> drivers;
  for (int i = 0; i < 4; ++i) {
    const char* const mode = i == 3 ? "shared" : "label=writer";
    drivers.emplace_back(new Process(drive("rs", {mode, "loop", "hold=0.001", "wait=20", "overlap=in:rs"})));
  }
  for (int round = 0; round < 10; ++round) {
    let_pass(0.05 + 0.013 * round);
    if (round % 2 == 0) {
      server.crash();
    } else {
      server.stop();
    }
    server.restart();
  }
  for (const auto& driver : drivers) {
    const auto seen = driver->lines().size();
    EXPECT_TRUE(eventually([&] {
      const auto& lines = driver->lines();
      return std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(seen), lines.end(),
                         [](const auto& line) { return line.ends_with(" GOT"); });
    })) << driver->transcript();
  }
  for (const auto& driver : drivers) driver->signal(SIGTERM);
  for (const auto& driver : drivers) {
    expect_no_crash(*driver);
    // Only the end, if it came in a wait.
    EXPECT_EQ(count(*driver, "FAILED"), count(*driver, "FAILED cancelled")) << driver->transcript();
  }
}

}  // namespace
}  // namespace support
