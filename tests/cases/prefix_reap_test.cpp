// SPDX-License-Identifier: MIT

// Names that begin alike: the connections of channel `a-lock-b`, or of a tool, look like holders of channel `a`
// to whoever matches by prefix, and die when `a` can't be probed.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

namespace support {
namespace {

class PrefixReap : public Cases {};

TEST_F(PrefixReap, NobodyOfAnotherChannelIsKilled) {
  auto other = drive("a-lock-b", {"hold=60"});
  other.expect_line(" GOT$");
  const PlainConnection tool(server.port(), "a-lock-mytool");
  const FakePeer watcher(server.port(), "a", {});  // so that no probe on `a` adds up
  auto holder = drive("a", {"wait=10", "hold=60"});
  holder.expect_line(" GOT$");

  auto contender = drive("a", {"wait=3"});
  expect_after_try(contender, " FAILED busy", 3, 3 + U + 0.5);
  EXPECT_EQ(server.kills(), 0);
  EXPECT_NE(server.client_id("a-lock-mytool"), 0);
  EXPECT_TRUE(watcher.connected());
  expect_kept(other);
  expect_kept(holder);
}

// Whoever is named for the channel, but not as a holder's ear is, only listens.
TEST_F(PrefixReap, AListenerWithANameOfItsOwnIsAStranger) {
  const FakePeer tool(server.port(), "a", {.name = "a-lock-mytool"});
  const FakePeer other_channel(server.port(), "a", {.name = "a-lock-b-lock-" + std::string(32, '1')});
  const FakePeer old_other_channel(server.port(), "a", {.name = "a-lock-b-lock"});
  auto holder = drive("a", {"wait=10", "hold=60"});
  holder.expect_line(" GOT$");
  EXPECT_NE(holder.errors().find("3 subscribers of the channel neither answer"), std::string::npos)
      << holder.transcript();
  auto contender = drive("a", {"wait=2"});
  expect_after_try(contender, " FAILED busy", 2, 2 + U + 0.5);
  EXPECT_EQ(server.kills(), 0);
  EXPECT_TRUE(tool.connected() && other_channel.connected() && old_other_channel.connected());
  expect_kept(holder);
}

TEST_F(PrefixReap, AWedgedHolderBesideThemIsKilledAlone) {
  auto other = drive("a-lock-b", {"hold=60"});
  other.expect_line(" GOT$");
  auto wedged = drive("a", {"hold=60"});
  wedged.expect_line(" GOT$");
  const FakePeer tool(server.port(), "a", {.name = "a-lock-mytool"});
  wedged.signal(SIGSTOP);
  auto contender = drive("a", {"wait=20", "U=0.5"});
  contender.expect_line(" GOT$");
  EXPECT_EQ(contender.exit_status(), 0);
  EXPECT_EQ(server.kills(), 1);
  EXPECT_TRUE(tool.connected());
  expect_kept(other);
  wedged.signal(SIGCONT);
  wedged.expect_line(" LOST ");
}

}  // namespace
}  // namespace support
