// SPDX-License-Identifier: MIT

// The rights that README asks for in a cluster: enough, and each of them missed by who lacks it.

#include <gtest/gtest.h>

#include <cluster/lone_node.hpp>
#include <pages/page.hpp>
#include <sublock/redis_cluster_lock.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <chrono>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sublock {
namespace {

using namespace std::chrono_literals;

const std::string channel = "{nightly-import}";

std::vector<std::string> rights() {
  for (const pages::Block& block : pages::blocks_of("README.md", "redis")) {
    if (block.text().find(" +ssubscribe ") == std::string::npos) continue;
    std::istringstream words(block.text());
    return {std::istream_iterator<std::string>(words), {}};
  }
  throw std::runtime_error("README grants nobody +ssubscribe");
}

class ClusterRights : public ::testing::Test {
 protected:
  ClusterRights() { testing::LoneNode::prepare(server); }

  void grant(const std::vector<std::string>& words) {
    static_cast<void>(server.command({"ACL", "DELUSER", "importer"}));
    ASSERT_EQ(server.command(words), "OK");
    ASSERT_EQ(server.command({"ACL", "LOG", "RESET"}), "OK");
  }
  std::string refused() { return server.command({"ACL", "LOG"}); }

  std::shared_ptr<ClusterTransport> as_importer() {
    auto options = testing::LoneNode::reach(server);
    options.user = "importer";
    options.password = "secret";
    options.health_check_interval = 50ms;  // so that +ping is needed soon
    return ClusterTransport::make(options);
  }

  /// A frozen holder is reaped, a token drawn, and the lock handed to one who waits. False where that goes wrong.
  bool everything() {
    RedisClusterLock::Options options{.check_interval = 20ms, .unavailable_timeout = 100ms, .fencing = true};
    const std::unique_ptr<redisContext, decltype(&redisFree)> frozen(redisConnect("127.0.0.1", server.port()),
                                                                     &redisFree);
    const std::string name = core::client_name(channel, std::string(32, 'a'));
    freeReplyObject(redisCommand(frozen.get(), "CLIENT SETNAME %s", name.c_str()));
    freeReplyObject(redisCommand(frozen.get(), "SSUBSCRIBE %s", channel.c_str()));
    try {
      RedisClusterLock first(as_importer(), channel, options);
      first.acquire({.timeout = 3s});
      bool got = false;
      std::jthread waiting([&] {
        try {
          RedisClusterLock second(as_importer(), channel, options);
          got = second.try_lock_for(3s);
        } catch (const LockError&) {
        }
      });
      const auto stands_ready = [&] { return testing::LoneNode::subscribers(server, channel) == 2; };
      static_cast<void>(support::eventually([&] { return stands_ready() || !refused().empty(); }, 3s));
      // Long enough for signs of life to be asked for.
      static_cast<void>(support::throughout(150ms, [&] { return refused().empty(); }));
      const bool released = first.release();
      waiting.join();
      return released && got;
    } catch (const LockError&) {
      return false;
    }
  }

  support::LiveRedis server{testing::LoneNode::arguments()};
};

TEST_F(ClusterRights, ThatReadmeAsksForAreEnough) {
  grant(rights());
  EXPECT_TRUE(everything());
  EXPECT_EQ(refused(), "");
}

TEST_F(ClusterRights, AreMissedByWhoLacksOne) {
  for (const std::string& right : rights()) {
    if (right[0] != '+' && right[0] != '&' && right[0] != '~') continue;
    auto words = rights();
    std::erase(words, right);
    grant(words);
    static_cast<void>(everything());
    EXPECT_NE(refused().find(right[0] == '+' ? right.substr(1) : channel), std::string::npos) << right;
  }
}

}  // namespace
}  // namespace sublock
