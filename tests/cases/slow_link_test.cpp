// SPDX-License-Identifier: MIT

// A healthy link that is slower than a probe's patience. Silence for a moment is not death, and one's own missing
// answer proves nothing about others.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>
#include <support/fault_proxy.hpp>

namespace support {
namespace {

class SlowLink : public Cases {
 protected:
  static constexpr double slowness = 1.3;

  Process drive_through(const std::vector<std::string>& words) {
    std::vector<std::string> all = {"port=" + std::to_string(proxy.port())};
    all.insert(all.end(), words.begin(), words.end());
    return drive_anywhere("sl", all);
  }
  void become_slow() { proxy.delay(FaultProxy::to_client, std::chrono::milliseconds(1300)); }

  FaultProxy proxy{server.port()};
};

TEST_F(SlowLink, AHolderSlowerThanPatienceIsLeftInPeaceOrToldOfItsLoss) {
  auto holder = drive_through({"hold=60"});
  holder.expect_line(" GOT$");
  become_slow();
  auto contender = drive("sl", {"wait=7", "hold=3"});
  const std::string outcome = contender.expect_line(" (GOT|FAILED busy)", 20s);
  if (outcome.ends_with(" GOT")) {
    EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - stamp_of(outcome), slowness + 1);
    EXPECT_EQ(holder.exit_status(2s + span(2 * slowness)), 3) << holder.transcript();
  } else {
    EXPECT_EQ(server.kills(), 0);
    EXPECT_TRUE(holder.running()) << holder.transcript();
  }
}

TEST_F(SlowLink, AContenderWithMorePatienceLeavesAHealthyHolderAlone) {
  auto holder = drive_through({"hold=60"});
  holder.expect_line(" GOT$");
  become_slow();
  auto contender = drive("sl", {"wait=5", "U=3"});
  expect_after_try(contender, " FAILED busy", 5, 5 + 3 + 0.5);
  EXPECT_EQ(server.kills(), 0);
  EXPECT_EQ(server.subscribers("sl"), 1);
  EXPECT_EQ(count(holder, "LOST"), 0) << holder.transcript();
}

TEST_F(SlowLink, AContenderThatHearsItselfTooLateKillsNobody) {
  auto holder = drive("sl", {"hold=60"});
  holder.expect_line(" GOT$");
  become_slow();
  auto contender = drive_through({"wait=6"});
  expect_after_try(contender, " FAILED busy", 0, 6 + 2 * U + 3);
  EXPECT_EQ(contender.exit_status(span(U + 2 * slowness)), 1) << contender.transcript();
  EXPECT_EQ(server.kills(), 0);
  EXPECT_TRUE(eventually([&] { return server.subscribers("sl") == 1; }));
  expect_kept(holder);
}

// Its questions are quick, and the server answers them; only what is published comes late.
TEST_F(SlowLink, AContenderWhoseEarAloneIsSlowKillsNobody) {
  auto holder = drive("sl", {"hold=60"});
  holder.expect_line(" GOT$");
  proxy.delay_messages(std::chrono::milliseconds(1300));
  auto contender = drive_through({"wait=6"});
  expect_after_try(contender, " FAILED busy", 6, 6 + 2 * U + 3);
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

TEST_F(SlowLink, AHolderThatMissesOneProbeIsLeftInPeace) {
  const auto id = std::string(32, '3');
  FakePeer holder(server.port(), "sl", {.name = "sl-lock-" + id});
  auto contender = drive("sl", {"wait=4"});
  ASSERT_TRUE(eventually([&] { return holder.pings() == 1; }));
  holder.follow({.answers = {answer_record(id, "exclusive")}});
  expect_after_try(contender, " FAILED busy", 4, 4 + U + 0.5);
  EXPECT_GE(holder.pings(), 2U);
  EXPECT_TRUE(holder.connected());
  EXPECT_EQ(server.kills(), 0);
}

}  // namespace
}  // namespace support
