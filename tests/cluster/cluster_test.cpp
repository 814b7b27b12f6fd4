// SPDX-License-Identifier: MIT

// Locks in a cluster of three primaries and three replicas: what a failover, a migration, a death and a cut do to who
// holds one, who waits, and who comes later.

#include <gtest/gtest.h>

#include <sublock/redis_cluster_lock.hpp>
#include <sublock/redis_lock.hpp>
#include <support/eventually.hpp>
#include <support/live_cluster.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace support {
namespace {

using namespace std::chrono_literals;
using sublock::RedisClusterLock;

const std::string channel = "{jobs}";

class Cluster : public ::testing::Test {
 protected:
  using Connection = std::shared_ptr<sublock::ClusterTransport>;

  [[nodiscard]] Connection connect() { return sublock::connect_cluster(cluster.url()); }

  /// A lock that is held, and tells of its loss.
  std::unique_ptr<RedisClusterLock> held(const Connection& connection) {
    RedisClusterLock::Options options;
    options.on_lost = [this](const sublock::LockLost& loss) {
      why = loss.what();
      ++losses;
    };
    auto lock = std::make_unique<RedisClusterLock>(connection, channel, options);
    lock->acquire();
    return lock;
  }

  /// One who waits, on a thread of his own, and says when he has it.
  [[nodiscard]] std::jthread waiter(const Connection& connection) {
    return std::jthread([this, connection] {
      RedisClusterLock lock(connection, channel);
      try {
        got = lock.try_lock_for(30s);
      } catch (const sublock::LockError& error) {
        ADD_FAILURE() << error.what();
      }
      done = true;
    });
  }

  void expect_loss(TestClock::duration within = 10s) {
    EXPECT_TRUE(eventually([&] { return losses == 1; }, within)) << "nobody was told";
  }

  LiveCluster cluster{3, 3};
  std::atomic<int> losses = 0;
  std::string why;
  std::atomic<bool> got = false;
  std::atomic<bool> done = false;
};

TEST_F(Cluster, LocksLiveAtTheOwnersOfTheirSlots) {
  const auto connection = connect();
  std::vector<std::unique_ptr<RedisClusterLock>> locks;
  std::set<LiveRedis*> owners_of_all;
  for (int at = 0; at < 300; ++at) {
    const std::string name = "{lock-" + std::to_string(at) + "}";
    locks.push_back(std::make_unique<RedisClusterLock>(connection, name));
    locks.back()->acquire();
  }
  std::size_t channels = 0;
  for (auto& node : cluster.nodes()) {
    const std::string answer = node->command({"PUBSUB", "SHARDCHANNELS", "{lock-*}"});
    const auto there = static_cast<std::size_t>(std::ranges::count(answer, '\n')) + (answer.empty() ? 0 : 1);
    if (there > 0) owners_of_all.insert(node.get());
    channels += there;
  }
  EXPECT_EQ(owners_of_all.size(), 3U);
  EXPECT_EQ(channels, locks.size());
  const auto elsewhere = connect();
  for (int at = 0; at < 300; at += 50)
    EXPECT_FALSE(RedisClusterLock(elsewhere, "{lock-" + std::to_string(at) + "}").try_lock());
}

TEST_F(Cluster, AFailoverByHandIsToldAndWhoWaitsGoesOnAtTheNewPrimary) {
  auto lock = held(connect());
  const auto waiting = waiter(connect());
  LiveRedis& primary = cluster.owner(channel);
  cluster.fail_over_to(cluster.replica_of(primary));
  expect_loss();
  EXPECT_FALSE(lock->held());
  ASSERT_TRUE(eventually([&] { return done.load(); }, 30s));
  EXPECT_TRUE(got);
  EXPECT_NE(&cluster.owner(channel), &primary);
}

TEST_F(Cluster, TheDeathOfAPrimaryIsToldAndItsReplicaStandsIn) {
  auto lock = held(connect());
  const auto waiting = waiter(connect());
  cluster.owner(channel).crash();
  expect_loss();
  ASSERT_TRUE(eventually([&] { return done.load(); }, 30s));
  EXPECT_TRUE(got);
}

TEST_F(Cluster, ASlotThatMovesIsALoss) {
  auto lock = held(connect());
  const auto waiting = waiter(connect());
  LiveRedis& source = cluster.owner(channel);
  cluster.migrate(channel, cluster.other_primary(source));
  expect_loss();
  EXPECT_NE(why.find("does not serve the channel's slot any more"), std::string::npos) << why;
  ASSERT_TRUE(eventually([&] { return done.load(); }, 30s));
  EXPECT_TRUE(got);
}

TEST_F(Cluster, WhoComesAfterTheSlotHasMovedFindsIt) {
  const auto connection = connect();
  RedisClusterLock lock(connection, channel);
  ASSERT_TRUE(lock.try_lock());
  ASSERT_TRUE(lock.release());
  cluster.migrate(channel, cluster.other_primary(cluster.owner(channel)));
  ASSERT_TRUE(lock.try_lock_for(10s));
  EXPECT_FALSE(RedisClusterLock(connect(), channel).try_lock()) << "both are at the new owner";
}

/// The node that was the primary has connections of ours left, and would count and deliver for itself alone.
TEST_F(Cluster, NobodyTakesALockAtAReplica) {
  const auto behind = connect();
  RedisClusterLock late(behind, channel);
  ASSERT_TRUE(late.try_lock());
  ASSERT_TRUE(late.release());  // an ear and a mouth stay there
  LiveRedis& before = cluster.owner(channel);
  cluster.fail_over_to(cluster.replica_of(before));
  ASSERT_TRUE(eventually([&] { return LiveCluster::has(before, {"INFO", "REPLICATION"}, "role:slave"); }));
  auto lock = held(connect());
  EXPECT_FALSE(late.try_lock_for(2s));
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(before.command({"PUBSUB", "SHARDCHANNELS", "{jobs}"}), "") << "nobody stays at the replica";
  lock->release();
  EXPECT_TRUE(late.try_lock_for(10s));
}

/// It sees no majority any more, and may serve its channels nevertheless.
class CutOff : public Cluster, public ::testing::WithParamInterface<const char*> {};

TEST_P(CutOff, IsALossAndNoPlaceForALock) {
  auto lock = held(connect());
  LiveRedis& primary = cluster.owner(channel);
  ASSERT_EQ(primary.command({"CONFIG", "SET", "cluster-allow-pubsubshard-when-down", GetParam()}), "OK");
  for (auto& node : cluster.nodes())
    if (node.get() != &primary) node->pause();
  // What README says: its own finding, twice the time between two questions, and a machine that is busy.
  expect_loss(LiveCluster::node_timeout * 3 / 2 + 3 * 500ms + 5s);
  EXPECT_TRUE(LiveCluster::has(primary, {"CLUSTER", "INFO"}, "cluster_state:fail"));
  const auto alone = sublock::ClusterTransport::make({.url = LiveCluster::url(primary)});
  RedisClusterLock other(alone, channel);
  EXPECT_THROW(static_cast<void>(other.try_lock_for(1s)), sublock::LockError) << "nobody may have it there";
  for (auto& node : cluster.nodes()) node->resume();
  cluster.wait_until_well();
  EXPECT_TRUE(other.try_lock_for(20s));
}

INSTANTIATE_TEST_SUITE_P(Cluster, CutOff, ::testing::Values("yes", "no"),
                         [](const auto& allowed) { return std::string(allowed.param); });

TEST_F(Cluster, APrimaryThatIsSilentCountsAsLost) {
  auto lock = held(connect());
  cluster.owner(channel).pause();
  expect_loss(3 * 500ms + 5s);
  EXPECT_FALSE(lock->held());
}

TEST_F(Cluster, TheWholeOfItMayGoAndComeBack) {
  const auto connection = connect();
  auto lock = held(connection);
  for (auto& node : cluster.nodes()) node->stop();
  expect_loss();
  RedisClusterLock other(connection, channel);
  try {
    other.acquire({.timeout = 300ms});
    ADD_FAILURE() << "nobody is there";
  } catch (const sublock::LockError& error) {
    EXPECT_EQ(error.kind(), sublock::Errc::connect) << error.what();
  }
  for (auto& node : cluster.nodes()) node->restart();
  cluster.wait_until_well();
  EXPECT_TRUE(other.try_lock_for(20s));
}

TEST_F(Cluster, AHolderThatIsFrozenIsReaped) {
  // Its keeper thread is the test's own process: a stranger with a holder's name does as well.
  LiveRedis& primary = cluster.owner(channel);
  const std::string name = sublock::core::client_name(channel, std::string(32, 'a'));
  redisContext* const frozen = redisConnect("127.0.0.1", primary.port());
  freeReplyObject(redisCommand(frozen, "CLIENT SETNAME %s", name.c_str()));
  freeReplyObject(redisCommand(frozen, "SSUBSCRIBE %s", channel.c_str()));
  RedisClusterLock::Options options;
  options.unavailable_timeout = 200ms;
  RedisClusterLock lock(connect(), channel, options);
  EXPECT_TRUE(lock.try_lock_for(20s));
  EXPECT_EQ(primary.kills(), 1);
  redisFree(frozen);
}

TEST_F(Cluster, ReadersWritersAndTokens) {
  const auto connection = connect();
  RedisClusterLock first(connection, channel), second(connect(), channel),
      writer(connect(), channel, {.fencing = true});
  ASSERT_TRUE(first.try_lock_shared());
  ASSERT_TRUE(second.try_lock_shared());
  EXPECT_FALSE(writer.try_lock());
  first.unlock_shared();
  second.unlock_shared();
  ASSERT_TRUE(writer.try_lock());
  const auto before = writer.fence_token();
  writer.unlock();
  ASSERT_TRUE(writer.try_lock());
  EXPECT_GT(writer.fence_token(), before);
}

TEST_F(Cluster, ASeedThatIsDownIsNoMatter) {
  const std::string dead = std::to_string(LiveRedis::free_port());
  const auto connection = sublock::connect_cluster(
      "redis+cluster://127.0.0.1:" + dead + ",127.0.0.1:" + std::to_string(cluster.nodes()[4]->port()));
  EXPECT_TRUE(RedisClusterLock(connection, channel).try_lock());
}

std::string text_of_error(auto act) {
  try {
    act();
  } catch (const sublock::LockError& error) {
    return error.what();
  }
  return "nothing is wrong";
}

TEST(ClusterOrNot, EachLockNamesTheOther) {
  const LiveRedis plain;
  const auto in_cluster = [&] { static_cast<void>(sublock::connect_cluster(LiveCluster::url(plain))); };
  EXPECT_NE(text_of_error(in_cluster).find("use sublock::RedisLock"), std::string::npos)
      << text_of_error(in_cluster);
  const LiveRedis node(
      {"--cluster-enabled", "yes", "--cluster-port", std::to_string(LiveRedis::free_port())});
  const auto at_node = [&] { static_cast<void>(sublock::connect(node.url())); };
  EXPECT_NE(text_of_error(at_node).find("use sublock::RedisClusterLock"), std::string::npos)
      << text_of_error(at_node);
  const auto by_url = [] { static_cast<void>(sublock::connect("redis+cluster://127.0.0.1:7000")); };
  EXPECT_NE(text_of_error(by_url).find("RedisClusterLock"), std::string::npos) << text_of_error(by_url);
  for (const char* const url : {"redis+cluster://127.0.0.1:1/3", "redis+cluster://", "unix:///tmp/x",
                                "redis+sentinel://127.0.0.1:1/mymaster"}) {
    const auto misread = [&] { static_cast<void>(sublock::ClusterTransport::make({.url = url})); };
    EXPECT_NE(text_of_error(misread), "nothing is wrong") << url;
  }
}

}  // namespace
}  // namespace support
