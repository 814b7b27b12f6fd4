// SPDX-License-Identifier: MIT

// The server is stopped, or swapping: connections are accepted, nobody answers. Every call has to return in its time.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

namespace support {
namespace {

class FrozenServer : public Cases {
 protected:
  ~FrozenServer() override { server.resume(); }
};

TEST_F(FrozenServer, KeepsNobodyLongerThanHeWaits) {
  server.pause();
  auto exclusive = drive("fz", {"wait=2"});
  auto shared = drive("fz", {"shared", "wait=2"});
  auto once = drive("fz", {"try"});
  auto key = drive_key("k", {"wait=2"});
  auto key_once = drive_key("k", {"try"});
  expect_after_try(exclusive, " FAILED (connect|busy)", 2, 2 + U + 1);
  expect_after_try(shared, " FAILED (connect|busy)", 2, 2 + U + 1);
  expect_after_try(key, " FAILED (connect|busy)", 2, 2 + U + 1);
  for (auto* driver : {&once, &key_once}) expect_after_try(*driver, " FAILED (connect|busy)", 0, U + 1);
  for (auto* driver : {&exclusive, &shared, &once, &key, &key_once}) EXPECT_EQ(driver->exit_status(2s), 1);
  server.resume();
  auto after = drive("fz", {"wait=3"});
  after.expect_line(" GOT$");
  EXPECT_EQ(after.exit_status(), 0);
}

TEST_F(FrozenServer, LetsAWaiterGoWhenAsked) {
  server.pause();
  auto waiter = drive("fz", {"wait=60"});
  waiter.expect_line(" TRY$");
  const double asked = now();
  waiter.signal(SIGTERM);
  EXPECT_LE(stamp_of(waiter.expect_line(" FAILED cancelled")) - asked, 1);
  EXPECT_EQ(waiter.exit_status(2s), 1);
}

TEST_F(FrozenServer, InTheMiddleLeavesAHolderThatHoldsOrKnowsBetter) {
  auto holder = drive("fz2", {"hold=60"});
  holder.expect_line(" GOT$");
  const long looks = server.calls("publish");
  auto waiter = drive("fz2", {"wait=3"});
  ASSERT_TRUE(eventually([&] { return server.calls("publish") > looks + 1; }));
  server.pause();
  const double paused = now();
  expect_after_try(waiter, " FAILED (connect|busy)", 3, 3 + U + 1);
  ASSERT_TRUE(eventually([&] { return now() >= paused + 5; }));
  server.resume();
  const bool knows = holder.running() && count(holder, "LOST") == 0;
  if (knows) {
    EXPECT_EQ(ask(server.port(), "fz2", 1, 2s).size(), 1U) << holder.transcript();
    EXPECT_TRUE(eventually([&] { return server.subscribers("fz2") == 1; }));
    auto other = drive("fz2", {"wait=1"});
    other.expect_line(" FAILED busy");
    expect_kept(holder);
  } else {
    EXPECT_EQ(holder.exit_status(2s), 3) << holder.transcript();
    EXPECT_TRUE(eventually([&] { return server.subscribers("fz2") == 0; }));
  }
}

// Released to a server that does not answer: not known to be given back, and no longer than it takes to know.
TEST_F(FrozenServer, EndsAReleaseInTime) {
  auto holder = drive("fz3", {"hold=60"});
  auto owner = drive_key("k", {"hold=60"});
  holder.expect_line(" GOT$");
  owner.expect_line(" GOT$");
  server.pause();
  const double asked = now();
  for (auto* driver : {&holder, &owner}) driver->signal(SIGTERM);
  for (auto* driver : {&holder, &owner}) {
    EXPECT_EQ(driver->exit_status(4s), 3) << driver->transcript();
    EXPECT_LE(stamp_of(driver->lines().back()) - asked, U + 1);
  }
  server.resume();
  auto after = drive("fz3", {"wait=3"});
  after.expect_line(" GOT$");
}

}  // namespace
}  // namespace support
