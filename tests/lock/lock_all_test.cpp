// SPDX-License-Identifier: MIT

// Several locks at once: all or none, in one order, within one deadline, and given back together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lock/virtual_time.hpp>
#include <sublock/lock_all.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace sublock::testing {
namespace {

class LockAll : public VirtualTime {
 protected:
  using Held = std::unique_ptr<HeldLocks<Lock>>;

  Held all(const std::vector<std::string>& channels, Options options, std::stop_token stop = {}) {
    return lock_all<Lock>(process, channels, std::move(options), std::move(stop));
  }
  Held all(const std::vector<std::string>& channels) { return all(channels, options()); }

  std::unique_ptr<Lock> held_on(const std::string& on) {
    auto lock = std::make_unique<Lock>(world.connect(), on, options());
    lock->acquire();
    return lock;
  }
  std::size_t subscribers() {
    return world.subscribers("alice") + world.subscribers("bob") + world.subscribers("carol");
  }

  std::shared_ptr<InMemoryTransport> process = world.connect();
};

TEST_F(LockAll, TakesAllInTheOrderOfTheirNames) {
  const Held held = all({"carol", "alice", "bob"});
  EXPECT_TRUE(held->held());
  EXPECT_NO_THROW(held->ensure_held());
  std::vector<std::string> order;
  for (const auto& lock : held->locks()) order.push_back(lock->channel());
  EXPECT_THAT(order, ::testing::ElementsAre("alice", "bob", "carol"));
  EXPECT_EQ(subscribers(), 3u);
  EXPECT_TRUE(held->release());
  EXPECT_FALSE(held->held());
  EXPECT_FALSE(held->lost());
  EXPECT_EQ(subscribers(), 0u);
}

TEST_F(LockAll, EndsWithItsObject) {
  (void)all({"alice", "bob"});
  EXPECT_EQ(subscribers(), 0u);
}

TEST_F(LockAll, TakesNoneWhereOneIsBusyAndSaysWhich) {
  const auto busy = held_on("bob");
  EXPECT_EQ(time([&] {
              try {
                (void)all({"alice", "bob", "carol"});
                FAIL();
              } catch (const AlreadyLocked& error) {
                EXPECT_NE(std::string(error.what()).find("bob"), std::string::npos) << error.what();
              }
            }),
            Duration(5s));
  EXPECT_EQ(subscribers(), 1u);
}

TEST_F(LockAll, HasOneDeadlineForAllOfThem) {
  const auto first = held_on("alice");
  const auto second = held_on("bob");
  const auto later = world.after(3s, [&] { first->release(); });
  EXPECT_EQ(time([&] {
              EXPECT_EQ(error_of([&] { (void)all({"alice", "bob"}); }), Errc::busy);
            }),
            Duration(5s));
}

TEST_F(LockAll, WaitsForEachInTurn) {
  auto first = held_on("alice");
  auto second = held_on("bob");
  const auto later = world.after(1s, [&] { first->release(); });
  const auto latest = world.after(2s, [&] { second->release(); });
  EXPECT_EQ(time([&] { EXPECT_TRUE(all({"bob", "alice"})->held()); }), Duration(2s));
}

TEST_F(LockAll, GivesTheOthersBackWhenOneIsLost) {
  std::atomic<int> told = 0;
  std::atomic<std::size_t> then = 0;
  Options options = this->options();
  options.on_lost = [&](const LockLost&) {
    ++told;
    then = subscribers();
  };
  const Held held = all({"alice", "bob", "carol"}, options);
  world.kill(held->locks()[1]->client_name());
  EXPECT_TRUE(world.eventually([&] { return subscribers() == 0; }));
  EXPECT_TRUE(held->lost());
  EXPECT_FALSE(held->held());
  EXPECT_TRUE(held->stop_token().stop_requested());
  EXPECT_EQ(error_of([&] { held->ensure_held(); }), Errc::lost);
  EXPECT_FALSE(held->release());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(then, 2u) << "told before the others are given back";
}

TEST_F(LockAll, GivesTheOthersBackWhateverIsThrownByWhoIsTold) {
  Options options = this->options();
  options.on_lost = [](const LockLost&) { throw std::runtime_error("nobody catches this"); };
  const Held held = all({"alice", "bob"}, options);
  world.kill(held->locks()[0]->client_name());
  EXPECT_TRUE(world.eventually([&] { return subscribers() == 0; }));
}

TEST_F(LockAll, WhoLosesOneDoesNotWaitForAnother) {
  const auto busy = held_on("bob");
  std::atomic<bool> told = false;
  Options options = this->options();
  options.timeout = 1min;
  options.on_lost = [&](const LockLost&) { told = true; };
  const auto later = world.after(1s, [&] {
    for (const auto& client : world.redis->connections())
      if (client.name.starts_with("alice")) world.redis->kill(client.id);
  });
  // It is a thread that tells, and virtual time would not wait for it.
  const auto latest = world.after(2s, [&] { EXPECT_TRUE(support::eventually([&] { return told.load(); })); });
  EXPECT_LE(time([&] {
              EXPECT_EQ(error_of([&] { (void)all({"alice", "bob"}, options); }), Errc::lost);
            }),
            3s);
  EXPECT_EQ(subscribers(), 1u);
}

TEST_F(LockAll, CanBeStopped) {
  const auto busy = held_on("bob");
  std::stop_source stop;
  const auto later = world.after(1s, [&] { stop.request_stop(); });
  EXPECT_EQ(error_of([&] { (void)all({"alice", "bob"}, options(), stop.get_token()); }), Errc::cancelled);
  EXPECT_EQ(subscribers(), 1u);
}

TEST_F(LockAll, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of([&] { (void)all({}); }), Errc::usage);
  EXPECT_EQ(error_of([&] { (void)all({"alice", "bob", "alice"}); }), Errc::usage);
  EXPECT_EQ(error_of([&] { (void)all({"alice", ""}); }), Errc::usage);
  EXPECT_EQ(subscribers(), 0u);
}

}  // namespace
}  // namespace sublock::testing
