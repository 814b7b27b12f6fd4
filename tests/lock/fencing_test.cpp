// SPDX-License-Identifier: MIT

// Fencing tokens: greater with each holder, drawn before the lock counts as held, and no lock without one.

#include <gtest/gtest.h>
#include <lock/in_memory_worlds.hpp>
#include <lock/lock_fixture.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace sublock::testing {
namespace {

class Fencing : public LockFixture<VirtualWorld> {
 protected:
  Options fencing_options() {
    Options options = this->options();
    options.fencing = true;
    return options;
  }

  std::unique_ptr<Lock> fencing() { return lock(fencing_options()); }

  /// Takes the lock for its token.
  static std::int64_t token_of(Lock& lock) {
    lock.acquire();
    const std::int64_t token = lock.fence_token();
    EXPECT_EQ(lock.fence_token(), token) << "one for each hold";
    EXPECT_TRUE(lock.release());
    return token;
  }

  /// What acquire says; empty where it succeeds.
  static std::string refusal(Lock& lock, Errc kind) {
    try {
      lock.acquire();
    } catch (const LockError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "";
  }
};

TEST_F(Fencing, TokensGrowOverHoldsObjectsAndProcesses) {
  auto one = fencing();
  auto other = fencing();
  std::int64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    for (Lock* lock : {one.get(), other.get()}) {
      const std::int64_t token = token_of(*lock);
      EXPECT_GT(token, last);
      last = token;
    }
    auto fresh = fencing();
    EXPECT_GT(token_of(*fresh), last);
    last = token_of(*fresh);
  }
}

TEST_F(Fencing, TokensGrowOverLossesAndRestarts) {
  auto one = fencing();
  one->acquire();
  const std::int64_t first = one->fence_token();
  ASSERT_TRUE(world.kill(one->client_name()));
  auto other = fencing();
  other->acquire();
  EXPECT_GT(other->fence_token(), first);
  EXPECT_EQ(one->fence_token(), first) << "the one who has lost it still has his, which is too small now";
  world.redis->restart();
  world.redis->pump();
  EXPECT_GT(token_of(*one), other->fence_token());
}

TEST_F(Fencing, ChannelsCountApart) {
  auto here = fencing();
  Lock there(world.connect(), channel + "-too", fencing_options());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(token_of(*here), round + 1);
    EXPECT_EQ(token_of(there), round + 1);
  }
}

TEST_F(Fencing, EveryWayToTakeItDrawsOne) {
  auto lock = fencing();
  lock->lock();
  const std::int64_t first = lock->fence_token();
  lock->unlock();
  ASSERT_TRUE(lock->try_lock());
  EXPECT_EQ(lock->fence_token(), first + 1);
  lock->unlock();
  ASSERT_TRUE(lock->try_lock_for(1s));
  EXPECT_EQ(lock->fence_token(), first + 2);
  lock->unlock();
  EXPECT_EQ(lock->with([&] { return lock->fence_token(); }), first + 3);
}

TEST_F(Fencing, OneWhoDoesNotGetItDrawsNone) {
  auto holder = fencing();
  holder->acquire();
  auto waiter = fencing();
  for (int round = 0; round < 3; ++round) EXPECT_FALSE(waiter->try_lock());
  EXPECT_FALSE(waiter->try_lock_for(1s));
  const std::int64_t before = holder->fence_token();
  holder->release();
  EXPECT_EQ(token_of(*waiter), before + 1);
}

TEST_F(Fencing, CostsTheTokenAndAProofOfOwnership) {
  auto plain = lock();
  auto fenced = fencing();
  plain->acquire();
  plain->release();
  token_of(*fenced);
  const auto cost = [&](Lock& lock) {
    const auto before = world.redis->counts().requests;
    lock.acquire();
    lock.release();
    return world.redis->counts().requests - before;
  };
  EXPECT_EQ(cost(*fenced), cost(*plain) + 2);
}

// --- not without it

TEST_F(Fencing, ItIsNotHeldBeforeTheTokenIsThere) {
  const auto process = world.connect();
  Lock lock(process, channel, fencing_options());
  token_of(lock);
  world.redis->delay(*process, 10ms);  // joined after 20 ms, the token is there after 40
  auto other = this->lock();
  bool asked = false;
  const auto meanwhile = world.after(30ms, [&] {
    asked = true;
    EXPECT_FALSE(lock.held());
    EXPECT_EQ(error_of([&] { lock.ensure_held(); }), Errc::not_held);
    EXPECT_FALSE(other->try_lock()) << "but nobody else's either";
  });
  lock.acquire();
  EXPECT_TRUE(asked);
  EXPECT_TRUE(lock.held());
  EXPECT_GT(lock.fence_token(), 1);
}

TEST_F(Fencing, AFailingIncrFailsTheAcquire) {
  const std::string words = "NOPERM this user has no permissions to run the 'incr' command";
  world.redis->refuse("INCR", words);
  auto lock = fencing();
  const std::string text = refusal(*lock, Errc::permission);
  EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(text.find("token"), std::string::npos) << text;
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(lock->lost()) << "it was never held";
  EXPECT_EQ(world.subscribers(channel), 0u) << "and leaves the channel";
  EXPECT_EQ(error_of([&] { (void)lock->try_lock(); }), Errc::permission);
  EXPECT_TRUE(this->lock()->try_lock()) << "nobody else is hindered";
  world.redis->allow("INCR");
  EXPECT_EQ(token_of(*lock), 1);
}

TEST_F(Fencing, AServerThatIsStillLoadingIsWaitedFor) {
  world.redis->refuse("INCR", "LOADING Redis is loading the dataset in memory", Errc::busy);
  const auto loaded = world.after(600ms, [&] { world.redis->allow("INCR"); });
  EXPECT_EQ(token_of(*fencing()), 1);
}

TEST_F(Fencing, AnIncrThatIsNotAnsweredFailsTheAcquire) {
  const auto process = world.connect();
  Lock lock(process, channel, fencing_options());
  token_of(lock);
  world.redis->delay(*process, 10ms);
  const auto cut = world.after(25ms, [&] { world.redis->partition(*process); });
  std::string text;
  const Duration took = time([&] { text = refusal(lock, Errc::connect); });
  EXPECT_NE(text.find("INCR"), std::string::npos) << text;
  EXPECT_GE(took, Duration(20ms + 1s));
  EXPECT_LE(took, Duration(20ms + 1s + 100ms)) << "and nobody waits long for the good-bye";
  EXPECT_FALSE(lock.held());
  world.redis->heal(*process);
  EXPECT_TRUE(world.eventually([&] { return world.subscribers(channel) == 0; }));
  EXPECT_GT(token_of(lock), 1);
}

TEST_F(Fencing, AConnectionThatEndsOnTheWayToTheTokenIsTriedAgain) {
  const auto process = world.connect();
  Lock lock(process, channel, fencing_options());
  token_of(lock);
  world.redis->delay(*process, 10ms);
  const auto cut = world.after(25ms, [&] { ASSERT_TRUE(world.kill(lock.client_name())); });
  lock.acquire();
  EXPECT_TRUE(lock.held());
  EXPECT_GT(lock.fence_token(), 2) << "what was drawn before belongs to no hold";
}

TEST_F(Fencing, ACancelledWaitForATokenLeavesNothing) {
  const auto process = world.connect();
  Lock lock(process, channel, fencing_options());
  token_of(lock);
  world.redis->delay(*process, 10ms);
  std::stop_source stop;
  const auto later = world.after(30ms, [&] { stop.request_stop(); });
  EXPECT_EQ(error_of([&] { lock.lock(stop.get_token()); }), Errc::cancelled);
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(world.subscribers(channel), 0u);
}

// --- misuse

TEST_F(Fencing, ReadersAreRefused) {
  auto lock = fencing();
  EXPECT_EQ(error_of([&] { lock->lock_shared(); }), Errc::usage);
  EXPECT_EQ(error_of([&] { (void)lock->try_lock_shared(); }), Errc::usage);
  EXPECT_EQ(error_of([&] { (void)lock->try_lock_shared_for(1s); }), Errc::usage);
  EXPECT_EQ(error_of([&] { lock->acquire({.mode = LockMode::shared}); }), Errc::usage);
  Options options = fencing_options();
  options.mode = LockMode::shared;
  auto reader = this->lock(options);
  EXPECT_EQ(error_of([&] { reader->acquire(); }), Errc::usage);
  EXPECT_EQ(world.redis->counts().requests, 0u) << "before anything is sent";
  lock->lock();
  EXPECT_GT(lock->fence_token(), 0);
}

TEST_F(Fencing, ThereIsNoTokenWithoutAHold) {
  auto lock = fencing();
  EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::not_held);
  token_of(*lock);
  EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::not_held);
  auto holder = held();
  EXPECT_FALSE(lock->try_lock());
  EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::not_held);
}

TEST_F(Fencing, ThereIsNoTokenWithoutTheOption) {
  auto lock = this->lock();
  EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::usage);
  lock->acquire();
  EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::usage);
}

TEST_F(Fencing, ThereIsNoTokenBeforeItIsThere) {
  const auto process = world.connect();
  Lock lock(process, channel, fencing_options());
  token_of(lock);
  world.redis->delay(*process, 10ms);
  std::optional<Errc> meanwhile;
  const auto later =
      world.after(30ms, [&] { meanwhile = error_of([&] { static_cast<void>(lock.fence_token()); }); });
  lock.acquire();
  EXPECT_EQ(meanwhile, Errc::not_held) << "the token of the hold before is not that of this one";
}

}  // namespace
}  // namespace sublock::testing
