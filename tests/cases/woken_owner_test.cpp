// SPDX-License-Identifier: MIT

// The owner of a key slept for longer than its lease, and another has the key by now. It wakes up, to extend what is
// not its own any more, or to delete it: neither may happen, however late its commands arrive.

#include <cases/key_cases.hpp>
#include <support/fault_proxy.hpp>

namespace support {
namespace {

class WokenOwner : public KeyCasesOfAnyAge {
 protected:
  static constexpr double expire = 2;
  static constexpr double interval = 1;

  /// Is to have the key for a long time.
  Process own(const std::string& key, std::vector<std::string> words = {}) {
    words.insert(words.end(), {"expire=2", "interval=1", "wait=10", "hold=60", "mine=0.5"});
    return drive_key(key, words);
  }

  /// It is the owner, was it all the time, and the next learns so.
  void expect_sole_owner(Process& second, const std::string& key, const std::string& uuid) {
    EXPECT_EQ(owner(key), uuid);
    expect_busy(key, uuid);
    second.expect_line(" MINE ");
    second.expect_line(" MINE ");
    EXPECT_EQ(count(second, "MINE"), count(second, "MINE yes")) << second.transcript();
    EXPECT_GT(left(key), 0);
    expect_kept(second);
    EXPECT_FALSE(exists(key));
  }

  static std::string through(const FaultProxy& proxy) { return "port=" + std::to_string(proxy.port()); }
};

TEST_P(WokenOwner, LearnsItAndLeavesTheKeyAlone) {
  auto first = own("nm");
  first.expect_line(" GOT$");
  let_pass(scaled(0.0, 1.0));
  first.freeze();
  const double frozen = now();
  auto second = own("nm");
  second.expect_line(" GOT$");
  EXPECT_LE(now() - frozen, within(expire + 1));
  let_pass(scaled(0.0, 3.0));
  const auto uuid = owner("nm");
  const double woken = now();
  first.signal(SIGCONT);
  EXPECT_LE(stamp_of(first.expect_line(" LOST ")) - woken, within(interval + 0.5));
  EXPECT_EQ(first.exit_status(2s), 3) << first.transcript();
  EXPECT_TRUE(first.lines().back().ends_with(" MINE no")) << first.transcript();
  expect_sole_owner(second, "nm", uuid);
}

TEST_P(WokenOwner, ThatWakesToUnlockLeavesTheKeyAlone) {
  auto first = own("nm");
  first.expect_line(" GOT$");
  first.freeze();
  auto second = own("nm");
  second.expect_line(" GOT$");
  const auto uuid = owner("nm");
  first.signal(SIGTERM);
  first.signal(SIGCONT);
  EXPECT_EQ(first.exit_status(2s), 3) << first.transcript();
  EXPECT_EQ(count(first, "LOST"), 1) << first.transcript();
  EXPECT_EQ(count(first, "RELEASED"), 0) << first.transcript();
  expect_sole_owner(second, "nm", uuid);
}

// They mean to delete their own keys, and are late. One waits for the answer, the other does not.
TEST_P(WokenOwner, WhoseUnlockIsUnderWayForTooLongDeletesNothing) {
  FaultProxy proxy(server.port());
  auto patient = own("p", {through(proxy), "U=60"});
  auto hasty = own("h", {through(proxy), "U=0.5"});
  patient.expect_line(" GOT$");
  hasty.expect_line(" GOT$");
  proxy.delay(FaultProxy::to_server, 60s);
  patient.signal(SIGTERM);
  hasty.signal(SIGTERM);
  auto after_patient = own("p");
  auto after_hasty = own("h");
  after_patient.expect_line(" GOT$");
  after_hasty.expect_line(" GOT$");
  const auto uuid_of_p = owner("p");
  const auto uuid_of_h = owner("h");
  proxy.heal();
  for (auto* first : {&patient, &hasty}) {
    EXPECT_EQ(first->exit_status(), 3) << first->transcript();
    EXPECT_EQ(count(*first, "LOST"), 1) << first->transcript();
  }
  EXPECT_TRUE(eventually([&] { return proxy.connections() == 0; })) << "all that they said has arrived";
  expect_sole_owner(after_patient, "p", uuid_of_p);
  expect_sole_owner(after_hasty, "h", uuid_of_h);
}

TEST_P(WokenOwner, WhoseExtensionIsUnderWayForTooLongExtendsNothing) {
  FaultProxy proxy(server.port());
  auto first = own("nm", {through(proxy), "U=0.5"});
  first.expect_line(" GOT$");
  const double confirmed = now();
  proxy.delay(FaultProxy::to_server, 60s);
  ASSERT_TRUE(eventually([&] { return !exists("nm"); }));
  const std::string somebodys = R"({"uuid":"somebody","expire_at":"4000000000.5"})";
  ASSERT_EQ(server.command({"SET", "nm", somebodys, "PX", "60000", "NX"}), "OK");
  const double lost = stamp_of(first.expect_line(" LOST "));
  EXPECT_LE(lost - confirmed, within(expire + 0.5)) << "not later than its key is";
  proxy.heal();
  EXPECT_EQ(first.exit_status(), 3) << first.transcript();
  EXPECT_TRUE(eventually([&] { return proxy.connections() == 0; })) << "all that it said has arrived";
  EXPECT_EQ(value("nm"), somebodys);
  EXPECT_GT(left("nm"), 40'000);
}

// Awake all the time, but a client that does not compare has written over its value, as Ruby's may.
TEST_P(WokenOwner, WhoseKeyIsSomebodysByNowExtendsNothing) {
  auto first = own("nm");
  first.expect_line(" GOT$");
  const std::string somebodys = R"({"uuid":"somebody","expire_at":"4000000000.5"})";
  ASSERT_EQ(server.command({"SET", "nm", somebodys, "PX", "60000"}), "OK");
  const double written = now();
  EXPECT_LE(stamp_of(first.expect_line(" LOST ")) - written, within(interval + 0.5));
  EXPECT_EQ(first.exit_status(), 3) << first.transcript();
  EXPECT_TRUE(first.lines().back().ends_with(" MINE no")) << first.transcript();
  EXPECT_EQ(value("nm"), somebodys);
  EXPECT_GT(left("nm"), 40'000);
}

INSTANTIATE_TEST_SUITE_P(On, WokenOwner, any_age, ::testing::PrintToStringParamName());

}  // namespace
}  // namespace support
