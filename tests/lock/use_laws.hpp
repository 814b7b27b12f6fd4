// SPDX-License-Identifier: MIT
#pragma once

// The laws of using a lock object: what is refused at the door, whose connection it is, `with`, and the
// questions one can ask. The world they need is described in lock_fixture.hpp.

#include <lock/lock_fixture.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sublock::testing {

// The standard's named requirements, as far as a concept can see them.
template <class L>
concept LockableShape = requires(L& lock) {
  lock.lock();
  lock.unlock();
  { lock.try_lock() } -> std::same_as<bool>;
};

template <class L>
concept TimedLockableShape = LockableShape<L> && requires(L& lock) {
  { lock.try_lock_for(std::chrono::milliseconds(1)) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
};

template <class L>
concept SharedTimedLockableShape = requires(L& lock) {
  lock.lock_shared();
  lock.unlock_shared();
  { lock.try_lock_shared() } -> std::same_as<bool>;
  { lock.try_lock_shared_for(std::chrono::milliseconds(1)) } -> std::same_as<bool>;
  { lock.try_lock_shared_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
};

template <class World>
class LockUseLaws : public LockFixture<World> {
 protected:
  using Lock = typename LockFixture<World>::Lock;
  static_assert(TimedLockableShape<Lock> && SharedTimedLockableShape<Lock>);
  static_assert(!std::copyable<Lock> && !std::movable<Lock>);
  static_assert(noexcept(std::declval<Lock&>().unlock()) && noexcept(std::declval<Lock&>().unlock_shared()));
  static_assert(noexcept(std::declval<Lock&>().release()) && noexcept(std::declval<const Lock&>().lost()));

  [[nodiscard]] std::optional<Errc> error_of_making(const std::string& name,
                                                    typename LockFixture<World>::Options options) {
    return error_of([&] { Lock(this->world.connect(), name, options); });
  }

  /// What making a lock with one option changed leads to.
  template <class Change>
  std::optional<Errc> with_option(Change change) {
    auto options = this->options();
    change(options);
    return error_of_making(this->channel, options);
  }
};

TYPED_TEST_SUITE_P(LockUseLaws);

TYPED_TEST_P(LockUseLaws, TakingItTwiceIsAnErrorAtOnce) {
  auto lock = this->held();
  using Object = typename TestFixture::Lock;
  const std::vector<std::function<void(Object&)>> ways = {
      [](Object& again) { again.acquire(); },
      [](Object& again) { again.lock(); },
      [](Object& again) { again.lock_shared(); },
      [](Object& again) { (void)again.try_lock(); },
      [](Object& again) { (void)again.try_lock_shared(); },
      [](Object& again) { (void)again.try_lock_for(1h); },
      [](Object& again) { again.with([] {}); },
  };
  for (const auto& way : ways) {
    const Duration took = this->time([&] {
      try {
        way(*lock);
        FAIL() << "taken twice";
      } catch (const LockError& error) {
        EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur) << error.what();
        EXPECT_EQ(error.kind(), Errc::already_held);
      }
    });
    EXPECT_TRUE(this->is_about(took, 0ms));
    EXPECT_TRUE(lock->held());
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_TRUE(lock->release());
}

TYPED_TEST_P(LockUseLaws, GivingItBackTwiceIsNoError) {
  auto lock = this->lock();
  EXPECT_FALSE(lock->release());
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::not_held);
  lock->unlock();
  lock->acquire();
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->release());
  EXPECT_FALSE(lock->lost());
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::not_held);
}

TYPED_TEST_P(LockUseLaws, ImpossibleOptionsAreRefused) {
  EXPECT_EQ(this->with_option([](auto&) {}), std::nullopt);
  EXPECT_EQ(this->with_option([](auto& options) { options.timeout = -1ns; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.check_interval = 0s; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.check_interval = -1s; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.unavailable_timeout = 0s; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.holder_id = "0123"; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.holder_id = std::string(32, 'A'); }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.holder_id = std::string(33, 'a'); }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.label = std::string(257, 'x'); }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.label = "\xff"; }), Errc::usage);
  EXPECT_EQ(this->with_option([](auto& options) { options.label = std::string(256, 'x'); }), std::nullopt);
}

TYPED_TEST_P(LockUseLaws, ImpossibleChannelsAreRefused) {
  const auto options = this->options();
  EXPECT_EQ(this->error_of_making("", options), Errc::usage);
  EXPECT_EQ(this->error_of_making("ab\x80", options), Errc::usage);
  EXPECT_EQ(this->error_of_making("a\xc3", options), Errc::usage);
  EXPECT_EQ(this->error_of_making("\xed\xa0\x80", options), Errc::usage);
  EXPECT_EQ(this->error_of_making(std::string(65'537, 'x'), options), Errc::usage);
  std::string longest(65'536, 'x');
  if constexpr (requires { TypeParam::channel_of(longest); }) {
    longest = TypeParam::channel_of(longest);  // which may put something around it
    longest = TypeParam::channel_of(std::string(2 * 65'536 - longest.size(), 'x'));
  }
  EXPECT_EQ(this->error_of_making(longest, options), std::nullopt);
  try {
    typename TestFixture::Lock lock("ab\x80", options);
    FAIL() << "a lock on bytes that JSON can't carry";
  } catch (const LockError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("0x80"), std::string::npos) << text;
    EXPECT_NE(text.find("offset 2"), std::string::npos) << text;
  }
}

TYPED_TEST_P(LockUseLaws, ImpossibleRequestsAreRefusedAndDoNoHarm) {
  auto lock = this->lock();
  EXPECT_EQ(error_of([&] { lock->acquire({.timeout = -1s}); }), Errc::usage);
  EXPECT_EQ(error_of([&] { lock->acquire({.check_interval = 0s}); }), Errc::usage);
  EXPECT_EQ(error_of([&] { lock->acquire({.check_interval = -1s}); }), Errc::usage);
  using Seconds = std::chrono::duration<double>;
  EXPECT_EQ(error_of([&] { (void)lock->try_lock_for(Seconds(std::numeric_limits<double>::quiet_NaN())); }),
            Errc::usage);
  EXPECT_FALSE(lock->held());
  EXPECT_TRUE(lock->try_lock());
}

TYPED_TEST_P(LockUseLaws, OneAcquireMayChooseForItself) {
  auto reader = this->lock();
  reader->acquire({.mode = LockMode::shared});
  EXPECT_EQ(reader->mode(), HolderMode::shared);
  auto other = this->lock(this->shared_options());
  EXPECT_EQ(other->mode(), HolderMode::shared);
  other->acquire();
  EXPECT_TRUE(other->release());
  EXPECT_EQ(error_of([&] { other->acquire({.mode = LockMode::exclusive, .timeout = 20ms}); }), Errc::busy);
}

TYPED_TEST_P(LockUseLaws, AConnectionOfItsOwnComesAndGoes) {
  typename TestFixture::Lock lock(this->channel, this->options());
  EXPECT_EQ(lock.connection(), nullptr);
  lock.acquire();
  const auto first = lock.connection();
  EXPECT_NE(first, nullptr);
  lock.release();
  EXPECT_EQ(lock.connection(), nullptr);
  lock.acquire();
  EXPECT_NE(lock.connection(), nullptr);
  EXPECT_NE(lock.connection(), first);
  typename TestFixture::Lock other(this->channel, this->options());
  EXPECT_FALSE(other.try_lock());
  EXPECT_EQ(other.connection(), nullptr);
  lock.release();
}

TYPED_TEST_P(LockUseLaws, AConnectionOfItsOwnIsClosedOnRelease) {
  typename TestFixture::Lock lock(this->channel, this->options());
  lock.acquire();
  const std::weak_ptr<typename TestFixture::Transport> connection = lock.connection();
  EXPECT_FALSE(connection.expired());
  lock.release();
  EXPECT_TRUE(connection.expired());
}

TYPED_TEST_P(LockUseLaws, AGivenConnectionIsSharedAndNeverClosed) {
  const auto connection = this->world.connect();
  using Object = typename TestFixture::Lock;
  auto one = std::make_unique<Object>(connection, this->channel, this->options());
  EXPECT_EQ(one->connection(), connection);
  Object other(connection, this->channel + "-other", this->options());
  Object rival(connection, this->channel, this->options());
  one->acquire();
  other.acquire();
  EXPECT_FALSE(rival.try_lock());
  EXPECT_TRUE(one->release());
  EXPECT_EQ(one->connection(), connection);
  one.reset();
  EXPECT_TRUE(other.held());
  EXPECT_TRUE(rival.try_lock());
  EXPECT_TRUE(other.release());
}

TYPED_TEST_P(LockUseLaws, WithReturnsWhatTheWorkReturns) {
  auto lock = this->lock();
  auto rival = this->lock();
  EXPECT_EQ(lock->with([&] { return rival->try_lock(); }), false);
  EXPECT_FALSE(lock->held());
  std::string word = "kept";
  std::string& reference = lock->with([&]() -> std::string& { return word; });
  EXPECT_EQ(&reference, &word);
  static_assert(std::is_void_v<decltype(lock->with([] {}))>);
  int calls = 0;
  lock->with([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  const auto owned = lock->with([] { return std::make_unique<int>(7); });
  EXPECT_EQ(*owned, 7);
  lock->with([&](std::stop_token stop) {
    EXPECT_TRUE(stop.stop_possible());
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_TRUE(lock->held());
  });
  lock->with([&] { EXPECT_EQ(lock->mode(), HolderMode::shared); }, {.mode = LockMode::shared});
  EXPECT_FALSE(lock->held());
}

TYPED_TEST_P(LockUseLaws, WithLetsTheWorksExceptionThrough) {
  auto lock = this->lock();
  EXPECT_THROW(lock->with([] { throw std::domain_error("the work's own"); }), std::domain_error);
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  auto holder = this->held();
  bool ran = false;
  EXPECT_THROW(lock->with([&] { ran = true; }, {.timeout = 20ms}), AlreadyLocked);
  EXPECT_FALSE(ran);
}

TYPED_TEST_P(LockUseLaws, AProbeListsWhoIsThereAndDisturbsNobody) {
  auto asker = this->lock();
  EXPECT_TRUE(asker->probe().empty());
  auto options = this->shared_options();
  options.label = "reader";
  options.priority = 7;
  auto first = this->lock(options);
  first->acquire();
  auto second = this->held_by_reader();
  const auto holders = asker->probe();
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(this->world.subscribers(this->channel), 2u);
  const auto found = std::ranges::find(holders, first->holder_id(), &Holder::holder_id);
  ASSERT_NE(found, holders.end());
  EXPECT_EQ(found->label, "reader");
  EXPECT_EQ(found->priority, 7);
  EXPECT_EQ(found->mode, HolderMode::shared);
  EXPECT_TRUE(found->held_for);
  EXPECT_EQ(first->probe().size(), 2u);  // itself included
  EXPECT_TRUE(first->held());
  EXPECT_TRUE(second->held());
}

TYPED_TEST_P(LockUseLaws, AProbeFailsWhereSomebodyIsSilent) {
  auto holder = this->held();
  this->world.stranger(this->channel);
  auto asker = this->lock();
  const Duration took =
      this->time([&] { EXPECT_EQ(error_of([&] { (void)asker->probe(100ms); }), Errc::busy); });
  EXPECT_TRUE(this->is_about(took, 100ms));
  EXPECT_EQ(this->world.subscribers(this->channel), 2u);
}

TYPED_TEST_P(LockUseLaws, CheckSaysWhetherAnybodyAnswers) {
  typename TestFixture::Lock asker(this->channel, this->options());
  const Duration took =
      this->time([&] { EXPECT_FALSE(asker.check_or_kill_lock(this->world.connect(), 50ms)); });
  EXPECT_TRUE(this->is_about(took, 50ms));
  {
    auto holder = this->held();
    EXPECT_TRUE(asker.check_or_kill_lock(this->world.connect()));
    EXPECT_TRUE(holder->held());
    this->world.stranger(this->channel);
    EXPECT_TRUE(asker.check_or_kill_lock(this->world.connect()));
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockUseLaws, CheckKillsOnlyItsOwnName) {
  auto asker = this->lock();
  const std::string other = this->channel + "-lock-" + std::string(32, 'a');
  this->world.stranger(this->channel, asker->client_name());
  this->world.stranger(this->channel, other);
  EXPECT_FALSE(asker->check_or_kill_lock(this->world.connect(), 50ms));
  EXPECT_TRUE(this->world.eventually([&] { return !this->world.is_connected(asker->client_name()); }));
  EXPECT_TRUE(this->world.is_connected(other));
}

REGISTER_TYPED_TEST_SUITE_P(LockUseLaws, TakingItTwiceIsAnErrorAtOnce, GivingItBackTwiceIsNoError,
                            ImpossibleOptionsAreRefused, ImpossibleChannelsAreRefused,
                            ImpossibleRequestsAreRefusedAndDoNoHarm, OneAcquireMayChooseForItself,
                            AConnectionOfItsOwnComesAndGoes, AConnectionOfItsOwnIsClosedOnRelease,
                            AGivenConnectionIsSharedAndNeverClosed, WithReturnsWhatTheWorkReturns,
                            WithLetsTheWorksExceptionThrough, AProbeListsWhoIsThereAndDisturbsNobody,
                            AProbeFailsWhereSomebodyIsSilent, CheckSaysWhetherAnybodyAnswers,
                            CheckKillsOnlyItsOwnName);

}  // namespace sublock::testing
