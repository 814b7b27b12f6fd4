// SPDX-License-Identifier: MIT

// What a lock sends, to the command, and how long it takes, to the nanosecond, when a holder is frozen,
// strangers listen or the server refuses to help.

#include <gtest/gtest.h>
#include <lock/virtual_time.hpp>
#include <sublock/reaper/never.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sublock::testing {
namespace {

TEST_F(VirtualTime, ALockThatIsMadeSendsNothing) {
  EXPECT_EQ(cost([&] {
              auto given = lock();
              Lock own(channel, options());
              EXPECT_EQ(error_of([&] { own.acquire({.timeout = -1s}); }), Errc::usage);
              EXPECT_EQ(error_of([&] { Lock("", options()); }), Errc::usage);
              EXPECT_FALSE(own.release());
              EXPECT_FALSE(own.held());
              EXPECT_FALSE(own.lost());
            }),
            in_memory::Counts{});
  EXPECT_TRUE(world.redis->connections().empty());
}

TEST_F(VirtualTime, AFreeLockIsOneRequestToTakeAndOneToGiveBack) {
  auto lock = this->lock();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(cost([&] { lock->acquire(); }), (in_memory::Counts{.requests = 1, .commands = 7}));
    EXPECT_EQ(cost([&] { lock->release(); }), (in_memory::Counts{.requests = 1, .commands = 2}));
  }
  std::vector<std::unique_ptr<Lock>> readers;
  for (int others = 0; others < 3; ++others) {
    EXPECT_EQ(cost([&] { lock->lock_shared(); }), (in_memory::Counts{.requests = 1, .commands = 7}));
    EXPECT_EQ(cost([&] { lock->unlock_shared(); }), (in_memory::Counts{.requests = 1, .commands = 2}));
    readers.push_back(this->lock());
    readers.back()->lock_shared();
  }
}

TEST_F(VirtualTime, AFreeLockIsOneRoundTripAway) {
  const auto process = world.connect();
  Lock lock(process, channel, options());
  lock.acquire();
  lock.release();
  world.redis->delay(*process, 30ms);
  EXPECT_EQ(time([&] { lock.acquire(); }), Duration(2 * 30ms));
  EXPECT_EQ(time([&] { EXPECT_TRUE(lock.release()); }), Duration(2 * 30ms));
  auto held = holder();
  EXPECT_EQ(time([&] { EXPECT_EQ(error_of([&] { lock.acquire({.fail_when_locked = true}); }), Errc::busy); }),
            Duration(3 * 2 * 30ms));  // join, ask, leave
}

TEST_F(VirtualTime, ARefusalIsAJoinAQuestionAnAnswerAndALeave) {
  auto held = holder();
  auto second = lock();
  (void)second->try_lock();
  // The question goes to two, the answer to one.
  EXPECT_EQ(cost([&] { EXPECT_FALSE(second->try_lock()); }),
            (in_memory::Counts{.requests = 4, .commands = 7 + 4 + 1 + 2, .messages = 2 + 1}));
}

TEST_F(VirtualTime, AFrozenHolderIsFollowedAfterTwoQuestions) {
  auto held = holder();
  auto waiter = lock();
  world.redis->wedge(*held.process);
  EXPECT_EQ(time([&] { waiter->acquire({.timeout = 1min}); }), Duration(2 * 1s));
  EXPECT_EQ(world.redis->counts().kills, 1u);
  EXPECT_NE(warnings.find(held.lock->holder_id()), std::string::npos) << warnings;
  EXPECT_FALSE(held.lock->lost());  // nobody can tell it yet
  world.redis->resume(*held.process);
  world.redis->pump();
  EXPECT_TRUE(held.lock->lost());
  EXPECT_FALSE(held.lock->release());
  EXPECT_TRUE(waiter->held());
  EXPECT_EQ(world.redis->subscribers(channel), 1u);
}

TEST_F(VirtualTime, AHolderThatFreezesWhileSomebodyWaitsIsFollowedWithinAnIntervalMore) {
  auto held = holder();
  auto waiter = lock();
  const auto later = world.after(10s, [&] { world.redis->wedge(*held.process); });
  const Duration took = time([&] { waiter->acquire({.timeout = 1min}); });
  EXPECT_GE(took, Duration(10s + 2 * 1s));
  EXPECT_LE(took, Duration(10s + 2 * 1s + 375ms));
}

TEST_F(VirtualTime, AReleaseIsPatientAsLongAsAnythingIsHeard) {
  auto held = holder();
  world.redis->delay(*held.process, 700ms);  // its confirmation takes 1.4 s
  EXPECT_EQ(time([&] { EXPECT_FALSE(held.lock->release()); }), Duration(1s))
      << "a second of silence is enough";
  world.redis->heal(*held.process);
  held.lock->acquire();
  world.redis->delay(*held.process, 700ms);
  // Whatever arrives shows that the server is only slow.
  const auto word = world.after(1ms, [&] { world.redis->publish(channel, "a word"); });
  EXPECT_EQ(time([&] { EXPECT_TRUE(held.lock->release()); }), Duration(2 * 700ms));
}

TEST_F(VirtualTime, AFrozenReaderIsFollowedToo) {
  auto frozen = holder(LockMode::shared);
  auto healthy = holder(LockMode::shared);
  auto waiter = lock();
  world.redis->wedge(*frozen.process);
  const auto later = world.after(10s, [&] { healthy.lock->release(); });
  const Duration took = time([&] { waiter->acquire({.timeout = 1min}); });
  EXPECT_GE(took, Duration(10s));
  EXPECT_LE(took, Duration(10s + 375ms));
  EXPECT_FALSE(healthy.lock->lost());
  EXPECT_EQ(world.redis->counts().kills, 1u);
}

TEST_F(VirtualTime, OfTwoFrozenReadersOnlyTheOneThatStaysSilentIsKilled) {
  auto frozen = holder(LockMode::shared);
  auto thawing = holder(LockMode::shared);
  world.redis->wedge(*frozen.process);
  world.redis->wedge(*thawing.process);
  const auto later = world.after(1500ms, [&] { world.redis->resume(*thawing.process); });
  EXPECT_NE(refusal(*lock(), {.timeout = 10s}), "");
  EXPECT_EQ(world.redis->counts().kills, 1u);
  EXPECT_TRUE(thawing.lock->held());
}

TEST_F(VirtualTime, WhoeverHasNoTimeToWaitForAnAnswerIsToldThatOneIsMissing) {
  auto held = holder();
  auto waiter = lock();
  world.redis->wedge(*held.process);
  const std::string text = refusal(*waiter, {.timeout = 100ms});
  EXPECT_NE(text.find("1 of 2 subscribers did not answer"), std::string::npos) << text;
}

TEST_F(VirtualTime, AHolderThatThawsInTimeKeepsIt) {
  auto held = holder();
  auto waiter = lock();
  world.redis->wedge(*held.process);
  const auto later = world.after(1900ms, [&] { world.redis->resume(*held.process); });
  EXPECT_NE(refusal(*waiter, {.timeout = 10s}).find(held.lock->holder_id()), std::string::npos);
  EXPECT_TRUE(held.lock->held());
  EXPECT_EQ(world.redis->counts().kills, 0u);
}

TEST_F(VirtualTime, WithNeverReapAFrozenHolderKeepsIt) {
  auto held = holder();
  using PatientLock = BasicRedisLock<InMemoryTransport, LowestIdElection, NeverReap, ManualClock>;
  PatientLock waiter(world.connect(), channel, {.connection = world.reach(), .clock = world.clock()});
  world.redis->wedge(*held.process);
  std::string text;
  EXPECT_EQ(time([&] { text = refusal(waiter, {.timeout = 30s}); }), Duration(30s));
  EXPECT_NE(text.find("1 of 2 subscribers did not answer"), std::string::npos) << text;
  EXPECT_EQ(world.redis->counts().kills, 0u);
  const auto later = world.after(10s, [&] { world.redis->crash(*held.process); });
  const Duration took = time([&] { waiter.acquire({.timeout = infinite}); });
  EXPECT_GE(took, Duration(10s));
  EXPECT_LE(took, Duration(10s + 375ms));
}

TEST_F(VirtualTime, WhereAKillIsRefusedTheErrorSaysSo) {
  auto held = holder();
  auto waiter = lock();
  world.redis->wedge(*held.process);
  for (const std::string command : {"CLIENT KILL", "CLIENT LIST"}) {
    world.redis->refuse(command, "NOPERM no permission to run " + command);
    // Wherever in its search the deadline meets it.
    for (Duration timeout = 4s; timeout < 8s; timeout += 100ms) {
      const std::string text = refusal(*waiter, {.timeout = timeout}, Errc::permission);
      EXPECT_NE(text.find("permission to run " + command), std::string::npos) << text;
      EXPECT_NE(text.find("1 of 2 subscribers did not answer"), std::string::npos) << text;
    }
    world.redis->allow(command);
  }
  EXPECT_EQ(warnings.find("killed"), std::string::npos) << warnings;
  EXPECT_EQ(world.redis->subscribers(channel), 1u);
  EXPECT_EQ(time([&] { waiter->acquire({.timeout = 1min}); }), Duration(2 * 1s));
}

TEST_F(VirtualTime, AHolderIsNotKilledForTheSilenceOfTheServer) {
  auto held = holder();
  const auto process = world.connect();
  Lock waiter(process, channel, options());
  (void)waiter.try_lock();
  // The waiter hears nothing, itself included.
  const auto deaf = world.after(100ms, [&] { world.redis->hold(*process); });
  const Duration took = time([&] { EXPECT_NE(refusal(waiter, {.timeout = 10s}), ""); });
  EXPECT_LE(took, Duration(10s + 105ms));
  world.redis->heal(*process);
  world.redis->pump();
  EXPECT_EQ(world.redis->counts().kills, 0u);
  EXPECT_TRUE(held.lock->held());
}

TEST_F(VirtualTime, StrangersCostOneTimeoutAndAWarning) {
  world.stranger(channel);
  auto lock = this->lock();
  EXPECT_EQ(time([&] { lock->acquire({.timeout = 1min}); }), Duration(1s));
  EXPECT_NE(warnings.find("1 subscribers"), std::string::npos) << warnings;
  lock->release();
  EXPECT_EQ(time([&] { EXPECT_TRUE(lock->try_lock()); }), Duration(1s));
  lock->release();
  EXPECT_EQ(time([&] { EXPECT_TRUE(lock->try_lock_shared()); }), Duration(1s));
  EXPECT_EQ(time([&] { EXPECT_TRUE(this->lock()->try_lock_shared()); }), Duration(1s));
  EXPECT_EQ(world.redis->counts().kills, 0u);
}

TEST_F(VirtualTime, WhoListensByPatternIsNoStranger) {
  world.redis->subscribe_to_everything();
  auto lock = this->lock();
  EXPECT_EQ(time([&] { EXPECT_TRUE(lock->try_lock()); }), Duration::zero());
  EXPECT_FALSE(this->lock()->try_lock());
  lock->release();
  EXPECT_TRUE(lock->try_lock_shared());
  // He may answer as well: whoever takes everybody's word gives him a moment to give himself away.
  world.redis->subscribe_in_multi(false);  // or a reader would not have to ask
  EXPECT_EQ(time([&] { EXPECT_TRUE(this->lock()->try_lock_shared()); }), Duration(10ms));
  EXPECT_EQ(warnings, "");
}

}  // namespace
}  // namespace sublock::testing
