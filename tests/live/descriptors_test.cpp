// SPDX-License-Identifier: MIT

// Programs that have no descriptors left, for a moment or from the start: whoever can't connect is told why,
// and a holder whose command connection breaks just then is not the worse for it once there are some again.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <string>

namespace support {
namespace {

using namespace std::chrono_literals;

class Descriptors : public ::testing::Test {
 protected:
  /// How many descriptors that process may have from now on; those it has stay.
  static void allow(Process& process, rlim_t number) {
    rlimit limit{};
    ASSERT_EQ(::prlimit(process.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = number;
    ASSERT_EQ(::prlimit(process.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  }

  LiveRedis server;
};

TEST_F(Descriptors, AreMissedInAWordByWhoeverConnects) {
  int succeeded = 0;
  int failed = 0;
  // From none at all for Redis to enough: each step of connecting is the first to lack one at some time.
  for (int number = 6; number < 16; ++number) {
    Process program({"sh", "-c",
                     "ulimit -n " + std::to_string(number) + " && exec " + SUBLOCK_DRIVER +
                         " lock scarce wait=0.3 port=" + std::to_string(server.port())});
    const int status = program.exit_status();
    if (status == 0) {
      ++succeeded;
      continue;
    }
    ++failed;
    EXPECT_EQ(status, 1) << program.transcript();
    program.expect_line(" FAILED connect .*Too many open files");
  }
  EXPECT_GT(succeeded, 0);
  EXPECT_GT(failed, 0);
  EXPECT_EQ(server.subscribers("scarce"), 0);
}

TEST_F(Descriptors, AreWaitedForByAHolderThatMustSayItHolds) {
  auto holder = drive(server, "scarce", {"hold=60"});
  holder.expect_line(" GOT$");
  allow(holder, 3);
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  auto rival = drive(server, "scarce", {"try", "U=10"});
  EXPECT_TRUE(rival.stays_without(" (GOT|FAILED)", 300ms)) << rival.transcript();
  allow(holder, 64);
  rival.expect_line(" FAILED busy .*exclusive", 5s);
  EXPECT_EQ(server.kills(), 1) << "but for ours";
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
}

}  // namespace
}  // namespace support
