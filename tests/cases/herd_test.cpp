// SPDX-License-Identifier: MIT

// A job that starts on many machines at one instant: contenders that retry in step must not keep each other
// from a clean view. SUBLOCK_CASES=large makes it two hundred.

#include <cases/cases.hpp>

#include <filesystem>
#include <iostream>
#include <memory>

namespace support {
namespace {

class Herd : public Cases, public ::testing::WithParamInterface<int> {
 protected:
  /// A driver that waits behind a barrier, a line on its stdin.
  std::unique_ptr<Process> contender() {
    const std::string line =
        "read go; exec '" SUBLOCK_DRIVER "' lock herd port=" + std::to_string(server.port()) +
        " wait=120 hold=0.01 overlap=in:herd";
    return std::make_unique<Process>(std::vector<std::string>{"/bin/sh", "-c", line});
  }

  static std::size_t sockets_of(pid_t pid) {
    std::size_t sockets = 0;
    std::error_code gone;
    for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", gone), end;
         !gone && at != end; at.increment(gone)) {
      if (std::filesystem::read_symlink(at->path(), gone).string().starts_with("socket:")) ++sockets;
    }
    return sockets;
  }

  /// Each must get it once.
  void run(int how_many) {
    std::vector<std::unique_ptr<Process>> contenders;
    for (int i = 0; i < how_many; ++i) contenders.push_back(contender());
    const double start = now();
    for (const auto& contender : contenders) contender->say("go");
    std::size_t most_sockets = 0;
    const auto all_ended = [&] {
      return std::ranges::none_of(contenders, [&](const auto& contender) {
        if (!contender->running()) return false;
        most_sockets = std::max(most_sockets, sockets_of(contender->pid()));
        return true;
      });
    };
    ASSERT_TRUE(eventually(all_ended, 130s));
    double last = 0;
    for (const auto& contender : contenders) {
      EXPECT_EQ(contender->exit_status(), 0) << contender->transcript();
      EXPECT_EQ(count(*contender, "GOT"), 1) << contender->transcript();
      EXPECT_EQ(count(*contender, "OVERLAP"), 0) << contender->transcript();
      for (const auto& line : contender->lines()) {
        if (line.ends_with(" GOT")) last = std::max(last, stamp_of(line));
      }
    }
    EXPECT_LE(last - start, 120);
    EXPECT_LE(most_sockets, 3U) << "two of the lock, one of the counter";
    EXPECT_GE(most_sockets, 1U);
    EXPECT_EQ(server.kills(), 0);
    EXPECT_EQ(server.subscribers("herd"), 0);
    EXPECT_EQ(server.command({"GET", "in:herd"}), "0");
    std::cout << how_many << " contenders, the last got it after " << last - start << " s\n";
  }
};

TEST_P(Herd, EachContenderGetsItsTurn) {
  if (GetParam() > 30 && !large()) GTEST_SKIP() << "SUBLOCK_CASES=large runs it";
  run(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cases, Herd, ::testing::Values(3, 10, 30, 200), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace support
