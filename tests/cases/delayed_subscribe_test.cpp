// SPDX-License-Identifier: MIT

// Subscribing and counting travel on two connections, and one is late: whoever decides before his own
// subscription is confirmed sees the only other subscriber and takes it for himself.

#include <cases/cases.hpp>
#include <support/fault_proxy.hpp>

#include <memory>

namespace support {
namespace {

enum class Late { subscribe, count };
enum class By { ours, portalocker_2, portalocker_4_1 };

class DelayedSubscribe : public Cases, public ::testing::WithParamInterface<std::tuple<Late, By>> {
 protected:
  static constexpr auto delay = 600ms;

  void be_late(Late what) {
    if (what == Late::subscribe) {
      proxy.delay_frames("SUBSCRIBE", delay);
    } else {
      proxy.delay_reply_to("NUMSUB", delay);
    }
  }

  Process hold(By whom) {
    switch (whom) {
      case By::ours: return drive("ds", {"hold=60", "overlap=in:ds"});
      case By::portalocker_2: return peer("portalocker_peer.py", server, "ds", {"overlap=in:ds"});
      case By::portalocker_4_1: return peer("scripted_peer.py", server, "ds", {"mode=exclusive"});
    }
    throw std::logic_error("nobody");
  }

  Process drive_through(const std::vector<std::string>& words) {
    std::vector<std::string> all = {"port=" + std::to_string(proxy.port()), "overlap=in:ds"};
    all.insert(all.end(), words.begin(), words.end());
    return drive_anywhere("ds", all);
  }

  FaultProxy proxy{server.port()};
};

TEST_P(DelayedSubscribe, NobodyDecidesBeforeHisOwnSubscriptionIsLive) {
  const auto [what, whom] = GetParam();
  auto holder = hold(whom);
  holder.expect_line(" (GOT|JOINED)");
  be_late(what);
  auto late = drive_through({"wait=2", "hold=1"});
  expect_after_try(late, " FAILED busy", 2, 2 + U + 0.5);
  EXPECT_EQ(count(late, "GOT"), 0) << late.transcript();
  EXPECT_TRUE(holder.running()) << holder.transcript();
  EXPECT_EQ(count(holder, "OVERLAP"), 0) << holder.transcript();
  EXPECT_EQ(server.command({"GET", "in:ds"}), whom == By::portalocker_4_1 ? "" : "1");
  EXPECT_EQ(server.kills(), 0);
}

std::string name_of(const ::testing::TestParamInfo<DelayedSubscribe::ParamType>& chosen) {
  const std::vector<std::string> holders = {"Ours", "Portalocker2", "Portalocker41"};
  const auto [what, whom] = chosen.param;
  return std::string(what == Late::subscribe ? "Subscribe" : "Count") + "LateBehind" +
         holders[static_cast<std::size_t>(whom)];
}

INSTANTIATE_TEST_SUITE_P(Cases, DelayedSubscribe,
                         ::testing::Combine(::testing::Values(Late::subscribe, Late::count),
                                            ::testing::Values(By::ours, By::portalocker_2,
                                                              By::portalocker_4_1)),
                         name_of);

class DelayedSubscribeOnAFreeLock : public DelayedSubscribe {};

INSTANTIATE_TEST_SUITE_P(Cases, DelayedSubscribeOnAFreeLock,
                         ::testing::Combine(::testing::Values(Late::subscribe, Late::count),
                                            ::testing::Values(By::ours)),
                         name_of);

// Both are late, by different times, on a lock that nobody holds.
TEST_P(DelayedSubscribeOnAFreeLock, OfTwoWhoAreLateTheyDoNotBothGetIt) {
  be_late(std::get<0>(GetParam()));
  std::vector<std::unique_ptr<Process>> drivers;
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0) {
      drivers.emplace_back(new Process(drive_through({"wait=30", "hold=0.2"})));
    } else {
      drivers.emplace_back(new Process(drive("ds", {"wait=30", "hold=0.2", "overlap=in:ds"})));
    }
  }
  for (const auto& driver : drivers) {
    EXPECT_EQ(driver->exit_status(30s), 0) << driver->transcript();
    EXPECT_EQ(count(*driver, "OVERLAP"), 0) << driver->transcript();
  }
  EXPECT_EQ(server.kills(), 0);
  EXPECT_EQ(server.command({"GET", "in:ds"}), "0");
}

}  // namespace
}  // namespace support
