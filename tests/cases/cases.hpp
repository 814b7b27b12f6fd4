// SPDX-License-Identifier: MIT
#pragma once

// What the cases stand on: a server, drivers on it, and short words for what all of them look at. A case is
// something that went wrong with locks of others in production; each file has one of them by its subject.
// SUBLOCK_CASES=large plays the long ones at their full length.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>
#include <support/sanitized.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

class Cases : public ::testing::Test {
 protected:
  /// On a server with further arguments, if you like.
  explicit Cases(std::vector<std::string> arguments = {}) : server(std::move(arguments)) {}

  /// How long a probe waits for answers, the driver's default, and its retry interval.
  static constexpr double U = 1;
  static constexpr double C = 0.25;

  static bool large() {
    const char* const size = std::getenv("SUBLOCK_CASES");
    return size != nullptr && std::string_view(size) == "large";
  }
  /// The case's own figure, or a smaller one that shows the same.
  template <class Number>
  static Number scaled(Number small, Number full) {
    return large() ? full : small;
  }

  /// In the driver's time.
  static double now() { return std::chrono::duration<double>(TestClock::now().time_since_epoch()).count(); }
  static TestClock::duration span(double seconds) {
    return std::chrono::duration_cast<TestClock::duration>(std::chrono::duration<double>(seconds));
  }
  /// Nothing but the passing of time, where that is the subject.
  static void let_pass(double seconds) {
    ASSERT_TRUE(throughout(span(seconds), [] { return true; }));
  }

  /// `sublock-driver lock CHANNEL words...` on the case's server.
  Process drive(const std::string& channel, const std::vector<std::string>& words = {}) {
    return support::drive(server, channel, words);
  }
  /// `sublock-driver key KEY words...` there.
  Process drive_key(const std::string& key, const std::vector<std::string>& words = {}) {
    return support::drive_key(server, key, words);
  }
  /// As `drive`, where the words say how to reach the server.
  static Process drive_anywhere(const std::string& channel, const std::vector<std::string>& words) {
    std::vector<std::string> argv = {SUBLOCK_DRIVER, "lock", channel};
    argv.insert(argv.end(), words.begin(), words.end());
    return Process(std::move(argv));
  }

  /// The driver's first line with that pattern comes between `least` and `most` seconds after its TRY.
  static std::string expect_after_try(Process& driver, const std::string& pattern, double least,
                                      double most) {
    const double tried = stamp_of(driver.expect_line(" TRY$"));
    const std::string line = driver.expect_line(pattern, span(within(most) + 20));
    EXPECT_GE(stamp_of(line) - tried, least) << line;
    EXPECT_LE(stamp_of(line) - tried, within(most)) << line;
    return line;
  }

  /// Ends a hold, which has lasted until now.
  static void expect_kept(Process& holder) {
    EXPECT_TRUE(holder.running()) << holder.transcript();
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
    EXPECT_TRUE(holder.lines().back().ends_with(" RELEASED")) << holder.transcript();
  }

  static long count(Process& driver, std::string_view word) {
    return std::ranges::count_if(driver.lines(), [&](const std::string& line) {
      const auto start = line.find(' ') + 1;
      return std::string_view(line).substr(start).starts_with(word);
    });
  }

  /// A figure of a process's memory, in bytes: VmRSS, VmHWM.
  static long memory(pid_t pid, const std::string& figure) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(figure + ":")) return std::stol(line.substr(figure.size() + 1)) * 1024;
    }
    throw std::runtime_error("no " + figure + " of process " + std::to_string(pid));
  }

  LiveRedis server;
};

}  // namespace support
