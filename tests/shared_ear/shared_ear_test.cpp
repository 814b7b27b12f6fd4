// SPDX-License-Identifier: MIT

// Locks that share an ear beside those that don't: one connection, one fate, and nobody taken for what he is not.

#include <gtest/gtest.h>
#include <shared_ear/frozen_process.hpp>
#include <sublock/redis_lock.hpp>
#include <sublock/redis_shared_ear_lock.hpp>
#include <support/eventually.hpp>
#include <support/fake_peer.hpp>
#include <support/live_redis.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;

class SharedEar : public ::testing::Test {
 protected:
  template <class Lock>
  typename Lock::Options options() {
    typename Lock::Options options;
    options.timeout = 10s;
    options.unavailable_timeout = 300ms;
    options.on_warning = [this](std::string_view text) { warnings.emplace_back(text); };
    return options;
  }

  std::size_t ears() {
    const std::string list = server.command({"CLIENT", "LIST", "TYPE", "pubsub"});
    std::size_t count = 0;
    for (auto at = list.find(" name=sublock-ear-"); at != std::string::npos;
         at = list.find(" name=sublock-ear-", at + 1))
      ++count;
    return count;
  }

  bool warned_of(std::string_view what) const {
    return std::ranges::any_of(warnings,
                               [&](const std::string& text) { return text.find(what) != std::string::npos; });
  }

  /// Of a frozen process that holds three, one is wanted.
  template <class First, class Second>
  void expect_reaped_as_one(auto first_connection, auto second_connection) {
    First first(first_connection(), "a", options<First>());
    first.acquire();
    EXPECT_EQ(server.kills(), 1);
    for (const std::string channel : {"b", "c"}) {
      Second other(second_connection(), channel, options<Second>());
      EXPECT_TRUE(other.try_lock()) << channel << " is free by then";
    }
    EXPECT_EQ(server.kills(), 1);
    EXPECT_TRUE(first.held());
  }

  support::LiveRedis server;
  std::vector<std::string> warnings;
};

TEST_F(SharedEar, OfAFrozenProcessIsReapedAsOneByAPlainLock) {
  const FrozenProcess frozen(server.url(), {"a", "b", "c"});
  EXPECT_EQ(ears(), 1U);
  const auto plain = [&] { return connect(server.url()); };
  const auto sharing = [&] { return connect_sharing(server.url()); };
  expect_reaped_as_one<RedisLock, SharedEarLock>(plain, sharing);
  EXPECT_FALSE(warned_of("SUBSCRIBE"));
}

TEST_F(SharedEar, OfAFrozenProcessIsReapedAsOneByOneThatShares) {
  const FrozenProcess frozen(server.url(), {"a", "b", "c"});
  const auto plain = [&] { return connect(server.url()); };
  const auto sharing = [&] { return connect_sharing(server.url()); };
  expect_reaped_as_one<SharedEarLock, RedisLock>(sharing, plain);
}

TEST_F(SharedEar, OfAFrozenProcessIsLeftAloneWhereItIsNot) {
  const FrozenProcess frozen(server.url(), {"a"});
  const support::FakePeer watcher(server.port(), "b", {});
  RedisLock lock(connect(server.url()), "b", options<RedisLock>());
  lock.acquire();
  EXPECT_TRUE(warned_of("SUBSCRIBE"));
  EXPECT_EQ(server.kills(), 0);
  EXPECT_EQ(ears(), 1U);
}

TEST_F(SharedEar, ThatAnswersIsNoneOfTheStrangers) {
  const auto theirs = connect_sharing(server.url());
  SharedEarLock reading(theirs, "a", options<SharedEarLock>());
  reading.lock_shared();
  SharedEarLock elsewhere(theirs, "b", options<SharedEarLock>());
  elsewhere.lock();
  const support::FakePeer watcher(server.port(), "a", {});
  {
    RedisLock plain(connect(server.url()), "a", options<RedisLock>());
    plain.lock_shared();
    EXPECT_TRUE(warned_of("1 subscribers of the channel neither answer"));
  }
  reading.unlock_shared();
  warnings.clear();
  SharedEarLock writing(connect_sharing(server.url()), "a", options<SharedEarLock>());
  writing.acquire();
  EXPECT_TRUE(warned_of("1 subscribers of the channel neither answer"));
  EXPECT_TRUE(elsewhere.held());
  EXPECT_EQ(server.kills(), 0);
}

TEST_F(SharedEar, TwoOfOneChannelNeverShareOne) {
  const auto connection = connect_sharing(server.url());
  SharedEarLock first(connection, "a", options<SharedEarLock>());
  first.lock();
  SharedEarLock second(connection, "a", options<SharedEarLock>());
  EXPECT_FALSE(second.try_lock());
  SharedEarLock besides(connection, "b", options<SharedEarLock>());
  besides.lock();
  EXPECT_EQ(ears(), 1U);
  auto waits = options<SharedEarLock>();
  waits.timeout = 20s;
  SharedEarLock third(connection, "a", waits);
  std::thread waiter([&] { third.acquire(); });
  EXPECT_TRUE(support::eventually([&] { return ears() == 2; }));
  first.unlock();
  waiter.join();
  EXPECT_TRUE(third.held());
  EXPECT_EQ(server.subscribers("a"), 1);
}

TEST_F(SharedEar, IsOneFateForAllItsLocks) {
  const auto connection = connect_sharing(server.url());
  std::vector<std::unique_ptr<SharedEarLock>> locks;
  for (const std::string channel : {"a", "b", "c"}) {
    locks.push_back(std::make_unique<SharedEarLock>(connection, channel, options<SharedEarLock>()));
    locks.back()->acquire();
  }
  server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  for (const auto& lock : locks) EXPECT_TRUE(support::eventually([&] { return lock->lost(); }));
  locks.front()->acquire();
  EXPECT_TRUE(locks.front()->held()) << "by a new one";
}

TEST_F(SharedEar, NeedsAName) {
  server.command({"ACL", "SETUSER", "worker", "on", ">secret", "allchannels", "+@all", "-client|setname"});
  try {
    static_cast<void>(connect_sharing({.url = server.url(), .user = "worker", .password = "secret"}));
    FAIL() << "nobody could know it for what it is";
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::permission) << error.what();
    EXPECT_NE(std::string(error.what()).find("SETNAME"), std::string::npos);
  }
}

TEST_F(SharedEar, IsNotHadWhereItsMarkIsOffLimits) {
  server.command({"ACL", "SETUSER", "worker", "on", ">secret", "resetchannels", "&a", "+@all"});
  SharedEarLock lock(connect_sharing({.url = server.url(), .user = "worker", .password = "secret"}), "a",
                     options<SharedEarLock>());
  try {
    lock.acquire();
    FAIL() << "whoever is not marked is taken for a stranger";
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::permission) << error.what();
    EXPECT_NE(std::string(error.what()).find("a-*"), std::string::npos) << error.what();
  }
  EXPECT_EQ(server.subscribers("a"), 0);
}

}  // namespace
}  // namespace sublock::testing
