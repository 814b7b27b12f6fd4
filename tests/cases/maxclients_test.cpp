// SPDX-License-Identifier: MIT

// A server that has no connection left: each waiter costs two, and must never cost more.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

#include <memory>
#include <optional>

namespace support {
namespace {

class MaxClients : public Cases {
 protected:
  /// As the server counts them, the asker left out.
  long connected() {
    const std::string clients = server.command({"INFO", "clients"});
    return std::stol(clients.substr(clients.find("connected_clients:") + 18)) - 1;
  }

  /// One holder and nobody else but idle subscribers of another channel, until `free` slots are left.
  void expect_no_room(std::size_t free) {
    constexpr std::size_t most = 8;
    constexpr std::size_t of_holder = 2;
    auto holder = drive("mx", {"hold=60"});
    holder.expect_line(" GOT$");
    ASSERT_EQ(connected(), static_cast<long>(of_holder));
    PlainConnection admin(server.port());  // there may be no room for a question later
    std::vector<std::unique_ptr<PlainConnection>> idle;
    while (idle.size() + of_holder + 1 + free < most) {
      idle.push_back(std::make_unique<PlainConnection>(server.port()));
      idle.back()->command({"SUBSCRIBE", "elsewhere"});
    }
    admin.command({"CONFIG", "SET", "maxclients", std::to_string(most)});

    auto waiter = drive("mx", {"wait=1"});
    if (free < 2) {
      const auto line = expect_after_try(waiter, " FAILED connect ", 1, 1 + 1);
      EXPECT_NE(line.find("max number of clients reached"), std::string::npos) << line;
    } else {
      expect_after_try(waiter, " FAILED busy ", 1, 1 + 1);
    }
    EXPECT_EQ(waiter.exit_status(), 1);
    // One that was refused is unharmed too: as soon as there is room, it gets on.
    auto patient = drive("mx", {"wait=30"});
    patient.expect_line(" TRY$");
    let_pass(0.5);
    EXPECT_TRUE(patient.running());
    admin.command({"CONFIG", "SET", "maxclients", "10000"});
    EXPECT_EQ(server.kills(), 0);
    EXPECT_EQ(holder.lines().size(), 2u) << holder.transcript();
    expect_kept(holder);
    patient.expect_line(" GOT$");
    EXPECT_EQ(patient.exit_status(), 0) << patient.transcript();
  }
};

TEST_F(MaxClients, WithoutAnyRoomTheServersReasonIsGiven) { expect_no_room(0); }

TEST_F(MaxClients, RoomForOneIsNotEnough) { expect_no_room(1); }

TEST_F(MaxClients, RoomForTwoIsEnough) { expect_no_room(2); }

TEST_F(MaxClients, EachWaiterHasTwoConnectionsAndNoMore) {
  auto holder = drive("mx", {"hold=60"});
  holder.expect_line(" GOT$");
  const long before = connected();
  std::vector<std::unique_ptr<Process>> waiters;
  const double wait = scaled(4.0, 20.0);
  for (int i = 0; i < 10; ++i) {
    waiters.push_back(std::make_unique<Process>(
        std::vector<std::string>{SUBLOCK_DRIVER, "lock", "mx", "port=" + std::to_string(server.port()),
                                 "C=0.02", "wait=" + std::to_string(wait)}));
    waiters.back()->expect_line(" TRY$");
  }
  EXPECT_TRUE(eventually([&] { return connected() == before + 20; })) << connected();
  EXPECT_TRUE(throughout(span(wait - 2), [&] { return connected() <= before + 20; })) << connected();
  EXPECT_EQ(connected(), before + 20);
  for (const auto& waiter : waiters) {
    waiter->expect_line(" FAILED busy ", std::chrono::seconds(30));
    EXPECT_EQ(waiter->exit_status(), 1);
  }
  EXPECT_TRUE(eventually([&] { return connected() == before; })) << connected();
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

}  // namespace
}  // namespace support
