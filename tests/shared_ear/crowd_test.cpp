// SPDX-License-Identifier: MIT

// Thousands of locks on one shared ear of a real server: two connections for all of them.

#include <gtest/gtest.h>
#include <live/many_locks.hpp>
#include <sublock/redis_shared_ear_lock.hpp>
#include <support/live_redis.hpp>

namespace sublock {
namespace {

TEST(SharedEarCrowd, ManyLocksLiveOnOneEar) {
  support::LiveRedis server;
  const many::ManyDescriptors descriptors;
  many::expect_many_locks_on<SharedEarLock>(server, connect_sharing(server.url()));
}

}  // namespace
}  // namespace sublock
