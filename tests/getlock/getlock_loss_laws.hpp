// SPDX-License-Identifier: MIT
#pragma once

// The laws of losing a lease, and of what is found under the key. The world they need is described in
// getlock_fixture.hpp.

#include <getlock/getlock_fixture.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace sublock::testing {

template <class World>
class GetlockLossLaws : public GetlockFixture<World> {
 protected:
  using Lock = typename GetlockFixture<World>::Lock;

  /// Lets time go by until `lock` knows, no longer than its next extension may take.
  void await_loss(const Lock& lock) {
    for (int glances = 0; glances < 40 && !lock.lost(); ++glances) this->pass(50ms);
    EXPECT_TRUE(lock.lost());
  }
};

TYPED_TEST_SUITE_P(GetlockLossLaws);

TYPED_TEST_P(GetlockLossLaws, AKeyThatIsDeletedIsALossAndIsNotMadeAnew) {
  std::atomic<int> told = 0;
  auto options = this->options();
  options.on_lost = [&](const LockLost&) { ++told; };
  auto lock = this->lock(options);
  lock->lock();
  const auto token = lock->stop_token();
  this->world.erase(this->key);
  EXPECT_FALSE(lock->is_self_locked());
  this->await_loss(*lock);
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(error_of([&] { lock->ensure_held(); }), Errc::lost);
  EXPECT_TRUE(this->world.eventually([&] { return told == 1 && token.stop_requested(); }));
  this->pass(1s);
  EXPECT_EQ(this->world.value(this->key), "");
  EXPECT_FALSE(lock->unlock());
  EXPECT_TRUE(lock->lost()) << "until the next lock";
  lock->lock();
  EXPECT_FALSE(lock->lost());
  EXPECT_EQ(told, 1);
}

TYPED_TEST_P(GetlockLossLaws, AnothersKeyIsNeitherExtendedNorDeleted) {
  auto lock = this->held();
  this->world.set(this->key, R"({"uuid":"another","expire_at":"9999999999.0"})", 60s);
  this->await_loss(*lock);
  EXPECT_FALSE(lock->is_self_locked());
  EXPECT_FALSE(lock->unlock());
  EXPECT_EQ(this->world.value(this->key), R"({"uuid":"another","expire_at":"9999999999.0"})");
  EXPECT_LE(this->world.left(this->key).value(), 60s);
}

TYPED_TEST_P(GetlockLossLaws, AnUnlockThatComesTooLateLeavesAnothersKeyAlone) {
  auto lock = this->held();
  this->world.set(this->key, "another's", 60s);
  EXPECT_FALSE(lock->unlock());
  EXPECT_TRUE(lock->lost());
  EXPECT_EQ(this->world.value(this->key), "another's");
}

TYPED_TEST_P(GetlockLossLaws, SynchronizeTellsOfALoss) {
  auto lock = this->lock();
  EXPECT_THROW(lock->synchronize([&] { this->world.erase(this->key); }), LockLost);
  EXPECT_FALSE(lock->held());
}

TYPED_TEST_P(GetlockLossLaws, WhateverIsThereIsRespected) {
  for (const std::string& value :
       {std::string("not json"), std::string("[]"), std::string("5"), std::string("null"), std::string(),
        std::string("{\"uuid\":\"\xff\"}"), std::string(10'000, '['),
        std::string(R"({"uuid":"a","uuid":"b","expire_at":"1.0"})"), std::string(1U << 20U, 'x')}) {
    this->world.set(this->key, value, 60s);
    auto options = this->options();
    options.timeout = 0s;
    auto lock = this->lock(options);
    EXPECT_FALSE(lock->try_lock());
    EXPECT_TRUE(lock->is_locked());
    EXPECT_FALSE(lock->is_self_locked());
    EXPECT_FALSE(lock->unlock());
    EXPECT_NE(this->refusal(*lock), "");
    EXPECT_EQ(this->world.value(this->key), value);
  }
}

TYPED_TEST_P(GetlockLossLaws, AKeyWithoutExpiryIsNamedAndNotBroken) {
  this->world.set(this->key, R"({"uuid":"dead","expire_at":"9999999999.0"})", {});
  auto options = this->options();
  options.timeout = 300ms;
  auto lock = this->lock(options);
  const std::string text = this->refusal(*lock);
  EXPECT_THAT(text, ::testing::HasSubstr("no expiry"));
  EXPECT_THAT(text, ::testing::HasSubstr("dead"));
  EXPECT_NE(this->world.value(this->key), "");
}

REGISTER_TYPED_TEST_SUITE_P(GetlockLossLaws, AKeyThatIsDeletedIsALossAndIsNotMadeAnew,
                            AnothersKeyIsNeitherExtendedNorDeleted,
                            AnUnlockThatComesTooLateLeavesAnothersKeyAlone, SynchronizeTellsOfALoss,
                            WhateverIsThereIsRespected, AKeyWithoutExpiryIsNamedAndNotBroken);

}  // namespace sublock::testing
