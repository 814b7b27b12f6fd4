// SPDX-License-Identifier: MIT

// One extension fails: the connection is reset, a script keeps the server busy, memory is full, the server is gone.
// That is not the end of the lock as long as its key is there; and when the key has gone, its owner learns it.

#include <cases/key_cases.hpp>

namespace support {
namespace {

class FailingExtension : public KeyCases {
 protected:
  const double expire = scaled(3.0, 6.0);
  const double interval = scaled(0.5, 1.0);

  Process own() {
    return drive_key("ex",
                     {"expire=" + std::to_string(expire), "interval=" + std::to_string(interval), "hold=60"});
  }

  void expect_still_owned(Process& owner, const std::string& uuid) {
    expect_extended("ex");
    expect_extended("ex");
    EXPECT_EQ(this->owner("ex"), uuid);
    expect_busy("ex", uuid);
    expect_kept(owner);
    EXPECT_FALSE(exists("ex"));
  }

  /// It learns it within the bound, and does not store the key anew.
  void expect_lost(Process& owner, double since, double bound) {
    EXPECT_LE(stamp_of(owner.expect_line(" LOST ", span(within(bound) + 20))) - since, within(bound));
    EXPECT_EQ(owner.exit_status(2s), 3) << owner.transcript();
  }
  void expect_free() {
    EXPECT_TRUE(throughout(500ms, [&] { return !exists("ex"); }));
    auto next = drive_key("ex", {"try"});
    EXPECT_EQ(next.exit_status(), 0) << next.transcript();
  }

  [[nodiscard]] long refusals(const std::string& kind) {
    const auto all = server.command({"INFO", "errorstats"});
    const auto at = all.find("errorstat_" + kind + ":count=");
    return at == std::string::npos ? 0 : std::stol(all.substr(all.find('=', at) + 1));
  }
};

TEST_F(FailingExtension, ForAConnectionThatIsKilledIsTriedOnAnother) {
  auto owner = own();
  owner.expect_line(" GOT$");
  const auto uuid = this->owner("ex");
  for (int round = 0; round < 3; ++round) {
    ASSERT_NE(server.command({"CLIENT", "KILL", "TYPE", "normal"}), "0");
    expect_extended("ex");
  }
  expect_still_owned(owner, uuid);
}

TEST_F(FailingExtension, ForAScriptThatKeepsTheServerBusyIsTriedAgain) {
  server.command({"CONFIG", "SET", "busy-reply-threshold", "100"});
  auto owner = own();
  owner.expect_line(" GOT$");
  const auto uuid = this->owner("ex");
  Process script({"redis-cli", "-s", server.socket_path(), "EVAL", "while true do end", "0"});
  ASSERT_TRUE(eventually([&] { return server.command({"PING"}).starts_with("BUSY"); }));
  let_pass(scaled(1.0, 3.0));
  ASSERT_EQ(server.command({"SCRIPT", "KILL"}), "OK");
  ASSERT_TRUE(eventually([&] { return server.command({"PING"}) == "PONG"; }));
  EXPECT_GT(refusals("BUSY"), 1) << "the owner's among them";
  expect_still_owned(owner, uuid);
}

TEST_F(FailingExtension, ForFullMemoryIsTriedAgain) {
  auto owner = own();
  owner.expect_line(" GOT$");
  const auto uuid = this->owner("ex");
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  ASSERT_TRUE(eventually([&] { return refusals("OOM") > 0; }));
  let_pass(scaled(0.0, 3.0));
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  expect_still_owned(owner, uuid);
}

TEST_F(FailingExtension, BecauseTheServerCameBackEmptyIsTheEnd) {
  auto owner = own();
  owner.expect_line(" GOT$");
  server.crash();
  let_pass(scaled(0.0, 2.0));
  const double back = now();
  server.restart();
  expect_lost(owner, back, expire + 0.5);
  expect_free();
}

TEST_F(FailingExtension, ForLongerThanTheLeaseIsTheEnd) {
  auto owner = own();
  owner.expect_line(" GOT$");
  expect_extended("ex");
  server.crash();
  const double down = now();
  expect_lost(owner, down, expire + 0.5);
  EXPECT_GE(stamp_of(owner.lines().back()) - down, expire - interval - 0.5) << "not before";
  let_pass(scaled(0.0, 10 - expire));
  server.restart();
  expect_free();
}

TEST_F(FailingExtension, BecauseTheKeyWasEvictedIsTheEnd) {
  auto owner = own();
  owner.expect_line(" GOT$");
  const std::string fill = "for i = 1, 1000 do redis.call('set', 'filler:' .. i, string.rep('x', 1000)) end";
  server.command({"EVAL", fill, "0"});
  server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  ASSERT_TRUE(eventually([&] { return !exists("ex"); }));
  const double evicted = now();
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  expect_lost(owner, evicted, interval + 0.5);
  expect_free();
}

// Nobody else needs to be there for that: its own key was deleted, by hand.
TEST_F(FailingExtension, BecauseTheKeyWasDeletedIsTheEnd) {
  auto owner = own();
  owner.expect_line(" GOT$");
  ASSERT_EQ(server.command({"DEL", "ex"}), "1");
  expect_lost(owner, now(), interval + 0.5);
  expect_free();
}

}  // namespace
}  // namespace support
