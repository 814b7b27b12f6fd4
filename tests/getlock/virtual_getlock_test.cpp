// SPDX-License-Identifier: MIT

// RedisGetlock where time and faults are at the test's command: to the millisecond, and to the command.

#include <getlock/getlock_fixture.hpp>
#include <getlock/in_memory_keys.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::testing {
namespace {

class VirtualGetlock : public GetlockFixture<InMemoryKeys<VirtualWorld>> {
 protected:
  VirtualGetlock() { EXPECT_TRUE(mine.lock()); }

  /// With the defaults of the library: 2 s and 1 s.
  [[nodiscard]] Options defaults() const {
    Options options;
    options.connection = world.reach();
    options.clock = world.clock();
    return options;
  }

  in_memory::Counts cost(auto act) {
    const in_memory::Counts before = world.redis->counts();
    act();
    const in_memory::Counts after = world.redis->counts();
    return {after.requests - before.requests, after.commands - before.commands,
            after.messages - before.messages, after.kills - before.kills};
  }

  std::shared_ptr<InMemoryTransport> process = world.connect();
  Lock mine{process, key, defaults()};
};

TEST_F(VirtualGetlock, WhoIsCutOffHasLostItWhenItsLastConfirmedExpiryIsOver) {
  pass(1s);  // extended just now
  world.redis->partition(*process);
  pass(1999ms);
  EXPECT_TRUE(mine.held());
  EXPECT_FALSE(mine.lost());
  pass(1ms);
  EXPECT_FALSE(mine.held());
  EXPECT_TRUE(mine.lost());
  EXPECT_EQ(world.value(key), "") << "the server keeps it no longer than its owner believes, nor shorter";
}

TEST_F(VirtualGetlock, WhoWaitsBehindOneWhoIsCutOffHasItAtThatVeryMoment) {
  pass(1s);
  world.redis->partition(*process);
  auto other = lock(defaults());
  const Duration waited = time([&] { other->lock(); });
  EXPECT_GE(waited, 2s);
  EXPECT_LE(waited, 2s + 1ms);
  EXPECT_FALSE(mine.held());
  world.redis->heal(*process);
  pass(10s);
  EXPECT_TRUE(other->is_self_locked());
  EXPECT_FALSE(mine.unlock());
  EXPECT_TRUE(other->is_self_locked());
}

TEST_F(VirtualGetlock, AShortCutIsSurvived) {
  pass(900ms);
  world.redis->drop(*process);
  pass(10s);
  EXPECT_TRUE(mine.held());
  world.redis->partition(*process);
  pass(900ms);
  world.redis->heal(*process);
  pass(10s);
  EXPECT_TRUE(mine.held());
  EXPECT_TRUE(mine.unlock());
}

TEST_F(VirtualGetlock, AnExtensionThatIsRefusedIsTriedAgain) {
  for (const auto& [text, code] :
       {std::pair("BUSY a script runs", Errc::busy), {"OOM no memory", Errc::protocol}}) {
    world.redis->refuse("EVAL", text, code);
    pass(900ms);
    EXPECT_TRUE(mine.held()) << text;
    world.redis->allow("EVAL");
    pass(1s);
    EXPECT_TRUE(mine.held()) << text;
  }
  world.redis->refuse("EVAL", "OOM no memory", Errc::protocol);
  pass(2100ms);
  EXPECT_TRUE(mine.lost());
  try {
    mine.ensure_held();
    FAIL();
  } catch (const LockLost& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("OOM"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr(key));
  }
}

TEST_F(VirtualGetlock, AServerThatComesBackEmptyIsALoss) {
  pass(200ms);
  world.redis->stop();
  world.redis->flush_all();
  world.redis->start();
  pass(1500ms);
  EXPECT_TRUE(mine.lost());
  EXPECT_EQ(world.value(key), "") << "and the key is not made anew";
}

TEST_F(VirtualGetlock, AnAnswerThatComesTooLateIsNoLock) {
  EXPECT_TRUE(mine.unlock());
  world.redis->delay(*process, 700ms);
  auto options = defaults();
  options.expire = 1s;
  options.interval = 500ms;
  Lock slow(process, key, options);
  EXPECT_EQ(error_of([&] { (void)slow.try_lock_for(5s); }), Errc::connect);
  EXPECT_FALSE(slow.held());
  pass(3s);
  EXPECT_EQ(world.value(key), "") << "nor is a key left behind";
}

TEST_F(VirtualGetlock, ADelayedUnlockLeavesTheNextOwnerAlone) {
  world.redis->hold(*process);
  world.redis->delay(*process, 2600ms);
  EXPECT_FALSE(mine.unlock()) << "nobody confirmed";
  auto other = lock(defaults());
  other->lock();
  pass(5s);
  EXPECT_TRUE(other->is_self_locked());
}

TEST_F(VirtualGetlock, WhoWasFrozenIsNotToldThatItHoldsIt) {
  pass(100ms);
  world.redis->wedge(*process);
  auto other = lock(defaults());
  other->lock();
  EXPECT_FALSE(mine.held());
  world.redis->resume(*process);
  pass(10ms);
  EXPECT_TRUE(mine.lost());
  EXPECT_FALSE(mine.unlock());
  EXPECT_TRUE(other->is_self_locked());
}

TEST_F(VirtualGetlock, ManyOfOneProcessAreExtendedOverOneConnection) {
  constexpr std::size_t many = 100;
  std::vector<std::unique_ptr<Lock>> locks;
  for (std::size_t at = 0; at < many; ++at) {
    locks.push_back(std::make_unique<Lock>(process, key + std::to_string(at), defaults()));
    locks.back()->lock();
  }
  EXPECT_EQ(world.redis->connections().size(), 1U) << "a mouth, and not one ear";
  const auto spent = cost([&] { pass(10s); });
  EXPECT_GE(spent.requests, 10 * (many + 1));
  EXPECT_LE(spent.requests, 10 * (many + 1) + 100) << "one a second for each, and the looks of one who waits";
  for (const auto& lock : locks) EXPECT_TRUE(lock->unlock());
}

/// A hundredth slower than the world.
struct SlowClock {
  [[nodiscard]] Instant now() const noexcept {
    const Duration since = inner.now().time_since_epoch();
    return Instant(since - since / 100);
  }
  [[nodiscard]] WallTime wall() const noexcept { return inner.wall(); }

  ManualClock inner;
};

TEST_F(VirtualGetlock, WhoseClockIsSlowIsRemindedAllTheSame) {
  const auto slow_process = world.connect();
  BasicRedisGetlock<InMemoryTransport, SlowClock> slow(slow_process, key + "-slow",
                                                       {.clock = {world.clock()}});
  slow.lock();
  pass(10s);
  EXPECT_TRUE(slow.held());
  world.redis->partition(*slow_process);
  pass(3s);
  EXPECT_TRUE(slow.lost());
}

TEST_F(VirtualGetlock, WhatItCosts) {
  EXPECT_EQ(cost([&] { mine.unlock(); }), (in_memory::Counts{2, 2, 0, 0})) << "EVAL, and a word to who waits";
  EXPECT_EQ(cost([&] { mine.lock(); }), (in_memory::Counts{1, 1, 0, 0})) << "SET";
  Lock other(process, key, defaults());
  EXPECT_EQ(cost([&] { EXPECT_FALSE(other.try_lock()); }), (in_memory::Counts{2, 4, 0, 0}))
      << "SET, and a look";
  EXPECT_EQ(cost([&] { EXPECT_TRUE(other.is_locked()); }), (in_memory::Counts{1, 3, 0, 0})) << "a look";
}

TEST_F(VirtualGetlock, WhoMayNotListenLooksInstead) {
  world.redis->refuse("SUBSCRIBE", "NOPERM no channel");
  std::string log;
  auto options = defaults();
  options.logger = [&](std::string_view text) { log += std::string(text) + '\n'; };
  auto other = lock(options);
  const auto unlock = world.after(100ms, [&] { mine.unlock(); });
  const Duration waited = time([&] { other->lock(); });
  EXPECT_GE(waited, 100ms);
  EXPECT_LE(waited, 850ms);
  EXPECT_THAT(log, ::testing::HasSubstr("NOPERM no channel"));
  EXPECT_THAT(log, ::testing::HasSubstr(key));
}

TEST_F(VirtualGetlock, ErrorsOfTheServerEndAnAttemptAndLeaveNothing) {
  EXPECT_TRUE(mine.unlock());
  world.redis->refuse("SET", "NOPERM this user has no permissions to run the 'set' command");
  EXPECT_EQ(error_of([&] { mine.lock(); }), Errc::permission);
  world.redis->allow("SET");
  world.redis->refuse("INCR", "NOPERM this user has no permissions to run the 'incr' command");
  auto options = defaults();
  options.fencing = true;
  EXPECT_EQ(error_of([&] { lock(options)->lock(); }), Errc::permission);
  EXPECT_EQ(world.value(key), "");
  world.redis->stop();
  EXPECT_EQ(error_of([&] { (void)mine.try_lock_for(1s); }), Errc::connect);
  EXPECT_EQ(error_of([&] { (void)mine.is_locked(); }), Errc::connect);
}

}  // namespace
}  // namespace sublock::testing
