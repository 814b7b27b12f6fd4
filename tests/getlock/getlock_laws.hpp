// SPDX-License-Identifier: MIT
#pragma once

// The laws of RedisGetlock: who gets the key, who doesn't, how it is kept, and what others see of it. The world
// they need is described in getlock_fixture.hpp.

#include <getlock/getlock_fixture.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

namespace sublock::testing {

template <class World>
class GetlockLaws : public GetlockFixture<World> {};

TYPED_TEST_SUITE_P(GetlockLaws);

TYPED_TEST_P(GetlockLaws, ItIsTakenAndGivenBack) {
  auto lock = this->lock();
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(lock->is_locked());
  EXPECT_TRUE(lock->lock());
  EXPECT_TRUE(lock->held());
  EXPECT_NO_THROW(lock->ensure_held());
  EXPECT_TRUE(lock->is_locked());
  EXPECT_TRUE(lock->is_self_locked());
  EXPECT_TRUE(lock->unlock());
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(lock->lost());
  EXPECT_FALSE(lock->is_locked());
  EXPECT_FALSE(lock->is_self_locked());
  EXPECT_EQ(this->world.value(this->key), "");
}

TYPED_TEST_P(GetlockLaws, WhatIsStoredIsWhatRubyStores) {
  const auto lock = this->held();
  const auto value = nlohmann::json::parse(this->world.value(this->key));
  ASSERT_EQ(value.size(), 2U);
  EXPECT_THAT(value["uuid"].template get<std::string>(),
              ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  const double expire_at = std::stod(value["expire_at"].template get<std::string>());
  EXPECT_NEAR(expire_at, this->world.clock().wall().count() + 1.5, 1.0);
  const auto left = this->world.left(this->key);
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 0ms);
  EXPECT_LE(*left, 2s) << "a server that counts in whole seconds rounds up";
}

TYPED_TEST_P(GetlockLaws, ASecondIsRefused) {
  auto first = this->held();
  auto second = this->lock();
  EXPECT_FALSE(second->try_lock());
  EXPECT_FALSE(second->try_lock_for(0s));
  EXPECT_FALSE(second->try_lock_for(-1s));
  EXPECT_FALSE(second->held());
  EXPECT_TRUE(second->is_locked());
  EXPECT_FALSE(second->is_self_locked());
  EXPECT_FALSE(second->unlock());
  EXPECT_TRUE(first->is_self_locked());
  EXPECT_TRUE(first->unlock());
  EXPECT_TRUE(second->try_lock());
}

TYPED_TEST_P(GetlockLaws, LockingTwiceIsAnErrorAndTheLeaseGoesOn) {
  auto lock = this->held();
  using Object = typename TestFixture::Lock;
  const std::vector<std::function<void(Object&)>> ways = {
      [](Object& again) { again.lock(); },
      [](Object& again) { (void)again.try_lock(); },
      [](Object& again) { (void)again.try_lock_for(1h); },
      [](Object& again) { again.synchronize([] {}); },
  };
  for (const auto& way : ways) EXPECT_EQ(error_of([&] { way(*lock); }), Errc::already_held);
  this->pass(2s);
  EXPECT_TRUE(lock->held());
  EXPECT_TRUE(lock->is_self_locked());
}

TYPED_TEST_P(GetlockLaws, ItIsKeptForAsLongAsItTakes) {
  auto lock = this->held();
  const std::string before = this->world.value(this->key);
  this->pass(3s);
  EXPECT_TRUE(lock->held());
  EXPECT_TRUE(lock->is_self_locked());
  const std::string after = this->world.value(this->key);
  EXPECT_EQ(before.substr(0, 46), after.substr(0, 46)) << "the same owner";
  EXPECT_LT(before, after) << "who expires later";
  EXPECT_TRUE(lock->unlock());
}

TYPED_TEST_P(GetlockLaws, SeveralOnOneConnectionAreAllKept) {
  const auto connection = this->world.connect();
  std::vector<std::unique_ptr<typename TestFixture::Lock>> locks;
  for (int at = 0; at < 10; ++at) {
    locks.push_back(std::make_unique<typename TestFixture::Lock>(connection, this->key + std::to_string(at),
                                                                 this->options()));
    locks.back()->lock();
  }
  this->pass(2s);
  for (const auto& lock : locks) EXPECT_TRUE(lock->is_self_locked());
  for (const auto& lock : locks) EXPECT_TRUE(lock->unlock());
}

TYPED_TEST_P(GetlockLaws, AWaiterIsWokenByTheRelease) {
  auto first = this->held();
  auto second = this->lock();
  const auto release = this->world.after(300ms, [&] { EXPECT_TRUE(first->unlock()); });
  const Duration waited = this->time([&] { EXPECT_TRUE(second->try_lock_for(20s)); });
  EXPECT_GE(waited, 300ms);
  EXPECT_LE(waited, TypeParam::exact ? Duration(300ms) : Duration(1s));
  EXPECT_TRUE(second->held());
}

TYPED_TEST_P(GetlockLaws, AWaiterLooksByItself) {
  auto options = this->options();
  options.expire = 10s;
  options.interval = 5s;
  auto lock = this->lock(options);
  this->world.set(this->key, "somebody's", 20s);
  const auto erase = this->world.after(300ms, [&] { this->world.erase(this->key); });
  const Duration waited = this->time([&] { EXPECT_TRUE(lock->try_lock_for(20s)); });
  EXPECT_GE(waited, 300ms);
  EXPECT_LE(waited, 1300ms) << "nobody told it";
}

TYPED_TEST_P(GetlockLaws, AWaiterTakesWhatExpires) {
  this->world.set(this->key, R"({"uuid":"dead","expire_at":"1.0"})", 700ms);
  auto lock = this->lock();
  const Duration waited = this->time([&] { EXPECT_TRUE(lock->lock()); });
  EXPECT_GE(waited, TypeParam::exact ? Duration(700ms) : Duration(600ms));
  EXPECT_LE(waited, TypeParam::exact ? Duration(701ms) : Duration(2s));
}

TYPED_TEST_P(GetlockLaws, WaitsKeepToTheirTime) {
  auto first = this->held();
  auto options = this->options();
  options.timeout = 700ms;
  auto second = this->lock(options);
  std::string text;
  const Duration waited = this->time([&] { text = this->refusal(*second); });
  EXPECT_GE(waited, 700ms);
  EXPECT_LE(waited, TypeParam::exact ? Duration(700ms) : Duration(900ms));
  const auto owner = nlohmann::json::parse(this->world.value(this->key))["uuid"].template get<std::string>();
  EXPECT_THAT(text, ::testing::HasSubstr(this->key));
  EXPECT_THAT(text, ::testing::HasSubstr(owner));
  EXPECT_FALSE(second->try_lock_until(std::chrono::system_clock::now() - 1h));
}

TYPED_TEST_P(GetlockLaws, AStopEndsTheWaitAndLeavesNothing) {
  auto first = this->held();
  auto second = this->lock();
  std::stop_source stop;
  const auto cancel = this->world.after(100ms, [&] { stop.request_stop(); });
  EXPECT_EQ(error_of([&] { second->lock(stop.get_token()); }), Errc::cancelled);
  EXPECT_EQ(error_of([&] { second->lock(stop.get_token()); }), Errc::cancelled);
  EXPECT_TRUE(first->unlock());
  EXPECT_FALSE(first->is_locked());
}

TYPED_TEST_P(GetlockLaws, SynchronizeUnlocksHoweverItEnds) {
  auto lock = this->lock();
  EXPECT_EQ(lock->synchronize([&] { return lock->is_self_locked() ? 7 : 0; }), 7);
  EXPECT_FALSE(lock->is_locked());
  EXPECT_THROW(lock->synchronize([](std::stop_token) { throw std::logic_error("body"); }), std::logic_error);
  EXPECT_FALSE(lock->is_locked());
  EXPECT_THROW(lock->synchronize([&] {
    this->world.erase(this->key);
    EXPECT_TRUE(this->world.eventually([&] { return lock->held(); }));
    lock->unlock();
  }),
               LockError);
}

TYPED_TEST_P(GetlockLaws, AnyBytesAreAKey) {
  for (const std::string& name : {std::string(), std::string(" a b "), std::string("a\0b\r\n\xff", 6),
                                  std::string(10'000, 'k'), std::string("lock[1]*")}) {
    typename TestFixture::Lock lock(this->world.connect(), this->key + name, this->options());
    EXPECT_TRUE(lock.try_lock());
    EXPECT_TRUE(lock.is_self_locked());
    EXPECT_TRUE(lock.unlock());
  }
  typename TestFixture::Lock nameless(this->world.connect(), "", this->options());
  EXPECT_TRUE(nameless.try_lock());
}

TYPED_TEST_P(GetlockLaws, ImpossibleTimesAreRefusedAtOnce) {
  const auto with = [&](auto change) {
    auto options = this->options();
    change(options);
    return error_of([&] { typename TestFixture::Lock(this->world.connect(), this->key, options); });
  };
  EXPECT_EQ(with([](auto&) {}), std::nullopt);
  EXPECT_EQ(with([](auto& options) { options.interval = options.expire; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.interval = options.expire + 1ms; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.interval = 0s; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.interval = -1s; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.expire = 0s; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.expire = -1s; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.expire = Duration::max(); }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.expire = 1500ms + 1ns; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.unavailable_timeout = 0s; }), Errc::usage);
  EXPECT_EQ(with([](auto& options) { options.timeout = Duration::max(); }), std::nullopt);
}

TYPED_TEST_P(GetlockLaws, TokensGrow) {
  auto options = this->options();
  options.fencing = true;
  std::int64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    auto lock = this->lock(options);
    EXPECT_EQ(error_of([&] { (void)lock->fence_token(); }), Errc::not_held);
    lock->lock();
    EXPECT_GT(lock->fence_token(), last);
    last = lock->fence_token();
  }
  EXPECT_EQ(error_of([&] { (void)this->lock()->fence_token(); }), Errc::usage);
}

REGISTER_TYPED_TEST_SUITE_P(GetlockLaws, ItIsTakenAndGivenBack, WhatIsStoredIsWhatRubyStores,
                            ASecondIsRefused, LockingTwiceIsAnErrorAndTheLeaseGoesOn,
                            ItIsKeptForAsLongAsItTakes, SeveralOnOneConnectionAreAllKept,
                            AWaiterIsWokenByTheRelease, AWaiterLooksByItself, AWaiterTakesWhatExpires,
                            WaitsKeepToTheirTime, AStopEndsTheWaitAndLeavesNothing,
                            SynchronizeUnlocksHoweverItEnds, AnyBytesAreAKey, ImpossibleTimesAreRefusedAtOnce,
                            TokensGrow);

}  // namespace sublock::testing
