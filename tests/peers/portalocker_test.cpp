// SPDX-License-Identifier: MIT

// Python's portalocker as a real peer on the channel: Debian's 2.2.1, which speaks the old protocol. It
// knows exclusive locks only, answers a ping with a bare timestamp, and reads `response_channel` from
// whatever arrives.

#include "support/driver.hpp"
#include "support/exclusion_file.hpp"
#include "support/live_redis.hpp"
#include "support/process.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using support::Process;

class Portalocker : public testing::Test {
 protected:
  Process python(const std::vector<std::string>& words) {
    auto all = words;
    all.push_back("exclusion=" + file_.path());
    return support::peer("portalocker_peer.py", server_, channel, all);
  }
  Process drive(const std::vector<std::string>& words) { return support::drive(server_, channel, words); }

  const std::string channel = "nightly-import";
  support::LiveRedis server_;
  support::ExclusionFile file_;
};

TEST_F(Portalocker, HoldsSoWeWait) {
  auto theirs = python({});
  theirs.expect_line("VERSION 2\\.2\\.1");
  theirs.expect_line("GOT");
  EXPECT_NE(server_.client_id(channel + "-lock"), 0) << server_.command({"CLIENT", "LIST"});

  auto impatient = drive({"try"});
  impatient.expect_line("FAILED busy");
  auto reader = drive({"shared", "wait=0.5"});
  reader.expect_line("FAILED busy");
  auto ours = drive({"wait=30", "hold=60"});
  EXPECT_TRUE(ours.stays_without("GOT", 800ms)) << ours.transcript();

  theirs.say("release");
  ours.expect_line("GOT", 5s);
  {
    const support::ExclusionFile::Visit visit(file_);
    EXPECT_TRUE(visit.alone());
  }
  theirs.expect_line("RELEASED");
  EXPECT_EQ(theirs.exit_status(), 0);
  ours.signal(SIGTERM);
  ours.expect_line("RELEASED");
  EXPECT_EQ(ours.exit_status(), 0);
  EXPECT_EQ(server_.kills(), 0);
}

TEST_F(Portalocker, WaitsWhileWeHold) {
  auto ours = drive({"hold=60"});
  ours.expect_line("GOT");
  auto theirs = python({"wait=30", "hold=0.1"});
  theirs.expect_line("TRY");
  {
    const support::ExclusionFile::Visit visit(file_);
    ASSERT_TRUE(visit.alone());
    EXPECT_TRUE(theirs.stays_without("GOT", 1s)) << theirs.transcript();
  }
  EXPECT_TRUE(ours.running());

  ours.signal(SIGTERM);
  ours.expect_line("RELEASED");
  EXPECT_EQ(ours.exit_status(), 0);
  theirs.expect_line("GOT");
  theirs.expect_line("RELEASED");
  EXPECT_EQ(theirs.exit_status(), 0) << theirs.transcript();
  EXPECT_EQ(server_.kills(), 0);
}

TEST_F(Portalocker, WaitsWhileWeRead) {
  auto ours = drive({"shared", "hold=60"});
  ours.expect_line("GOT");
  auto theirs = python({"wait=0.6", "hold=0"});
  theirs.expect_line("FAILED");
  EXPECT_EQ(theirs.exit_status(), 1);
  EXPECT_TRUE(ours.running());
}

TEST_F(Portalocker, IsNotReapedForAnsweringAsItAlwaysDid) {
  auto theirs = python({});
  theirs.expect_line("GOT");
  auto ours = drive({"wait=2.5", "U=0.5", "C=0.1"});
  ours.expect_line("FAILED busy");
  theirs.say("release");
  theirs.expect_line("RELEASED");
  EXPECT_EQ(theirs.exit_status(), 0) << theirs.transcript();
  EXPECT_EQ(server_.kills(), 0);
}

TEST_F(Portalocker, IsSucceededWhenItsProcessDies) {
  auto theirs = python({});
  theirs.expect_line("GOT");
  auto ours = drive({"wait=30", "C=0.25"});
  EXPECT_TRUE(ours.stays_without("GOT", 400ms)) << ours.transcript();
  theirs.signal(SIGKILL);
  ours.expect_line("GOT", 3s);
  EXPECT_EQ(ours.exit_status(), 0);
  EXPECT_EQ(server_.kills(), 0);
}

TEST_F(Portalocker, TakesTurnsWithUs) {
  for (int round = 0; round < 3; ++round) {
    auto theirs = python({});
    theirs.expect_line("GOT");
    auto ours = drive({"wait=30", "hold=60"});
    ours.expect_line("TRY");
    theirs.say("release");
    ours.expect_line("GOT");
    const support::ExclusionFile::Visit visit(file_);
    EXPECT_TRUE(visit.alone());
    EXPECT_EQ(theirs.exit_status(), 0) << theirs.transcript();
  }
}

}  // namespace
