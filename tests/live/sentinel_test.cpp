// SPDX-License-Identifier: MIT

// The primary that sentinels know: found, and followed when it changes. A failover is a loss for whoever holds a lock,
// and a moment's wait for whoever wants one.

#include <gtest/gtest.h>

#include <sublock/redis_getlock.hpp>
#include <sublock/redis_lock.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace support {
namespace {

using namespace std::chrono_literals;

class Sentinels : public ::testing::Test {
 protected:
  Sentinels() {
    const std::string port = std::to_string(primary.port());
    EXPECT_EQ(replica.command({"REPLICAOF", "127.0.0.1", port}), "OK");
    for (auto& sentinel : sentinels) {
      sentinel = std::make_unique<LiveRedis>(std::vector<std::string>{"--sentinel"},
                                             "sentinel monitor mymaster 127.0.0.1 " + port +
                                                 " 2\n"
                                                 "sentinel down-after-milliseconds mymaster 500\n"
                                                 "sentinel failover-timeout mymaster 2000\n");
    }
    // Each has found the other two and the replica, without which there is no failover.
    EXPECT_TRUE(eventually(
        [&] {
          for (const auto& sentinel : sentinels) {
            const std::string known = sentinel->command({"SENTINEL", "MASTER", "mymaster"});
            if (known.find("num-slaves\n1") == std::string::npos ||
                known.find("num-other-sentinels\n2") == std::string::npos)
              return false;
          }
          return true;
        },
        20s));
  }

  [[nodiscard]] sublock::ConnectionOptions options() const {
    sublock::ConnectionOptions options;
    options.url = "redis+sentinel://";
    for (const auto& sentinel : sentinels)
      options.url +=
          (sentinel == sentinels[0] ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(sentinel->port());
    options.url += "/mymaster";
    return options;
  }

  /// What the sentinels agree on.
  [[nodiscard]] bool is_primary(const LiveRedis& server) {
    return sentinels[0]->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"}) ==
           "127.0.0.1\n" + std::to_string(server.port());
  }

  LiveRedis primary;
  LiveRedis replica;
  std::array<std::unique_ptr<LiveRedis>, 3> sentinels;
};

TEST_F(Sentinels, TellWhereThePrimaryIs) {
  const auto connection = sublock::connect(options());
  sublock::RedisLock lock(connection, "watched");
  lock.acquire();
  EXPECT_EQ(primary.subscribers("watched"), 1);
  sentinels[0]->stop();
  sublock::RedisLock other(sublock::connect(options()), "watched");
  EXPECT_FALSE(other.try_lock()) << "the second sentinel has told";
}

TEST_F(Sentinels, AFailoverIsALossForHoldersAndAWaitForOthers) {
  sublock::RedisLock holder(sublock::connect(options()), "watched");
  sublock::RedisLock waiter(sublock::connect(options()), "watched");
  sublock::RedisGetlock owner(sublock::connect(options()), "watched-key", {.expire = 4s, .interval = 1s});
  sublock::RedisGetlock queuer(sublock::connect(options()), "watched-key", {.timeout = 30s});
  holder.acquire();
  owner.lock();
  ASSERT_TRUE(eventually([&] { return replica.command({"EXISTS", "watched-key"}) == "1"; }));
  std::jthread waiting([&] { waiter.acquire({.timeout = 30s}); });
  std::jthread queuing([&] { queuer.lock(); });
  ASSERT_TRUE(eventually([&] { return primary.subscribers("watched") == 2; }));
  primary.crash();
  EXPECT_TRUE(eventually([&] { return holder.lost(); }));
  waiting.join();
  EXPECT_TRUE(waiter.held());
  EXPECT_EQ(replica.subscribers("watched"), 1);
  queuing.join();  // the key has been replicated, and expires there
  EXPECT_TRUE(queuer.held());
}

TEST_F(Sentinels, ASwitchWithoutADeathIsALossToo) {
  sublock::RedisLock holder(sublock::connect(options()), "watched");
  holder.acquire();
  ASSERT_TRUE(eventually([&] {
    return sentinels[1]->command({"SENTINEL", "FAILOVER", "mymaster"}) == "OK";
  }));
  EXPECT_TRUE(eventually([&] { return holder.lost(); }, 20s));
  ASSERT_TRUE(eventually([&] { return is_primary(replica); }, 20s));
  holder.acquire({.timeout = 20s});
  EXPECT_TRUE(eventually([&] { return replica.subscribers("watched") == 1; }));
  EXPECT_EQ(primary.subscribers("watched"), 0);
}

/// When a connection has failed, no ear that is left over is taken before the sentinels have been asked; nor, when the
/// primary has moved, that of one who waited for a key: it would still go to the old one, where nobody else is.
TEST(SentinelMove, LeavesNoEarAtTheOldPrimary) {
  LiveRedis before;
  LiveRedis after;
  const auto watch = [](const LiveRedis& server) {
    return std::vector<std::string>{
        "SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(server.port()), "1"};
  };
  LiveRedis sentinel({"--sentinel"}, "sentinel announce-ip 127.0.0.1\n");
  ASSERT_EQ(sentinel.command(watch(before)), "OK");
  const auto connection =
      sublock::connect("redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/mymaster");
  sublock::RedisGetlock owner(sublock::connect(before.url()), "watched-key");
  owner.lock();
  sublock::RedisGetlock queuer(connection, "watched-key");
  std::stop_source enough;
  std::jthread queuing([&] {
    try {
      queuer.lock(enough.get_token());
    } catch (const sublock::LockError&) {
    }
  });
  ASSERT_TRUE(eventually([&] { return before.command({"CLIENT", "LIST", "TYPE", "pubsub"}) != ""; }));
  sublock::RedisLock moved(connection, "moved");
  moved.acquire();
  sublock::RedisLock(connection, "idle").acquire();  // leaves its ear for the next
  ASSERT_EQ(sentinel.command({"SENTINEL", "REMOVE", "mymaster"}), "OK");
  ASSERT_EQ(sentinel.command(watch(after)), "OK");
  before.command({"CLIENT", "KILL", "ID", std::to_string(before.client_id(moved.client_name()))});
  ASSERT_TRUE(eventually([&] { return moved.lost(); }));
  moved.acquire();
  EXPECT_EQ(after.subscribers("moved"), 1);
  sublock::RedisLock first(sublock::connect(after.url()), "watched");
  first.acquire();
  sublock::RedisLock second(connection, "watched");
  EXPECT_FALSE(second.try_lock()) << "two owners";
  enough.request_stop();
}

TEST_F(Sentinels, SayWhatTheyDoNotKnow) {
  const auto refusal = [](sublock::ConnectionOptions options) -> std::string {
    options.connect_timeout = 500ms;
    try {
      static_cast<void>(sublock::connect(options));
    } catch (const sublock::LockError& error) {
      EXPECT_EQ(error.kind(), sublock::Errc::connect);
      return error.what();
    }
    return "";
  };
  sublock::ConnectionOptions other = options();
  other.url.replace(other.url.rfind('/'), std::string::npos, "/other");
  EXPECT_NE(refusal(other).find("knows no primary of that name"), std::string::npos) << refusal(other);
  for (const auto& sentinel : sentinels) sentinel->stop();
  const std::string text = refusal(options());
  EXPECT_NE(text.find("nobody says where Redis mymaster"), std::string::npos) << text;
  EXPECT_NE(text.find("Connection refused"), std::string::npos) << text;
}

}  // namespace
}  // namespace support
