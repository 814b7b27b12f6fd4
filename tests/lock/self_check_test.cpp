// SPDX-License-Identifier: MIT

// `self_check_interval`: a holder asks its own channel whether it still hears, and a subscription that is
// gone without a word is found out in time, to the nanosecond.

#include <gtest/gtest.h>
#include <lock/in_memory_worlds.hpp>
#include <lock/lock_fixture.hpp>
#include <support/recorder.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

namespace sublock::testing {
namespace {

class SelfCheck : public LockFixture<VirtualWorld> {
 protected:
  Options checking(Duration interval, Duration patience = 1s) {
    Options options = this->options();
    options.self_check_interval = interval;
    options.unavailable_timeout = patience;
    return options;
  }

  /// A held lock, and the process it is in.
  std::unique_ptr<Lock> hold(const Options& options) {
    auto lock = std::make_unique<Lock>(process, channel, options);
    lock->acquire();
    return lock;
  }

  void pass(Duration span) { bystander.wait(span); }

  /// How long until the lock knows of its loss; at most `limit`.
  Duration time_to_loss(const Lock& lock, Duration limit) {
    const Instant end = world.clock().now() + limit;
    return time([&] {
      while (!lock.lost() && world.clock().now() < end) pass(1ms);
    });
  }

  /// The server forgets the subscription, and says nothing.
  void forget(const Lock& lock) {
    const std::size_t before = world.subscribers(channel);
    for (const auto& client : world.redis->connections()) {
      if (client.name == lock.client_name()) world.redis->forget(client.id);
    }
    ASSERT_EQ(world.subscribers(channel), before - 1);
  }

  std::shared_ptr<InMemoryTransport> process = world.connect();
  Caller<InMemoryTransport> bystander{world.connect()};  // time passes while it waits
};

TEST_F(SelfCheck, ASubscriptionThatVanishedIsFoundOutAtTheNextCheck) {
  auto lock = hold(checking(3s));
  pass(2s);
  forget(*lock);
  // The check is due a second later, and has a second to come back.
  EXPECT_EQ(time_to_loss(*lock, 1min), Duration(1s + 1s));
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::lost);
  EXPECT_FALSE(lock->release());
}

using Spans = std::tuple<Duration, Duration>;
class SelfCheckBound : public SelfCheck, public ::testing::WithParamInterface<Spans> {};

INSTANTIATE_TEST_SUITE_P(IntervalAndPatience, SelfCheckBound,
                         ::testing::Values(Spans(3s, 1s), Spans(1s, 1s), Spans(200ms, 1s), Spans(10ms, 5s),
                                           Spans(5s, 100ms)));

TEST_P(SelfCheckBound, IsAnIntervalAndTheSmallerOfItAndThePatience) {
  const auto [interval, patience] = GetParam();
  const Duration bound = interval + std::min(interval, patience);
  for (const int percent : {0, 10, 50, 90}) {
    auto lock = hold(checking(interval, patience));
    pass(interval * 3 + interval * percent / 100);
    ASSERT_TRUE(lock->held());
    forget(*lock);
    const Duration took = time_to_loss(*lock, 10 * bound);
    EXPECT_EQ(took, bound - interval * percent / 100);
  }
}

TEST_F(SelfCheck, OnesThatPassKeepIt) {
  auto lock = hold(checking(1s));
  const auto before = world.redis->counts();
  pass(20s);
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(world.redis->counts().commands - before.commands, 20u) << "one command for each";
  EXPECT_EQ(world.redis->counts().messages - before.messages, 20u) << "which comes back";
  EXPECT_TRUE(lock->release());
  const auto after = world.redis->counts();
  pass(1min);
  EXPECT_EQ(world.redis->counts(), after) << "none after the release";
}

TEST_F(SelfCheck, WithoutAnIntervalThereAreNone) {
  auto lock = hold(options());
  const auto before = world.redis->counts();
  pass(20s);
  EXPECT_EQ(world.redis->counts(), before);
}

TEST_F(SelfCheck, ALateAnswerInTimeIsAnAnswer) {
  auto lock = hold(checking(3s));
  world.redis->delay(*process, 499ms);
  pass(1min);
  EXPECT_TRUE(lock->held());
  world.redis->delay(*process, 501ms);
  EXPECT_LE(time_to_loss(*lock, 1min), Duration(3s + 1s));
  EXPECT_TRUE(lock->lost());
}

TEST_F(SelfCheck, OtherHoldersDoNotHeedIt) {
  Options options = checking(1s);
  options.mode = LockMode::shared;
  auto one = hold(options);
  Lock other(world.connect(), channel, options);
  other.acquire();
  pass(10s);
  EXPECT_TRUE(one->held());
  EXPECT_TRUE(other.held());
}

TEST_F(SelfCheck, AnotherHoldersChecksAreNoProofOfOnesOwn) {
  Options options = checking(1s);
  options.mode = LockMode::shared;
  auto one = hold(options);
  Lock other(world.connect(), channel, options);
  other.acquire();
  forget(*one);
  EXPECT_LE(time_to_loss(*one, 1min), Duration(1s + 1s));
  EXPECT_TRUE(other.held());
}

TEST_F(SelfCheck, OneThatCannotBeSentIsALoss) {
  auto lock = hold(checking(3s));
  world.redis->refuse("PUBLISH", "NOPERM this user has no permissions to run the 'publish' command");
  EXPECT_EQ(time_to_loss(*lock, 1min), Duration(3s + 1s));
}

TEST_F(SelfCheck, ABrokenMouthIsReplacedInTime) {
  auto lock = hold(checking(3s));
  for (const auto& client : world.redis->connections()) {
    if (client.channels.empty()) world.redis->kill(client.id);
  }
  pass(1min);
  EXPECT_TRUE(lock->held());
}

TEST_F(SelfCheck, BeginAnewWithEachHold) {
  auto lock = hold(checking(3s));
  pass(2s);
  ASSERT_TRUE(lock->release());
  lock->acquire();
  forget(*lock);
  EXPECT_EQ(time_to_loss(*lock, 1min), Duration(3s + 1s));
  lock->acquire();
  pass(1min);
  EXPECT_TRUE(lock->held());
}

TEST_F(SelfCheck, AProcessThatStoodStillChecksWhenItGoesOn) {
  auto lock = hold(checking(3s));
  world.redis->wedge(*process);
  pass(1min);
  EXPECT_FALSE(lock->lost()) << "nobody can tell it";
  world.redis->resume(*process);
  pass(2s);
  EXPECT_TRUE(lock->held()) << "nobody has taken it meanwhile";
  world.redis->wedge(*process);
  forget(*lock);
  pass(1min);
  world.redis->resume(*process);
  EXPECT_EQ(time_to_loss(*lock, 1min), Duration(1s));
}

TEST_F(SelfCheck, AnIntervalBelowZeroIsRefused) {
  EXPECT_EQ(error_of([&] { Lock(process, channel, checking(-1ns)); }), Errc::usage);
}

}  // namespace
}  // namespace sublock::testing
