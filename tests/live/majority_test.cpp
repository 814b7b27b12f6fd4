// SPDX-License-Identifier: MIT

// The lock on most of three real servers that know nothing of each other.

#include <gtest/gtest.h>

#include <sublock/redis_majority_lock.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace support {
namespace {

class MajorityLive : public ::testing::Test {
 protected:
  std::unique_ptr<sublock::RedisMajorityLock> lock() {
    std::vector<std::shared_ptr<sublock::HiredisTransport>> connections;
    for (const LiveRedis& server : servers)
      connections.push_back(sublock::HiredisTransport::make({.url = server.url()}));
    return std::make_unique<sublock::RedisMajorityLock>(connections, "ledger");
  }

  std::array<LiveRedis, 3> servers;
};

TEST_F(MajorityLive, SurvivesTheDeathOfOneServerAndIsLostWithTheSecond) {
  const auto holder = lock();
  holder->acquire();
  EXPECT_EQ(holder->seats(), 3u);
  const auto contender = lock();
  EXPECT_FALSE(contender->try_lock());
  servers[0].stop();
  ASSERT_TRUE(eventually([&] { return holder->seats() == 2; }));
  EXPECT_NO_THROW(holder->ensure_held());
  EXPECT_FALSE(contender->try_lock_for(10ms));
  servers[1].stop();
  EXPECT_TRUE(eventually([&] { return holder->lost(); }));
  EXPECT_FALSE(holder->held());
  EXPECT_TRUE(eventually([&] { return holder->stop_token().stop_requested(); }));  // by a thread of its own
  EXPECT_TRUE(eventually([&] { return servers[2].subscribers("ledger") == 0; })) << "the rest is given back";
}

TEST_F(MajorityLive, IsHadWithoutTheServerThatIsDown) {
  servers[1].stop();
  const auto holder = lock();
  holder->acquire();
  EXPECT_EQ(holder->seats(), 2u);
  EXPECT_TRUE(holder->release());
  servers[0].stop();
  EXPECT_THROW(holder->acquire({.timeout = 100ms}), sublock::LockError);
  EXPECT_EQ(servers[2].subscribers("ledger"), 0);
}

}  // namespace
}  // namespace support
