// SPDX-License-Identifier: MIT
#pragma once

// The laws of losing a lock: everybody who asks is told, once and for good, and the object works again
// afterwards. The world they need is described in lock_fixture.hpp.

#include <lock/lock_fixture.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace sublock::testing {

template <class World>
class LockLossLaws : public LockFixture<World> {
 protected:
  using Lock = typename LockFixture<World>::Lock;

  /// The server closes the connection on which the lock is held, and the holder learns it.
  void lose(Lock& lock) {
    ASSERT_TRUE(this->world.kill(lock.client_name()));
    ASSERT_TRUE(this->world.eventually([&] { return lock.lost(); }));
  }

  /// A lock whose losses are counted.
  std::unique_ptr<Lock> counting() {
    auto options = this->options();
    options.on_lost = [this](const LockLost&) { ++losses; };
    return this->lock(options);
  }

  std::atomic<int> losses = 0;
};

TYPED_TEST_SUITE_P(LockLossLaws);

TYPED_TEST_P(LockLossLaws, EverybodyWhoAsksIsTold) {
  auto lock = this->held();
  const std::stop_token stop = lock->stop_token();
  EXPECT_FALSE(stop.stop_requested());
  this->lose(*lock);
  EXPECT_FALSE(lock->held());
  EXPECT_TRUE(this->world.eventually([&] { return stop.stop_requested(); }));
  try {
    lock->ensure_held();
    FAIL() << "held after its connection was killed";
  } catch (const LockLost& error) {
    EXPECT_EQ(error.code(), std::errc::owner_dead);
    const std::string text = error.what();
    EXPECT_NE(text.find(this->channel), std::string::npos) << text;
    EXPECT_NE(text.find(lock->holder_id()), std::string::npos) << text;
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
}

TYPED_TEST_P(LockLossLaws, ItStaysLostUntilTheNextAcquire) {
  auto lock = this->held();
  this->lose(*lock);
  EXPECT_FALSE(lock->release());
  EXPECT_TRUE(lock->lost());
  EXPECT_FALSE(lock->release());
  EXPECT_TRUE(lock->lost());
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::lost);
  EXPECT_TRUE(this->world.eventually([&] { return lock->stop_token().stop_requested(); }));
  lock->acquire();
  EXPECT_TRUE(lock->held());
  EXPECT_FALSE(lock->lost());
  EXPECT_FALSE(lock->stop_token().stop_requested());
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->lost());
}

TYPED_TEST_P(LockLossLaws, ItMayBeTakenAgainWithoutGivingItBack) {
  auto lock = this->held();
  this->lose(*lock);
  lock->acquire();
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_TRUE(lock->release());
}

TYPED_TEST_P(LockLossLaws, ALockThatWasLostIsFreeForOthers) {
  auto lock = this->held();
  this->lose(*lock);
  auto other = this->held();
  EXPECT_FALSE(lock->release());
  EXPECT_TRUE(other->held());
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_FALSE(lock->try_lock());
  EXPECT_FALSE(lock->lost());
}

TYPED_TEST_P(LockLossLaws, AReaderMayLoseItAlone) {
  auto first = this->held_by_reader();
  auto second = this->held_by_reader();
  this->lose(*first);
  EXPECT_TRUE(second->held());
  EXPECT_FALSE(this->lock()->try_lock());
  EXPECT_TRUE(second->release());
}

TYPED_TEST_P(LockLossLaws, TheCallbackComesOnceOnAThreadOfItsOwn) {
  std::atomic<int> calls = 0;
  std::atomic<bool> lost = false;
  std::atomic<std::thread::id> thread;
  typename TestFixture::Lock* self = nullptr;
  auto options = this->options();
  options.on_lost = [&](const LockLost& error) {
    thread = std::this_thread::get_id();
    lost = self->lost() && error.kind() == Errc::lost;
    ++calls;
  };
  auto lock = this->lock(options);
  self = lock.get();
  lock->acquire();
  this->lose(*lock);
  EXPECT_TRUE(this->world.eventually([&] { return calls == 1; }));
  EXPECT_TRUE(lost);
  EXPECT_NE(thread.load(), std::this_thread::get_id());
  lock->release();
  lock->acquire();
  lock->release();
  EXPECT_EQ(calls, 1);
  lock->acquire();
  this->lose(*lock);
  EXPECT_TRUE(this->world.eventually([&] { return calls == 2; }));
}

TYPED_TEST_P(LockLossLaws, NobodyIsCalledWithoutALoss) {
  auto lock = this->counting();
  lock->acquire();
  const std::stop_token stop = lock->stop_token();
  lock->release();
  EXPECT_FALSE(stop.stop_requested());
  lock.reset();
  EXPECT_FALSE(stop.stop_requested());
  EXPECT_EQ(this->losses, 0);
}

TYPED_TEST_P(LockLossLaws, TheCallbackMayGiveItBackAndTakeItAgain) {
  std::atomic<bool> released = true;
  std::atomic<bool> taken = false;
  typename TestFixture::Lock* self = nullptr;
  auto options = this->options();
  options.on_lost = [&](const LockLost&) {
    released = self->release();
    self->acquire();
    taken = true;
  };
  auto lock = this->lock(options);
  self = lock.get();
  lock->acquire();
  ASSERT_TRUE(this->world.kill(lock->client_name()));
  EXPECT_TRUE(this->world.eventually([&] { return taken.load(); }));
  EXPECT_FALSE(released);
  EXPECT_TRUE(this->world.eventually([&] { return lock->held(); }));
  EXPECT_TRUE(lock->release());
}

TYPED_TEST_P(LockLossLaws, TheCallbackMayThrow) {
  auto options = this->options();
  options.on_lost = [&](const LockLost&) {
    ++this->losses;
    throw std::domain_error("nobody hears this");
  };
  auto lock = this->lock(options);
  lock->acquire();
  this->lose(*lock);
  EXPECT_TRUE(this->world.eventually([&] { return this->losses == 1; }));
  lock->acquire();
  EXPECT_TRUE(lock->held());
}

TYPED_TEST_P(LockLossLaws, TheDestructorWaitsForTheCallback) {
  std::atomic<bool> may_end = false;
  std::atomic<bool> ended = false;
  auto options = this->options();
  options.on_lost = [&](const LockLost&) {
    EXPECT_TRUE(this->world.eventually([&] { return may_end.load(); }));
    ended = true;
  };
  auto lock = this->lock(options);
  lock->acquire();
  this->lose(*lock);
  EXPECT_FALSE(ended);
  std::thread other([&] { may_end = true; });
  lock.reset();
  EXPECT_TRUE(ended);
  other.join();
}

TYPED_TEST_P(LockLossLaws, WithReportsItUnlessTheWorkThrew) {
  auto lock = this->lock();
  const auto lose = [&](std::stop_token stop) {
    this->lose(*lock);
    EXPECT_TRUE(this->world.eventually([&] { return stop.stop_requested(); }));
  };
  EXPECT_THROW(lock->with(lose), LockLost);
  EXPECT_FALSE(lock->held());
  EXPECT_THROW(lock->with([&](std::stop_token stop) {
    lose(stop);
    throw std::domain_error("the work's own");
  }),
               std::domain_error);
  EXPECT_TRUE(lock->lost());
  EXPECT_EQ(lock->with([] { return 5; }), 5);
}

TYPED_TEST_P(LockLossLaws, AConnectionOfItsOwnIsNotUsedAgain) {
  typename TestFixture::Lock lock(this->channel, this->options());
  lock.acquire();
  const auto first = lock.connection();
  this->lose(lock);
  lock.acquire();
  EXPECT_NE(lock.connection(), nullptr);
  EXPECT_NE(lock.connection(), first);
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(lock.connection(), nullptr);
}

REGISTER_TYPED_TEST_SUITE_P(LockLossLaws, EverybodyWhoAsksIsTold, ItStaysLostUntilTheNextAcquire,
                            ItMayBeTakenAgainWithoutGivingItBack, ALockThatWasLostIsFreeForOthers,
                            AReaderMayLoseItAlone, TheCallbackComesOnceOnAThreadOfItsOwn,
                            NobodyIsCalledWithoutALoss, TheCallbackMayGiveItBackAndTakeItAgain,
                            TheCallbackMayThrow, TheDestructorWaitsForTheCallback,
                            WithReportsItUnlessTheWorkThrew, AConnectionOfItsOwnIsNotUsedAgain);

}  // namespace sublock::testing
