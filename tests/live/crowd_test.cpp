// SPDX-License-Identifier: MIT

// A thousand on one lock of a real server, and thousands of locks on one connection object: all who hold one answer in
// time, and all are told when it ends.

#include <gtest/gtest.h>
#include <live/many_locks.hpp>
#include <sublock/redis_lock.hpp>

#include <support/live_redis.hpp>

#include <cstddef>
#include <iostream>
#include <memory>
#include <vector>

namespace sublock {
namespace {

using namespace std::chrono_literals;

class LiveCrowd : public ::testing::Test {
 protected:
  static constexpr Duration patience = many::patience;
  static RedisLock::Options options() { return many::patient_options<RedisLock>(); }

  const many::ManyDescriptors descriptors;
  support::LiveRedis server;
};

TEST_F(LiveCrowd, AThousandHoldersAnswerInTime) {
  constexpr std::size_t readers = 1000;
  const auto theirs = connect(server.url());
  std::vector<std::unique_ptr<RedisLock>> locks;
  const many::Milliseconds took = many::time([&] {
    while (locks.size() < readers) {
      locks.push_back(std::make_unique<RedisLock>(theirs, "many", options()));
      locks.back()->lock_shared();
    }
  });
  EXPECT_EQ(server.calls("publish"), readers)
      << "each finds out that he may answer, and asks nobody anything";
  std::cout << readers << " readers came in " << took.count() << " ms\n";

  RedisLock writer(connect(server.url()), "many", options());
  for (int round = 0; round < 3; ++round) {
    std::size_t found = 0;
    const many::Milliseconds probed = many::time([&] { found = writer.probe(patience).size(); });
    EXPECT_EQ(found, readers);
    const many::Milliseconds refused = many::time([&] { EXPECT_FALSE(writer.try_lock()); });
    std::cout << "asked from outside in " << probed.count() << " ms, from inside in " << refused.count()
              << " ms\n";
  }
  EXPECT_EQ(server.calls("client|list"), 0) << "somebody was suspected";
  EXPECT_EQ(server.kills(), 0);
  for (const auto& lock : locks) EXPECT_TRUE(lock->held());
}

TEST_F(LiveCrowd, ManyLocksLiveOnOneConnectionObject) {
  many::expect_many_locks_on<RedisLock>(server, connect(server.url()));
}

}  // namespace
}  // namespace sublock
