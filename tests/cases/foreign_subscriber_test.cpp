// SPDX-License-Identifier: MIT

// Somebody else listens on the lock channel: counted, silent, and nobody's holder. He must neither be killed
// nor taken for a reason to believe that the lock is free, and the caller must hear of him.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

namespace support {
namespace {

class ForeignSubscriber : public Cases {
 protected:
  /// What a shell would run to watch a channel.
  Process redis_cli(const std::string& verb, const std::string& channel) {
    return Process({"redis-cli", "-p", std::to_string(server.port()), verb, channel});
  }
  static constexpr const char* subscribed = "^(1|\\(integer\\) 1)$";
};

TEST_F(ForeignSubscriber, DoesNotKeepAFreeLockFromAnybody) {
  auto watcher = redis_cli("SUBSCRIBE", "fs");
  watcher.expect_line(subscribed);
  for (const std::string mode : {"shared", "wait=5"}) {
    auto ours = drive("fs", {mode, "wait=5", "hold=0.1"});
    expect_after_try(ours, " GOT$", 0, 5 + U + 0.5);
    EXPECT_EQ(ours.exit_status(), 0) << ours.transcript();
    EXPECT_NE(ours.errors().find("1 subscribers of the channel neither answer nor are named"),
              std::string::npos)
        << ours.transcript();
  }
  EXPECT_TRUE(watcher.running());
  EXPECT_EQ(server.subscribers("fs"), 1);
  EXPECT_EQ(server.kills(), 0);
}

TEST_F(ForeignSubscriber, IsNoReasonToThinkThatAHeldLockIsFree) {
  auto holder = drive("fs2", {"hold=60"});
  holder.expect_line(" GOT$");
  auto watcher = redis_cli("SUBSCRIBE", "fs2");
  watcher.expect_line(subscribed);
  for (const double wait : {0.0, 0.1, 1.0, 3.0}) {
    for (const char* const mode : {"shared", "label=exclusive"}) {
      auto ours = drive("fs2", {mode, "wait=" + std::to_string(wait)});
      // One attempt has the time of a probe, and a quarter to look into the silence.
      expect_after_try(ours, " FAILED busy", wait, wait + U + 0.5);
      EXPECT_EQ(count(ours, "GOT"), 0) << ours.transcript();
    }
  }
  EXPECT_TRUE(watcher.running());
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

TEST_F(ForeignSubscriber, OfAPatternDoesNotCount) {
  auto watcher = redis_cli("PSUBSCRIBE", "*");
  watcher.expect_line(subscribed);
  auto ours = drive("fs3", {"wait=2", "hold=60"});
  expect_after_try(ours, " GOT$", 0, 1);
  auto other = drive("fs3", {"wait=1"});
  expect_after_try(other, " FAILED busy", 1, 1 + U + 0.5);
  EXPECT_TRUE(watcher.running());
  expect_kept(ours);
}

// The watcher hides nobody: one silent connection with a holder's name is still in the way.
TEST_F(ForeignSubscriber, BesideASilentHolderMakesNobodyOwner) {
  const FakePeer silent(server.port(), "fs4", {.name = "fs4-lock-" + std::string(32, 'a')});
  const FakePeer watcher(server.port(), "fs4", {});
  auto once = drive("fs4", {"try"});
  expect_after_try(once, " FAILED busy .*2 of 3 subscribers did not answer", 0, U + 0.5);
  EXPECT_EQ(server.kills(), 0) << "who tries once has no time to ask twice";
  EXPECT_TRUE(silent.connected() && watcher.connected());
}

}  // namespace
}  // namespace support
