// SPDX-License-Identifier: MIT

// A server that closes connections on which nothing is said: subscriptions are spared, the holder's command
// connection isn't, and its next answer meets a closed socket.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

#include <bitset>

namespace support {
namespace {

class IdleTimeout : public Cases, public ::testing::WithParamInterface<bool> {
 protected:
  [[nodiscard]] std::string address() const {
    return "url=" + (GetParam() ? "unix://" + server.socket_path() : server.url());
  }

  /// Ids of all connections but the asker's and those that subscribe.
  std::string command_connections() {
    const std::string list = server.command({"CLIENT", "LIST", "TYPE", "normal"});
    std::string ids;
    for (std::size_t at = 0; at < list.size(); at = list.find('\n', at) + 1) {
      const std::string line = list.substr(at, list.find('\n', at) - at);
      if (line.find("cmd=client|list") == std::string::npos) ids += line.substr(0, line.find(' ')) + ' ';
    }
    return ids;
  }

  /// How the process treats SIGPIPE: ignored, caught.
  static std::pair<bool, bool> sigpipe_of(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::pair<bool, bool> found;
    for (std::string line; std::getline(status, line);) {
      const auto bit = [&] { return (std::stoull(line.substr(7), nullptr, 16) >> (SIGPIPE - 1) & 1) != 0; };
      if (line.starts_with("SigIgn:")) found.first = bit();
      if (line.starts_with("SigCgt:")) found.second = bit();
    }
    return found;
  }
};

TEST_P(IdleTimeout, IsNoLossAndNoSilence) {
  server.command({"CONFIG", "SET", "timeout", "1"});
  auto holder = drive_anywhere("it", {"hold=60", address()});
  holder.expect_line(" GOT$");
  const auto before = sigpipe_of(holder.pid());
  EXPECT_EQ(before, std::pair(false, false));
  for (int round = 0; round < scaled(2, 5); ++round) {
    const std::string mouth = command_connections();
    ASSERT_TRUE(mouth.starts_with("id=")) << mouth;
    // It is replaced at once, or by the next answer; either way not this one any more.
    ASSERT_TRUE(eventually([&] { return command_connections() != mouth; }));
    const double asked = now();
    ASSERT_EQ(ask(server.port(), "it").size(), 1u);
    EXPECT_LE(now() - asked, 0.3);
  }
  auto contender = drive_anywhere("it", {"wait=2", address()});
  expect_after_try(contender, " FAILED busy ", 2, 2 + U + 0.5);
  EXPECT_EQ(sigpipe_of(holder.pid()), before);
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

INSTANTIATE_TEST_SUITE_P(Over, IdleTimeout, ::testing::Bool(),
                         [](const auto& over) { return over.param ? "AUnixSocket" : "Tcp"; });

}  // namespace
}  // namespace support
