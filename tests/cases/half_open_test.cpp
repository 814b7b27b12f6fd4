// SPDX-License-Identifier: MIT

// The network swallows everything: the server has forgotten the client, whose sockets look fine. With default options
// the loss is found out within 15 seconds, and no clean-up waits for a peer that never answers.

#include <cases/cases.hpp>
#include <support/fault_proxy.hpp>

#include <sublock/redis_lock.hpp>

#include <memory>
#include <optional>
#include <thread>

namespace support {
namespace {

class HalfOpen : public Cases {
 protected:
  /// health_check_interval + health_check_timeout are 13 s; the rest is for a busy machine.
  static constexpr double bound = 15;

  Process drive_through(const std::string& channel, const std::vector<std::string>& words) {
    std::vector<std::string> all = {"port=" + std::to_string(proxy.port())};
    all.insert(all.end(), words.begin(), words.end());
    return drive_anywhere(channel, all);
  }

  FaultProxy proxy{server.port()};
};

TEST_F(HalfOpen, IsFoundOutWithinItsBound) {
  auto holder = drive_through("ho", {"hold=60"});
  holder.expect_line(" GOT$");
  auto reader = drive_through("ho2", {"shared", "hold=60"});
  reader.expect_line(" GOT$");
  const auto given = sublock::connect(proxy.url());
  sublock::RedisLock with_a_given_connection(given, "ho3");
  with_a_given_connection.acquire();
  sublock::RedisLock with_own_options(
      "ho4",
      {.connection = {.url = proxy.url(), .health_check_interval = 500ms, .health_check_timeout = 500ms}});
  with_own_options.acquire();
  sublock::RedisLock checking_itself("ho5",
                                     {.unavailable_timeout = 500ms,
                                      .self_check_interval = 500ms,
                                      .connection = {.url = proxy.url(), .health_check_interval = 0s}});
  checking_itself.acquire();

  proxy.half_open();
  const double gone = now();
  auto follower = drive("ho", {"wait=3", "hold=2"});
  follower.expect_line(" GOT$");
  EXPECT_TRUE(eventually([&] { return with_own_options.lost(); }, span(1 + 1)));
  EXPECT_TRUE(eventually([&] { return checking_itself.lost(); }, span(1 + 1)));
  EXPECT_LE(stamp_of(holder.expect_line(" LOST ", span(bound + 5))) - gone, bound);
  EXPECT_EQ(holder.exit_status(2s), 3) << holder.transcript();
  EXPECT_LE(stamp_of(reader.expect_line(" LOST ", 5s)) - gone, bound);
  EXPECT_TRUE(eventually([&] { return with_a_given_connection.lost(); }, span(gone + bound - now())));
  EXPECT_FALSE(with_a_given_connection.held());

  const double released = now();
  EXPECT_FALSE(with_a_given_connection.release());
  EXPECT_FALSE(with_own_options.release());
  EXPECT_FALSE(checking_itself.release());
  EXPECT_LE(now() - released, 2);
  std::cout << "found out after " << released - gone << " s\n";
}

TEST_F(HalfOpen, KeepsNobodyWhoWantsToGo) {
  auto holder = drive_through("ho", {"hold=60"});
  holder.expect_line(" GOT$");
  auto other = drive("ho2", {"hold=60"});
  other.expect_line(" GOT$");
  auto waiter = drive_through("ho2", {"wait=60"});
  waiter.expect_line(" TRY$");
  const long looks = server.calls("publish");
  ASSERT_TRUE(eventually([&] { return server.calls("publish") > looks; }));
  std::optional<sublock::RedisLock> held(std::in_place, "ho3",
                                         sublock::RedisLock::Options{.connection = {.url = proxy.url()}});
  held->acquire();
  const auto given = sublock::connect(proxy.url());
  sublock::RedisLock unreachable(given, "ho4");
  unreachable.acquire();

  proxy.half_open();
  const double left = now();
  holder.signal(SIGTERM);  // released, not yet known to be lost
  waiter.signal(SIGTERM);
  auto latecomer = drive_through("ho4", {"wait=1"});
  held.reset();
  EXPECT_LE(now() - left, 2) << "the destructor waited";
  waiter.expect_line(" FAILED cancelled", 2s);
  EXPECT_EQ(waiter.exit_status(2s), 1) << waiter.transcript();
  EXPECT_EQ(holder.exit_status(2s), 3) << "nobody confirmed the release: " << holder.transcript();
  EXPECT_FALSE(unreachable.release());
  EXPECT_LE(now() - left, 4);
  EXPECT_TRUE(unreachable.lost());
  expect_after_try(latecomer, " FAILED connect", 1, 1 + U + 0.5);

  // The object whose release nobody heard works again once the network does.
  proxy.heal();
  EXPECT_TRUE(unreachable.try_lock_for(5s));
  EXPECT_TRUE(unreachable.release());
  expect_kept(other);
}

}  // namespace
}  // namespace support
