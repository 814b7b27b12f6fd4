// SPDX-License-Identifier: MIT

// The tools that live tests trust, before they are trusted.

#include "support/driver.hpp"
#include "support/exclusion_file.hpp"
#include "support/live_redis.hpp"
#include "support/process.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {
namespace {

using namespace std::string_literals;

TEST(LiveRedis, AnswersInBytes) {
  LiveRedis server;
  EXPECT_EQ(server.command({"PING"}), "PONG");
  EXPECT_EQ(server.command({"SET", "k\0\r\n"s, "v\0"s}), "OK");
  EXPECT_EQ(server.command({"GET", "k\0\r\n"s}), "v\0"s);
  EXPECT_EQ(server.command({"GET", "k"}), "");
  EXPECT_EQ(server.command({"NO"}).substr(0, 4), "ERR ");
  EXPECT_EQ(server.command({"MGET", "k", "k\0\r\n"s}), "\nv\0"s);
  EXPECT_EQ(server.subscribers("nobody"), 0);
  EXPECT_EQ(server.kills(), 0);
  server.command({"CLIENT", "KILL", "ID", "999999"});
  EXPECT_EQ(server.kills(), 1);
}

TEST(LiveRedis, RestartsWhereItWas) {
  LiveRedis server({"--maxclients", "50"});
  const auto port = server.port();
  server.command({"SET", "k", "v"});
  server.restart();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.command({"GET", "k"}), "");
  EXPECT_EQ(server.command({"CONFIG", "GET", "maxclients"}), "maxclients\n50");
}

TEST(LiveRedis, FailsLoudlyWhereItCannotStart) {
  try {
    LiveRedis server({"--no-such-option", "1"});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("redis-server does not start"), std::string::npos)
        << error.what();
  }
}

TEST(LiveRedis, EndsWhilePaused) {
  LiveRedis server;
  server.pause();
}

TEST(Process, IsReadLineByLine) {
  Process process({"/bin/sh", "-c", "echo one; echo two >&2; echo three; read x; echo got $x; exit 7"});
  process.expect_line("^three$");
  EXPECT_TRUE(process.stays_without("got", 50ms));
  EXPECT_TRUE(process.running());
  process.say("four");
  EXPECT_EQ(process.expect_line("got"), "got four");
  EXPECT_EQ(process.exit_status(), 7);
  EXPECT_FALSE(process.running());
  EXPECT_EQ(process.errors(), "two\n");
  EXPECT_EQ(process.lines(), (std::vector<std::string>{"one", "three", "got four"}));
}

TEST(Process, HasBounds) {
  Process process({"sleep", "100"});
  EXPECT_THROW(process.expect_line("x", 20ms), ProcessError);
  EXPECT_THROW(process.exit_status(20ms), ProcessError);
  process.signal(SIGTERM);
  EXPECT_EQ(process.exit_status(), 128 + SIGTERM);
  EXPECT_THROW(Process({"/no/such/program"}), ProcessError);
}

TEST(ExclusionFile, KnowsASecondOwner) {
  const ExclusionFile file;
  {
    const ExclusionFile::Visit first(file);
    EXPECT_TRUE(first.alone());
    const ExclusionFile::Visit second(file);
    EXPECT_FALSE(second.alone());
  }
  EXPECT_TRUE(ExclusionFile::Visit(file).alone());
}

}  // namespace
}  // namespace support
