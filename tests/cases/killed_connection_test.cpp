// SPDX-License-Identifier: MIT

// The connection that is the lock is killed, in a process that ignores SIGINT: no client may reconnect and go on
// as owner in silence, and no alarm may be a signal.

#include <cases/cases.hpp>

namespace support {
namespace {

class KilledConnection : public Cases {
 protected:
  const std::string id = std::string(32, '5');

  /// As a shell's background job.
  Process drive_ignoring_interrupts(const std::vector<std::string>& words) {
    std::string line = "trap '' INT; exec '" SUBLOCK_DRIVER "' lock kc port=" + std::to_string(server.port());
    for (const auto& word : words) line += ' ' + word;
    return Process({"/bin/sh", "-c", line});
  }

  void kill_subscribers() { ASSERT_EQ(server.command({"CLIENT", "KILL", "TYPE", "pubsub"}), "1"); }
};

TEST_F(KilledConnection, TheHolderLearnsItAndNeverComesBack) {
  for (const bool ignoring : {true, false}) {
    const std::vector<std::string> words = {"hold=60", "id=" + id};
    auto holder = ignoring ? drive_ignoring_interrupts(words) : drive("kc", words);
    holder.expect_line(" GOT$");
    const double killed = now();
    kill_subscribers();
    auto follower = drive("kc", {"wait=3", "hold=60"});
    EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - killed, 1);
    follower.expect_line(" GOT$");
    EXPECT_EQ(holder.exit_status(2s), 3) << "no signal, and a release at once: " << holder.transcript();
    EXPECT_EQ(holder.lines().size(), 3U) << holder.transcript();
    EXPECT_TRUE(throughout(1s, [&] { return server.subscribers("kc") == 1; }));
    EXPECT_EQ(server.client_id("kc-lock-" + id), 0);
    expect_kept(follower);
  }
}

// The same object may try again; until then nothing of it is on the channel.
TEST_F(KilledConnection, AHolderInALoopGetsItAnewAndSaysSo) {
  auto holder = drive_ignoring_interrupts({"hold=60", "loop", "wait=20"});
  for (int round = 0; round < 3; ++round) {
    holder.expect_line(" TRY$");
    holder.expect_line(" GOT$");
    kill_subscribers();
    holder.expect_line(" LOST ");
  }
  holder.expect_line(" GOT$");
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
  EXPECT_EQ(count(holder, "LOST"), 3);
}

TEST_F(KilledConnection, AWaiterGoesOnWaitingWhateverIsKilled) {
  auto holder = drive("kc", {"hold=60", "id=" + id});
  holder.expect_line(" GOT$");
  auto waiter = drive_ignoring_interrupts({"wait=60", "hold=0.1"});
  waiter.expect_line(" TRY$");
  for (int round = 0; round < 5; ++round) {
    const long looks = server.calls("publish");
    ASSERT_TRUE(eventually([&] { return server.calls("publish") > looks; }));
    const auto list = server.command({"CLIENT", "LIST"});
    const auto holders_own = std::to_string(server.client_id("kc-lock-" + id));
    for (std::size_t at = 0; at < list.size(); at = list.find('\n', at) + 1) {
      const auto connection = list.substr(at + 3, list.find(' ', at) - at - 3);
      const auto line = list.substr(at, list.find('\n', at) - at);
      if (connection == holders_own || line.find("cmd=client") != std::string::npos) continue;
      server.command({"CLIENT", "KILL", "ID", connection});
    }
  }
  EXPECT_EQ(count(holder, "LOST"), 0) << holder.transcript();
  EXPECT_EQ(waiter.lines().size(), 1U) << waiter.transcript();
  expect_kept(holder);
  waiter.expect_line(" GOT$", 2s);
  EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
}

}  // namespace
}  // namespace support
