// SPDX-License-Identifier: MIT

// A lock is given back once, however what ran under it ended: by then it may be another thread's.

#include <gtest/gtest.h>
#include <sublock/with_lock.hpp>

#include <stdexcept>
#include <stop_token>

namespace sublock::detail {
namespace {

struct CountingLock {
  [[nodiscard]] std::stop_token stop_token() const { return {}; }
  void ensure_held() const { throw std::runtime_error("lost"); }

  bool held = true;
  int releases = 0;
};

bool release(CountingLock* lock) {
  ++lock->releases;
  return lock->held;
}

TEST(WithLock, GivesItBackOnce) {
  CountingLock lock;
  with_lock(lock, release, [] {});
  EXPECT_EQ(lock.releases, 1);
  EXPECT_EQ(with_lock(lock, release, [](std::stop_token) { return 7; }), 7);
  EXPECT_EQ(lock.releases, 2);
  EXPECT_THROW(with_lock(lock, release, [] { throw std::logic_error("body"); }), std::logic_error);
  EXPECT_EQ(lock.releases, 3);
  lock.held = false;
  EXPECT_THROW(with_lock(lock, release, [] {}), std::runtime_error);
  EXPECT_EQ(lock.releases, 4);
}

}  // namespace
}  // namespace sublock::detail
