// SPDX-License-Identifier: MIT
#pragma once

// The laws of waiting for a lock: how long, for whom, and how one gives up. The world they need is described
// in lock_fixture.hpp.

#include <lock/lock_fixture.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::testing {

template <class World>
class LockWaitingLaws : public LockFixture<World> {
 protected:
  using Lock = typename LockFixture<World>::Lock;

  /// Options of somebody who does not wait long for answers.
  typename LockFixture<World>::Options impatient() {
    auto options = this->options();
    options.unavailable_timeout = 200ms;
    options.on_warning = [this](std::string_view text) { warnings += std::string(text) + '\n'; };
    return options;
  }

  [[nodiscard]] std::string holder_name() const {
    return this->channel + "-lock-0123456789abcdef0123456789abcdef";
  }

  /// Every way to wait without an end, or for longer than a test lasts.
  static std::vector<std::function<void(Lock&, std::stop_token)>> waits() {
    return {
        [](Lock& lock, std::stop_token stop) { lock.lock(std::move(stop)); },
        [](Lock& lock, std::stop_token stop) { lock.lock_shared(std::move(stop)); },
        [](Lock& lock, std::stop_token stop) { (void)lock.try_lock_for(10min, std::move(stop)); },
        [](Lock& lock, std::stop_token stop) { (void)lock.try_lock_shared_for(10min, std::move(stop)); },
        [](Lock& lock, std::stop_token stop) {
          (void)lock.try_lock_until(std::chrono::system_clock::now() + 10min, std::move(stop));
        },
        [](Lock& lock, std::stop_token stop) {
          (void)lock.try_lock_shared_until(std::chrono::system_clock::now() + 10min, std::move(stop));
        },
        [](Lock& lock, std::stop_token stop) {
          lock.acquire({.timeout = infinite, .stop = std::move(stop)});
        },
    };
  }

  std::string warnings;
};

TYPED_TEST_SUITE_P(LockWaitingLaws);

TYPED_TEST_P(LockWaitingLaws, TheDeadlineHoldsAgainstAHolder) {
  auto holder = this->held();
  for (const Duration timeout : {Duration(20ms), Duration(77ms), Duration(250ms)}) {
    auto lock = this->lock();
    EXPECT_FALSE(lock->try_lock());  // connected by now, for which a real server may need longer
    EXPECT_TRUE(this->is_about(this->time([&] { EXPECT_FALSE(lock->try_lock_for(timeout)); }), timeout));
    EXPECT_TRUE(
        this->is_about(this->time([&] { EXPECT_FALSE(lock->try_lock_shared_for(timeout)); }), timeout));
    EXPECT_TRUE(this->is_about(
        this->time([&] { EXPECT_EQ(error_of([&] { lock->acquire({.timeout = timeout}); }), Errc::busy); }),
        timeout));
    EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  }
}

TYPED_TEST_P(LockWaitingLaws, TheDeadlineHoldsAgainstReaders) {
  auto holder = this->held_by_reader();
  auto lock = this->lock();
  EXPECT_TRUE(this->is_about(this->time([&] { EXPECT_FALSE(lock->try_lock_for(77ms)); }), 77ms));
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockWaitingLaws, TheDeadlineHoldsAgainstSilence) {
  this->world.stranger(this->channel, this->holder_name());
  auto options = this->options();
  options.unavailable_timeout = 10s;
  auto lock = this->lock(options);
  EXPECT_TRUE(this->is_about(this->time([&] { EXPECT_FALSE(lock->try_lock_for(77ms)); }), 77ms));
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockWaitingLaws, OneAttemptWaitsForAnswersAndKillsNobody) {
  this->world.stranger(this->channel, this->holder_name());
  auto lock = this->lock(this->impatient());
  EXPECT_TRUE(this->is_about(this->time([&] { EXPECT_FALSE(lock->try_lock()); }), 200ms));
  EXPECT_EQ(error_of([&] { lock->acquire({.timeout = 0s}); }), Errc::busy);
  EXPECT_TRUE(this->world.is_connected(this->holder_name()));
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockWaitingLaws, WhoIsSilentTwiceIsKilled) {
  this->world.stranger(this->channel, this->holder_name());
  auto lock = this->lock(this->impatient());
  EXPECT_TRUE(this->is_about(this->time([&] { lock->acquire({.timeout = 1min}); }), 2 * 200ms));
  EXPECT_FALSE(this->world.is_connected(this->holder_name()));
  EXPECT_NE(this->warnings.find("0123456789abcdef0123456789abcdef"), std::string::npos) << this->warnings;
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockWaitingLaws, StrangersDelayItAndAreNamed) {
  this->world.stranger(this->channel);
  this->world.stranger(this->channel, this->channel + "-lock-mytool");
  auto lock = this->lock(this->impatient());
  EXPECT_TRUE(this->is_about(this->time([&] { lock->acquire({.timeout = 1min}); }), 200ms));
  EXPECT_NE(this->warnings.find("2 subscribers"), std::string::npos) << this->warnings;
  EXPECT_TRUE(lock->release());
  EXPECT_TRUE(lock->try_lock_shared());
  EXPECT_EQ(this->world.subscribers(this->channel), 3u);
  EXPECT_TRUE(this->world.is_connected(this->channel + "-lock-mytool"));
}

TYPED_TEST_P(LockWaitingLaws, StrangersDoNotHideAHolder) {
  auto holder = this->held();
  this->world.stranger(this->channel);
  auto lock = this->lock();
  EXPECT_FALSE(lock->try_lock());
  EXPECT_FALSE(lock->try_lock_for(1500ms));
  EXPECT_TRUE(holder->held());
}

TYPED_TEST_P(LockWaitingLaws, AWaiterHasItWithinAnIntervalAndAHalf) {
  auto holder = this->held();
  auto waiter = this->lock();
  std::atomic<bool> released = false;
  const Duration took = this->time([&] {
    const auto later = this->world.after(100ms, [&] { released = holder->release(); });
    waiter->lock();
  });
  EXPECT_TRUE(released);
  EXPECT_GE(took, Duration(100ms));
  EXPECT_TRUE(this->is_about(std::max(took, Duration(130ms)), 130ms));
}

TYPED_TEST_P(LockWaitingLaws, AStopBeforeItBeginsIsTheEnd) {
  std::stop_source stop;
  stop.request_stop();
  auto lock = this->lock();
  for (const auto& wait : this->waits()) {
    EXPECT_EQ(error_of([&] { wait(*lock, stop.get_token()); }), Errc::cancelled);
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  EXPECT_TRUE(lock->try_lock());
}

TYPED_TEST_P(LockWaitingLaws, AStopEndsAnyWaitAndLeavesNothingBehind) {
  auto holder = this->held();
  auto lock = this->lock();
  for (const auto& wait : this->waits()) {
    std::stop_source stop;
    EXPECT_TRUE(this->is_about(this->time([&] {
      const auto later = this->world.after(50ms, [&] { stop.request_stop(); });
      EXPECT_EQ(error_of([&] { wait(*lock, stop.get_token()); }), Errc::cancelled);
    }),
                               50ms));
    EXPECT_EQ(this->world.subscribers(this->channel), 1u);
    EXPECT_FALSE(lock->held());
  }
  holder->release();
  EXPECT_TRUE(lock->try_lock());
}

TYPED_TEST_P(LockWaitingLaws, AWriterThatGivesUpLetsReadersIn) {
  auto reader = this->held_by_reader();
  auto writer = this->lock();
  std::stop_source stop;
  std::atomic<bool> elected = false;
  const auto later = this->world.after(50ms, [&] {
    elected = this->world.eventually([&] { return writer->writer_elected(); });
    stop.request_stop();
  });
  EXPECT_EQ(error_of([&] { writer->lock(stop.get_token()); }), Errc::cancelled);
  EXPECT_TRUE(elected);
  EXPECT_FALSE(writer->writer_elected());
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_TRUE(this->lock()->try_lock_shared());
}

TYPED_TEST_P(LockWaitingLaws, WhileOneThreadWaitsTheObjectIsInUse) {
  auto holder = this->held();
  auto lock = this->lock();
  const auto later = this->world.after(50ms, [&] {
    // Stands first in line by then, however slow the machine is.
    EXPECT_TRUE(this->world.eventually([&] { return this->world.subscribers(this->channel) == 2; }));
    EXPECT_EQ(error_of([&] { lock->lock(); }), Errc::already_held);
    EXPECT_EQ(error_of([&] { (void)lock->try_lock_shared(); }), Errc::already_held);
    EXPECT_FALSE(lock->release());
    EXPECT_FALSE(lock->held());
    holder->release();
  });
  lock->lock();
  EXPECT_TRUE(lock->held());
}

TYPED_TEST_P(LockWaitingLaws, AKilledConnectionDoesNotEndAWait) {
  auto reader = this->held_by_reader();
  auto writer = this->lock();
  const auto joined = [&] { return this->world.is_connected(writer->client_name()); };
  std::atomic<bool> killed = false;
  std::atomic<bool> back = false;
  const auto first = this->world.after(
      50ms, [&] { killed = this->world.eventually(joined) && this->world.kill(writer->client_name()); });
  const auto then = this->world.after(500ms, [&] {
    back = this->world.eventually(joined);
    reader->release();
  });
  writer->acquire({.timeout = 1min});
  EXPECT_TRUE(killed);
  EXPECT_TRUE(back);
  EXPECT_FALSE(writer->lost());
  EXPECT_TRUE(writer->release());
}

REGISTER_TYPED_TEST_SUITE_P(LockWaitingLaws, TheDeadlineHoldsAgainstAHolder, TheDeadlineHoldsAgainstReaders,
                            TheDeadlineHoldsAgainstSilence, OneAttemptWaitsForAnswersAndKillsNobody,
                            WhoIsSilentTwiceIsKilled, StrangersDelayItAndAreNamed, StrangersDoNotHideAHolder,
                            AWaiterHasItWithinAnIntervalAndAHalf, AStopBeforeItBeginsIsTheEnd,
                            AStopEndsAnyWaitAndLeavesNothingBehind, AWriterThatGivesUpLetsReadersIn,
                            WhileOneThreadWaitsTheObjectIsInUse, AKilledConnectionDoesNotEndAWait);

}  // namespace sublock::testing
