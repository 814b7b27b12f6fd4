// SPDX-License-Identifier: MIT

// A program starts others, in one thread, while another thread connects: none of them may inherit a socket, or
// it would hold the lock for as long as it runs. Unlike fork(), posix_spawn() and system() ask nobody before
// they begin, so a socket must be closed on exec from its first instant.

#include <gtest/gtest.h>

#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <sublock/redis_lock.hpp>

#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace support {
namespace {

class Spawn : public ::testing::Test {
 protected:
  /// Whether a program that is started now finds a socket among its descriptors.
  static bool inherits_a_socket() {
    std::array<std::string, 3> words = {
        "sh", "-c",
        "for fd in /proc/self/fd/*; do case $(readlink $fd) in socket:*) exit 1;; "
        "esac; done"};
    std::array<char*, 4> argv = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, argv.data(), environ), 0);
    int status = -1;
    EXPECT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
    return status != 0;
  }

  /// Starts programs while connections to `url` come and go.
  static void start_programs_beside(const std::string& url) {
    std::atomic<bool> ending = false;
    std::atomic<long> connections = 0;
    std::jthread busy([&] {
      for (; !ending; ++connections) EXPECT_NO_THROW(static_cast<void>(sublock::connect(url)));
    });
    for (int program = 0; program < 100; ++program)
      EXPECT_FALSE(inherits_a_socket()) << "program " << program;
    ending = true;
    busy.join();
    EXPECT_GT(connections, 20);
  }

  LiveRedis server;
};

TEST_F(Spawn, LeavesTcpSocketsBehind) { start_programs_beside(server.url()); }

TEST_F(Spawn, LeavesUnixSocketsBehind) { start_programs_beside("unix://" + server.socket_path()); }

}  // namespace
}  // namespace support
