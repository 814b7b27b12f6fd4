// SPDX-License-Identifier: MIT

// One lock object in two threads, on purpose or not: never two successes without a release in between.

#include <cases/cases.hpp>

#include <sublock/redis_lock.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

namespace support {
namespace {

using namespace std::chrono_literals;
using sublock::Errc;

class TwoThreads : public Cases {
 protected:
  TwoThreads() : lock("tt", options()) {}

  [[nodiscard]] sublock::RedisLock::Options options() const {
    sublock::RedisLock::Options options;
    options.timeout = 1s;
    options.connection.url = server.url();
    return options;
  }

  /// The kind of error, or none.
  static Errc outcome_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const sublock::LockError& error) {
      return error.kind();
    }
    return {};
  }

  /// Three threads that take it and give it back, and one that asks it about everything. How many of the
  /// three there were at most who had been told that they have it, and had not given it back.
  int everything_at_once(bool with_losses) {
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    const auto end = TestClock::now() + span(scaled(1.5, 20.0));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        while (TestClock::now() < end) {
          if (outcome_of([&] { lock.acquire({.timeout = i == 0 ? 0ms : 50ms}); }) != Errc{}) continue;
          const int now_inside = ++inside;
          for (int seen = most; now_inside > seen && !most.compare_exchange_weak(seen, now_inside);) {
          }
          static_cast<void>(lock.held() || lock.lost());
          --inside;
          lock.release();
        }
      });
    }
    threads.emplace_back([&] {
      while (TestClock::now() < end) {
        static_cast<void>(lock.held());
        static_cast<void>(lock.lost());
        static_cast<void>(lock.mode());
        static_cast<void>(lock.writer_elected());
        static_cast<void>(lock.stop_token().stop_requested());
        static_cast<void>(lock.connection());
        outcome_of([&] { lock.ensure_held(); });
        outcome_of([&] { static_cast<void>(lock.probe(50ms)); });
      }
    });
    while (with_losses && TestClock::now() < end) {
      server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
      let_pass(0.02);
    }
    threads.clear();
    lock.release();
    EXPECT_TRUE(eventually([&] { return server.subscribers("tt") == 0; }));
    return most;
  }

  sublock::RedisLock lock;
};

TEST_F(TwoThreads, OfTwoThatAcquireAtOnceOneGetsItAndTheOtherIsToldAtOnce) {
  for (int round = 0; round < 100; ++round) {
    std::barrier start(2);
    std::array<Errc, 2> outcomes{};
    std::array<double, 2> took{};
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
          start.arrive_and_wait();
          const double begun = now();
          outcomes[i] = outcome_of([&] { lock.acquire(); });
          took[i] = now() - begun;
        });
      }
    }
    ASSERT_EQ(std::ranges::count(outcomes, Errc{}), 1) << "round " << round;
    ASSERT_EQ(std::ranges::count(outcomes, Errc::already_held), 1) << "round " << round;
    EXPECT_LE(took[outcomes[0] == Errc{} ? 1 : 0], 0.5);
    EXPECT_TRUE(lock.held());
    ASSERT_TRUE(lock.release());
  }
  EXPECT_EQ(server.subscribers("tt"), 0);
}

TEST_F(TwoThreads, AnotherThreadMayGiveItBack) {
  lock.acquire();
  bool kept = false;
  std::jthread([&] { kept = lock.release(); }).join();
  EXPECT_TRUE(kept);
  EXPECT_FALSE(lock.held());
  EXPECT_FALSE(lock.release());
  EXPECT_EQ(server.subscribers("tt"), 0);
}

TEST_F(TwoThreads, TakingItTwiceIsRefusedAtOnceAndHarmsNothing) {
  lock.acquire();
  const double start = now();
  EXPECT_EQ(outcome_of([&] { lock.acquire(); }), Errc::already_held);
  EXPECT_LE(now() - start, 0.2);
  EXPECT_TRUE(lock.held());
  auto rival = drive("tt", {"try"});
  rival.expect_line(" FAILED busy ");
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(server.subscribers("tt"), 0);
}

TEST_F(TwoThreads, AReleaseWhileAnotherThreadWaitsDoesNothing) {
  auto holder = drive("tt", {"hold=60"});
  holder.expect_line(" GOT$");
  std::atomic<Errc> outcome = Errc{};
  std::jthread waiting([&] { outcome = outcome_of([&] { lock.acquire(); }); });
  ASSERT_TRUE(eventually([&] { return lock.connection() != nullptr; }));
  while (outcome == Errc{} && lock.connection()) EXPECT_FALSE(lock.release());
  waiting.join();
  EXPECT_EQ(outcome, Errc::busy);
  expect_kept(holder);
  EXPECT_EQ(outcome_of([&] { lock.acquire(); }), Errc{});
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(server.subscribers("tt"), 0);
}

TEST_F(TwoThreads, EverythingAtOnceIsNoRaceAndNoTwoOwners) { EXPECT_EQ(everything_at_once(false), 1); }

// A loss ends a hold before its owner gives it back: there may be a next one already. Both may then be there.
TEST_F(TwoThreads, LossesInTheMiddleOfEverythingAreNoRace) { EXPECT_GE(everything_at_once(true), 1); }

}  // namespace
}  // namespace support
