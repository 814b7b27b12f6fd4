// SPDX-License-Identifier: MIT

// Many processes after one lock on a real server, watched from outside: by files in the kernel's keeping and
// by a counter in Redis. SUBLOCK_CONTENTION_SECONDS makes it longer than the few seconds of a test run.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/exclusion_file.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace support {
namespace {

class Contention : public ::testing::Test {
 protected:
  static double seconds() {
    const char* const text = std::getenv("SUBLOCK_CONTENTION_SECONDS");
    return text != nullptr ? std::strtod(text, nullptr) : 3;
  }

  /// So many of each, at once; each must get its turn.
  void visit(int writers, int readers) {
    const ExclusionFile file;
    const std::string folder = std::filesystem::path(file.path()).parent_path();
    std::vector<std::unique_ptr<Process>> visitors;
    for (int i = 0; i < writers + readers; ++i) {
      visitors.emplace_back(new Process(
          help("visitor", server,
               {"contended", folder, i < writers ? "exclusive" : "shared", std::to_string(seconds())})));
    }
    const auto patience = std::chrono::seconds(static_cast<int>(seconds()) + 70);
    for (const auto& visitor : visitors) {
      ASSERT_EQ(visitor->exit_status(patience), 0) << visitor->transcript();
      ASSERT_EQ(visitor->lines().size(), 1u) << visitor->transcript();
      const std::string said = visitor->lines().front();
      ASSERT_TRUE(said.starts_with("GOT ")) << visitor->transcript();
      EXPECT_GT(std::stol(said.substr(4)), 0) << visitor->transcript();
      std::cout << said << '\n';
    }
    EXPECT_EQ(server.kills(), 0);
    EXPECT_EQ(server.subscribers("contended"), 0);
  }

  LiveRedis server;
};

TEST_F(Contention, EightWritersNeverMeet) { visit(8, 0); }

TEST_F(Contention, TwoWritersMeetNeitherEachOtherNorSixReaders) { visit(2, 6); }

TEST_F(Contention, ReadersAloneAreNeverInEachOthersWay) { visit(0, 8); }

TEST_F(Contention, EightDriversAreNeverInTwos) {
  std::vector<std::unique_ptr<Process>> drivers;
  for (int i = 0; i < 8; ++i) {
    drivers.push_back(std::make_unique<Process>(
        std::vector<std::string>{SUBLOCK_DRIVER, "lock", "contended", "url=" + server.url(), "wait=60", "U=3",
                                 "hold=0.001", "loop", "overlap=inside"}));
  }
  for (const auto& driver : drivers) driver->expect_line(" GOT$", std::chrono::seconds(60));
  const auto silent = [&] {
    return std::ranges::none_of(drivers, [](const auto& driver) {
      return std::ranges::any_of(driver->lines(), [](const std::string& line) {
        return line.find("OVERLAP") != std::string::npos || line.find("LOST") != std::string::npos ||
               line.find("FAILED") != std::string::npos;
      });
    });
  };
  const auto span = std::chrono::duration_cast<TestClock::duration>(std::chrono::duration<double>(seconds()));
  EXPECT_TRUE(throughout(span, silent));
  for (const auto& driver : drivers) driver->signal(SIGTERM);
  for (const auto& driver : drivers) {
    EXPECT_EQ(driver->exit_status(), 0) << driver->transcript().substr(0, 2000);
    long got = 0;
    for (const std::string& line : driver->lines()) {
      got += line.ends_with(" GOT") ? 1 : 0;
      EXPECT_EQ(line.find("OVERLAP"), std::string::npos) << line;
      EXPECT_EQ(line.find("LOST"), std::string::npos) << line;
    }
    EXPECT_GT(got, 0) << driver->transcript().substr(0, 2000);
    std::cout << "GOT " << got << '\n';
  }
  EXPECT_EQ(server.kills(), 0);
  EXPECT_EQ(server.subscribers("contended"), 0);
  EXPECT_EQ(server.command({"GET", "inside"}), "0");
}

}  // namespace
}  // namespace support
