// SPDX-License-Identifier: MIT

// The lock on most of three servers, in memory: what it survives and what it doesn't, and that contenders never have
// it together, whichever servers fail.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lock/in_memory_worlds.hpp>
#include <lock/lock_fixture.hpp>
#include <sublock/basic_majority_lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

class Majority : public ::testing::Test {
 protected:
  using Lock = BasicMajorityLock<InMemoryTransport>;
  using Process = std::vector<std::shared_ptr<InMemoryTransport>>;

  Process process() {
    Process connections;
    for (InMemoryRedis& server : servers) connections.push_back(server.connect());
    return connections;
  }

  static Lock::Options options() {
    Lock::Options options;
    options.check_interval = 10ms;
    options.unavailable_timeout = 100ms;
    options.timeout = 10s;
    return options;
  }

  std::unique_ptr<Lock> lock() { return std::make_unique<Lock>(process(), "ledger", options()); }

  std::size_t subscribers() {
    std::size_t all = 0;
    for (InMemoryRedis& server : servers) all += server.subscribers("ledger");
    return all;
  }

  /// What has been sent is delivered meanwhile.
  template <class Condition>
  bool eventually(Condition condition) {
    return support::eventually([&] {
      for (InMemoryRedis& server : servers) server.pump();
      return condition();
    });
  }

  std::array<InMemoryRedis, 3> servers;
};

TEST_F(Majority, IsHeldOnAllServersThereAre) {
  const auto lock = this->lock();
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::not_held);
  lock->acquire();
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(lock->seats(), 3u);
  EXPECT_EQ(error_of([&] { lock->acquire(); }), Errc::already_held);
  EXPECT_FALSE(this->lock()->try_lock());
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->release());
  EXPECT_EQ(subscribers(), 0u);
}

TEST_F(Majority, SurvivesOneServerAndNotTwo) {
  std::atomic<int> told = 0;
  Lock::Options options = this->options();
  options.on_lost = [&](const LockLost&) { ++told; };
  Lock lock(process(), "ledger", options);
  lock.acquire();
  servers[0].stop();
  EXPECT_TRUE(eventually([&] { return lock.seats() == 2; }));
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_FALSE(lock.stop_token().stop_requested());
  servers[2].stop();
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_TRUE(lock.lost());
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(lock.stop_token().stop_requested());
  EXPECT_EQ(error_of([&] { lock.ensure_held(); }), Errc::lost);
  EXPECT_TRUE(eventually([&] { return subscribers() == 0; })) << "what is left is given back";
  EXPECT_FALSE(lock.release());
  servers[0].start();
  lock.acquire();
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(lock.lost());
}

TEST_F(Majority, IsTakenWithoutTheServerThatIsDown) {
  servers[0].stop();
  const auto lock = this->lock();
  lock->acquire();
  EXPECT_EQ(lock->seats(), 2u);
  EXPECT_FALSE(this->lock()->try_lock());
}

TEST_F(Majority, IsNotTakenFromAMinority) {
  servers[0].stop();
  servers[1].stop();
  const auto lock = this->lock();
  EXPECT_EQ(error_of([&] { lock->acquire({.timeout = 300ms}); }), Errc::connect);
  EXPECT_EQ(error_of([&] { (void)lock->try_lock(); }), Errc::connect);
  EXPECT_EQ(subscribers(), 0u);
}

TEST_F(Majority, IsHandedToWhoWaits) {
  const auto first = lock();
  first->acquire();
  const auto second = lock();
  std::jthread waiter([&] { second->acquire(); });
  EXPECT_TRUE(eventually([&] { return servers[0].subscribers("ledger") >= 1; }));
  EXPECT_TRUE(first->release());
  waiter.join();
  EXPECT_TRUE(second->held());
  EXPECT_EQ(second->seats(), 3u);
}

TEST_F(Majority, WhoGivesUpSaysWhoHasIt) {
  Lock::Options named = options();
  named.label = "importer";
  Lock first(process(), "ledger", named);
  first.acquire();
  try {
    lock()->acquire({.timeout = 50ms});
    FAIL();
  } catch (const AlreadyLocked& busy) {
    EXPECT_NE(std::string(busy.what()).find("importer"), std::string::npos) << busy.what();
  }
  EXPECT_EQ(subscribers(), 3u);
}

TEST_F(Majority, IsAnyMutex) {
  auto first = lock();
  auto second = lock();
  {
    const std::shared_lock reading(*first);
    const std::shared_lock too(*second);
    EXPECT_TRUE(first->held() && second->held());
  }
  const std::scoped_lock writing(*first);
  EXPECT_FALSE(second->try_lock_shared());
  EXPECT_FALSE(second->try_lock_for(20ms));
}

TEST_F(Majority, RefusesWhatMakesNoSense) {
  auto connections = process();
  connections[1] = connections[0];
  EXPECT_EQ(error_of([&] { Lock(connections, "ledger"); }), Errc::usage);
  EXPECT_EQ(error_of([&] { Lock({}, "ledger"); }), Errc::usage);
  EXPECT_EQ(error_of([&] { Lock({nullptr}, "ledger"); }), Errc::usage);
  EXPECT_EQ(error_of([&] { Lock(process(), ""); }), Errc::usage);
  EXPECT_EQ(error_of([&] { Lock(process(), "ledger", {.fencing = true}); }), Errc::usage);
}

/// The two of three that failed first are back, and taken again, before whoever is told of the loss has done with it.
TEST_F(Majority, WhatIsTakenAgainIsNotGivenBackForTheLossBefore) {
  std::atomic<bool> told = false;
  std::atomic<bool> heard = false;
  Lock::Options options = this->options();
  options.on_lost = [&](const LockLost&) {
    told = true;
    EXPECT_TRUE(support::eventually([&] { return heard.load(); }));
  };
  Lock lock(process(), "ledger", options);
  lock.acquire();
  servers[0].stop();
  EXPECT_TRUE(eventually([&] { return lock.seats() == 2; }));
  servers[1].stop();
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  servers[2].stop();
  servers[0].start();
  servers[1].start();
  std::jthread again([&] { lock.acquire(); });
  // It may wait for the callback, or go as far as it can.
  (void)support::eventually([&] { return servers[0].subscribers("ledger") == 1; }, 100ms);
  heard = true;
  again.join();
  EXPECT_EQ(lock.seats(), 2u);
  EXPECT_TRUE(lock.held());
  servers[2].start();
  EXPECT_FALSE(this->lock()->try_lock()) << "a second owner";
}

TEST_F(Majority, MayBeTakenAgainByWhoIsToldOfItsLoss) {
  std::atomic<bool> taken = false;
  Lock* self = nullptr;
  Lock::Options options = this->options();
  options.on_lost = [&](const LockLost&) {
    self->acquire();
    taken = true;
  };
  Lock lock(process(), "ledger", options);
  self = &lock;
  lock.acquire();
  servers[0].stop();
  EXPECT_TRUE(eventually([&] { return lock.seats() == 2; }));
  servers[1].stop();
  servers[0].start();
  EXPECT_TRUE(eventually([&] { return taken.load(); }));
  EXPECT_TRUE(support::throughout(50ms, [&] { return lock.held(); }));
}

/// As a plain lock, it ends the exceptions of whoever is told.
TEST_F(Majority, IsGivenBackWhateverIsThrownByWhoIsTold) {
  std::atomic<int> told = 0;
  Lock::Options options = this->options();
  options.on_lost = [&](const LockLost&) {
    ++told;
    throw std::runtime_error("nobody catches this");
  };
  const Process connections = process();
  Lock lock(connections, "ledger", options);
  lock.acquire();
  servers[0].stop();
  servers[1].stop();
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_TRUE(eventually([&] { return subscribers() == 0; }));
  servers[0].start();
  servers[1].start();
  lock.acquire();
  servers[0].partition(*connections[0]);
  servers[1].partition(*connections[1]);
  EXPECT_FALSE(lock.release()) << "most can't confirm";
  EXPECT_TRUE(eventually([&] { return told == 2; }));
}

TEST_F(Majority, IsGivenUpWhereNoServerKeepsIt) {
  std::size_t got = 0;
  Lock::Options options = this->options();
  options.observer = [&](const Observation& seen) {
    if (seen.kind != Observation::Kind::got || got > 30) return;
    InMemoryRedis& server = servers[got++ % servers.size()];
    server.stop();
    EXPECT_TRUE(eventually([&] { return server.subscribers("ledger") == 0; }));
    server.start();
  };
  Lock lock(process(), "ledger", options);
  EXPECT_EQ(error_of([&] { (void)lock.try_lock(); }), Errc::connect);
  EXPECT_EQ(got, 2u);
}

TEST_F(Majority, StaysWithTheParentOfAFork) {
  std::atomic<int> told = 0;
  Lock::Options options = this->options();
  options.on_lost = [&](const LockLost&) { ++told; };
  Lock lock(process(), "ledger", options);
  lock.acquire();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool right = lock.lost() && !lock.held() && !lock.release() &&
                       error_of([&] { lock.ensure_held(); }) == Errc::lost &&
                       error_of([&] { lock.acquire(); }) == Errc::usage && told == 0;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lock.held());
}

/// Four threads take turns while one server after the other goes and comes back: who has it is alone, but for one who
/// is about to be told that he has lost it.
TEST_F(Majority, IsNeverTwoPeoples) {
  std::atomic<int> turns = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> overlaps = 0;
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto lock = this->lock();
      while (!over) {
        if (!lock->try_lock_for(5s)) continue;
        if (++inside > 1) ++overlaps;
        std::this_thread::yield();
        --inside;
        lock->release();
        ++turns;
      }
    });
  }
  for (std::size_t round = 0; round < 6; ++round) {
    const int before = turns;
    EXPECT_TRUE(eventually([&] { return turns > before + 5; })) << "in round " << round;
    if (round < 3) servers[round].stop();  // one at a time: nobody loses more than a seat
    const int then = turns;
    EXPECT_TRUE(eventually([&] { return turns > then + 5; })) << "without one, in round " << round;
    if (round < 3) servers[round].start();
  }
  over = true;
  threads.clear();
  EXPECT_EQ(subscribers(), 0u);
  EXPECT_EQ(overlaps, 0) << "in " << turns << " turns";
}

}  // namespace
}  // namespace sublock::testing
