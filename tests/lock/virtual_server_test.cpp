// SPDX-License-Identifier: MIT

// How long a lock takes, to the nanosecond, when the server falls silent, stops, restarts, refuses or can't
// count; and how the tries of one who waits are spread.

#include <gtest/gtest.h>
#include <lock/virtual_time.hpp>

#include <chrono>
#include <cstddef>
#include <set>
#include <stop_token>
#include <string>

namespace sublock::testing {
namespace {

TEST_F(VirtualTime, AReleaseWaitsForItsConfirmationButNotForEver) {
  auto held = holder();
  world.redis->partition(*held.process);
  EXPECT_EQ(time([&] { EXPECT_FALSE(held.lock->release()); }), Duration(1s));
  EXPECT_TRUE(held.lock->lost());
  EXPECT_FALSE(held.lock->held());
  world.redis->heal(*held.process);
  world.redis->pump();
  EXPECT_EQ(world.redis->subscribers(channel), 0u);
  EXPECT_NO_THROW(held.lock->acquire());
  EXPECT_FALSE(held.lock->lost());
}

TEST_F(VirtualTime, AReleaseThatMeetsARestartIsALoss) {
  auto held = holder();
  world.redis->partition(*held.process);
  const auto later = world.after(100ms, [&] {
    world.redis->restart();
    world.redis->heal(*held.process);
  });
  EXPECT_EQ(time([&] { EXPECT_FALSE(held.lock->release()); }), Duration(100ms));
  EXPECT_TRUE(held.lock->lost());
}

TEST_F(VirtualTime, AStopIsHeardWhateverTheServerDoes) {
  const auto process = world.connect();
  Lock lock(process, channel, options());
  lock.acquire();
  lock.release();
  std::stop_source stop;
  world.redis->partition(*process);
  const auto later = world.after(50ms, [&] { stop.request_stop(); });
  const Duration took =
      time([&] { EXPECT_EQ(error_of([&] { lock.lock(stop.get_token()); }), Errc::cancelled); });
  EXPECT_GE(took, Duration(50ms));
  EXPECT_LE(took, Duration(50ms + 100ms));
  world.redis->heal(*process);
  world.redis->pump();
  EXPECT_EQ(world.redis->subscribers(channel), 0u);
  EXPECT_TRUE(lock.try_lock());
}

TEST_F(VirtualTime, WhoIsStoppedOnHisWayIntoTheChannelWaitsAMomentForHisGoodbye) {
  const auto process = world.connect();
  Lock lock(process, channel, options());
  lock.acquire();
  lock.release();
  std::stop_source stop;
  world.redis->delay(*process, 10ms);
  const auto silence = world.after(5ms, [&] { world.redis->partition(*process); });  // the join is on its way
  const auto later = world.after(50ms, [&] { stop.request_stop(); });
  EXPECT_EQ(time([&] { EXPECT_EQ(error_of([&] { lock.lock(stop.get_token()); }), Errc::cancelled); }),
            Duration(50ms + 100ms));
  world.redis->heal(*process);
  world.redis->pump();
  EXPECT_EQ(world.redis->subscribers(channel), 0u);
}

TEST_F(VirtualTime, AtTheDeadlineTheGoodbyeIsWaitedForShortly) {
  const auto process = world.connect();
  Lock lock(process, channel, options());
  lock.acquire();
  lock.release();
  world.redis->delay(*process, 10ms);
  const auto silence = world.after(5ms, [&] { world.redis->partition(*process); });
  EXPECT_EQ(time([&] { EXPECT_EQ(error_of([&] { lock.acquire({.timeout = 300ms}); }), Errc::connect); }),
            Duration(300ms + 5ms));
}

TEST_F(VirtualTime, ADeadlineHoldsWhateverTheServerDoes) {
  const auto process = world.connect();
  Lock lock(process, channel, options());
  lock.acquire();
  lock.release();
  world.redis->partition(*process);
  const Duration took =
      time([&] { EXPECT_EQ(error_of([&] { lock.acquire({.timeout = 300ms}); }), Errc::connect); });
  EXPECT_GE(took, Duration(300ms));
  EXPECT_LE(took, Duration(305ms));
  EXPECT_LE(time([&] { EXPECT_EQ(error_of([&] { (void)lock.try_lock(); }), Errc::connect); }),
            Duration(1255ms));
}

TEST_F(VirtualTime, AServerThatStopsIsWaitedForUntilTheDeadline) {
  auto held = holder();
  auto waiter = lock();
  const auto stop = world.after(1s, [&] { world.redis->stop(); });
  EXPECT_EQ(time([&] { EXPECT_EQ(error_of([&] { waiter->acquire({.timeout = 60s}); }), Errc::connect); }),
            Duration(60s));
  EXPECT_TRUE(held.lock->lost());
  world.redis->start();
  held.lock->acquire();
  const auto stop_again = world.after(1s, [&] { world.redis->stop(); });
  const auto start = world.after(60s, [&] { world.redis->start(); });
  const Duration took = time([&] { waiter->lock(); });
  EXPECT_GE(took, Duration(60s));
  EXPECT_LE(took, Duration(60s + 375ms));
}

TEST_F(VirtualTime, AServerThatWasNeverThereIsGivenUp) {
  world.redis->stop();
  auto lock = this->lock();
  EXPECT_EQ(time([&] { EXPECT_EQ(error_of([&] { lock->acquire({.timeout = 3s}); }), Errc::connect); }),
            Duration(3s));
  EXPECT_LE(time([&] { EXPECT_EQ(error_of([&] { lock->lock(); }), Errc::connect); }), Duration(5s + 375ms));
  world.redis->start();
  EXPECT_TRUE(lock->try_lock());
}

TEST_F(VirtualTime, APermissionThatIsMissingIsToldAtOnce) {
  auto lock = this->lock();
  for (const std::string command : {"CLIENT SETNAME", "SUBSCRIBE", "PUBSUB NUMSUB"}) {
    world.redis->refuse(command, "NOPERM no permission to run " + command);
    try {
      lock->acquire({.timeout = infinite});
      ADD_FAILURE() << "held without " << command;
    } catch (const LockError& error) {
      EXPECT_EQ(error.kind(), Errc::permission);
      EXPECT_NE(std::string(error.what()).find(command), std::string::npos) << error.what();
    }
    world.redis->allow(command);
    EXPECT_EQ(world.redis->subscribers(channel), 0u);
  }
  EXPECT_TRUE(lock->try_lock());
}

TEST_F(VirtualTime, AServerThatCantCountInAJoinIsProbed) {
  world.redis->subscribe_in_multi(false);
  auto first = lock();
  EXPECT_EQ(time([&] { EXPECT_TRUE(first->try_lock()); }), Duration::zero());
  EXPECT_FALSE(lock()->try_lock());
  EXPECT_FALSE(lock()->try_lock_shared());
  EXPECT_EQ(lock()->probe().size(), 1U);
  first->release();
  EXPECT_TRUE(first->try_lock_shared());
  EXPECT_TRUE(lock()->try_lock_shared());
}

TEST_F(VirtualTime, ATwinIsNoReasonToKill) {
  auto options = this->options();
  options.holder_id = "0123456789abcdef0123456789abcdef";
  world.stranger(channel, channel + "-lock-" + options.holder_id);
  auto lock = LockFixture::lock(options);
  const std::string text = refusal(*lock, {.timeout = 5s});
  EXPECT_NE(text.find("another connection uses the holder id"), std::string::npos) << text;
  EXPECT_EQ(world.redis->counts().kills, 0u);
}

/// A writer would stand ready on the channel, and look when the holder may have gone; a reader waits outside.
TEST_F(VirtualTime, TheQuestionsOfAWaiterAreSpreadOverTheInterval) {
  auto held = holder();
  auto waiter = lock();
  // A question and the holder's answer.
  const auto questions = [&](Duration span) {
    return cost([&] { (void)waiter->try_lock_shared_for(span); }).requests / 2;
  };
  const auto asked = questions(100s);
  EXPECT_GE(asked, 300u);  // 400, give or take
  EXPECT_LE(asked, 500u);
  // A fixed interval would fit as often into any ten seconds.
  std::set<std::size_t> in_ten_seconds;
  for (int i = 0; i < 40; ++i) in_ten_seconds.insert(questions(10s));
  EXPECT_GE(*in_ten_seconds.rbegin() - *in_ten_seconds.begin(), 3u);
}

}  // namespace
}  // namespace sublock::testing
