// SPDX-License-Identifier: MIT

// What RedisGetlock says on the wire, to which servers, and what it costs a process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/redis_getlock.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/relay.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

RedisGetlock::Options options_for(const std::string& url) {
  RedisGetlock::Options options;
  options.expire = 20s;
  options.interval = 10s;
  options.connection.url = url;
  return options;
}

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(GetlockWire, OneCommandTakesTheKeyWithItsExpiry) {
  support::LiveRedis redis;
  support::Relay relay(redis.port());
  const auto connection = connect(relay.url());
  relay.take();
  RedisGetlock lock(connection, "wire", options_for(relay.url()));
  lock.lock();
  const std::string sent = relay.take().to_server;
  EXPECT_TRUE(sent.starts_with("*6\r\n$3\r\nSET\r\n$4\r\nwire\r\n")) << sent;
  EXPECT_THAT(sent, HasSubstr("$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n20000\r\n"));
  EXPECT_EQ(std::count(sent.begin(), sent.end(), '*'), 1) << sent;
}

TEST(GetlockWire, AHundredAreHeldByOneThreadAndOneConnection) {
  support::LiveRedis redis;
  const auto connection = connect(redis.url());
  const std::size_t threads = entries("/proc/self/task");  // the keeper's among them
  std::vector<std::unique_ptr<RedisGetlock>> locks;
  for (int at = 0; at < 100; ++at) {
    locks.push_back(
        std::make_unique<RedisGetlock>(connection, "many" + std::to_string(at), options_for(redis.url())));
    locks.back()->lock();
  }
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_EQ(redis.command({"CLIENT", "LIST", "TYPE", "pubsub"}), "");
}

TEST(GetlockWire, WhereTheServerTellsOfDeletedKeysAWaiterHearsIt) {
  support::LiveRedis redis({"--notify-keyspace-events", "Kgx"});
  auto options = options_for(redis.url());
  RedisGetlock owner("told", options);
  owner.lock();
  RedisGetlock waiter("told", options);
  std::thread thread([&] { EXPECT_TRUE(waiter.try_lock_for(20s)); });
  ASSERT_TRUE(support::eventually([&] { return redis.subscribers("__keyspace@0__:told") == 1; }));
  redis.command({"CONFIG", "RESETSTAT"});
  redis.command({"DEL", "told"});
  thread.join();
  EXPECT_TRUE(waiter.held());
  EXPECT_EQ(redis.subscribers("__keyspace@0__:told"), 0);
}

/// A user who may do what the README says a lease needs, and nothing else.
TEST(GetlockWire, TheRightsThatItNeedsAreEnough) {
  support::LiveRedis redis;
  redis.command({"ACL",           "SETUSER", "leaser",     "on",    ">secret",  "resetkeys",
                 "resetchannels", "-@all",   "+ping",      "+set",  "+eval",    "+getrange",
                 "+del",          "+type",   "+pttl",      "+incr", "+publish", "+subscribe",
                 "+unsubscribe",  "~job",    "~job-fence", "&job-*"});
  auto options = options_for(redis.url());
  options.connection.user = "leaser";
  options.connection.password = "secret";
  options.fencing = true;
  RedisGetlock owner("job", options);
  owner.lock();
  EXPECT_GT(owner.fence_token(), 0);
  RedisGetlock waiter("job", options);
  EXPECT_FALSE(waiter.try_lock());
  std::thread thread([&] { EXPECT_TRUE(waiter.try_lock_for(20s)); });
  ASSERT_TRUE(
      support::eventually([&] { return redis.subscribers(core::lease::release_channel("job")) == 1; }));
  EXPECT_TRUE(owner.unlock());
  thread.join();
  EXPECT_TRUE(waiter.is_self_locked());
}

TEST(GetlockWire, AKeyOfAnotherKindIsNamed) {
  support::LiveRedis redis;
  redis.command({"RPUSH", "queue", "job"});
  RedisGetlock lock("queue", options_for(redis.url()));
  try {
    (void)lock.try_lock();
    FAIL();
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::protocol);
    EXPECT_THAT(error.what(), HasSubstr("list"));
    EXPECT_THAT(error.what(), HasSubstr("queue"));
  }
  EXPECT_TRUE(lock.is_locked());
  EXPECT_EQ(redis.command({"LLEN", "queue"}), "1");
}

TEST(GetlockWire, AnOldServersStaleKeyIsTakenOverWithAWord) {
  support::LiveRedis redis({"--rename-command", "HELLO", "", "--rename-command", "INFO", ""});
  std::string log;
  auto options = options_for(redis.url());
  options.logger = [&](std::string_view text) { log += std::string(text) + '\n'; };
  RedisGetlock lock("stale", options);
  redis.command({"SET", "stale", R"({"uuid":"dead","expire_at":"9999999999.0"})"});
  EXPECT_FALSE(lock.try_lock()) << "not over yet";
  redis.command({"SET", "stale", R"({"uuid":"dead","expire_at":"1.0"})", "EX", "100"});
  EXPECT_FALSE(lock.try_lock()) << "it will be over by itself";
  redis.command({"SET", "stale", R"({"uuid":"dead","expire_at":"1.0"})"});
  EXPECT_TRUE(lock.try_lock());
  EXPECT_THAT(log, HasSubstr("without an expiry"));
  EXPECT_GT(std::stoi(redis.command({"TTL", "stale"})), 0);
  EXPECT_TRUE(lock.is_self_locked());
  EXPECT_TRUE(lock.unlock());
}

/// Both protocols on one connection: an old server's two rounds must not be interrupted.
TEST(GetlockWire, TwoRoundsAreNotInterrupted) {
  support::LiveRedis redis({"--rename-command", "HELLO", "", "--rename-command", "INFO", ""});
  const auto connection = connect(redis.url());
  std::vector<std::thread> threads;
  for (int at = 0; at < 4; ++at) {
    threads.emplace_back([&, at] {
      auto options = options_for(redis.url());
      options.fencing = true;
      RedisGetlock lock(connection, "rounds" + std::to_string(at % 2), options);
      for (int round = 0; round < 100; ++round) {
        EXPECT_TRUE(lock.try_lock_for(20s));
        EXPECT_TRUE(lock.is_self_locked());
        EXPECT_TRUE(lock.unlock());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(redis.command({"EXISTS", "rounds0", "rounds1"}), "0");
  EXPECT_EQ(redis.command({"GET", "rounds0-fence"}), "200");
}

}  // namespace
}  // namespace sublock::testing
