// SPDX-License-Identifier: MIT

// A thousand on one lock of a real server: all who hold it answer in time, so that nobody is suspected of anything.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sublock/redis_lock.hpp>

#include <support/live_redis.hpp>
#include <support/sanitized.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {
namespace {

using namespace std::chrono_literals;

/// More descriptors than a shell gives, for as long as this lives.
class ManyDescriptors {
 public:
  ManyDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit_), 0);
    const rlimit wide{std::max<rlim_t>(limit_.rlim_cur, 4096), std::max<rlim_t>(limit_.rlim_max, 4096)};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &wide), 0);
  }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;
  ~ManyDescriptors() { ::setrlimit(RLIMIT_NOFILE, &limit_); }

 private:
  rlimit limit_{};
};

class LiveCrowd : public ::testing::Test {
 protected:
  using Span = std::chrono::duration<double, std::milli>;

  /// The default of the library, on a machine that is not slowed down.
  static constexpr Duration patience =
      std::chrono::milliseconds(static_cast<std::int64_t>(support::within(1) * 1000));

  static RedisLock::Options options() {
    RedisLock::Options options;
    options.timeout = 100s;
    options.unavailable_timeout = patience;
    options.on_warning = [](std::string_view text) { ADD_FAILURE() << text; };
    return options;
  }

  template <class Act>
  static Span time(Act act) {
    const auto start = std::chrono::steady_clock::now();
    act();
    return std::chrono::steady_clock::now() - start;
  }

  const ManyDescriptors descriptors;
  support::LiveRedis server;
};

TEST_F(LiveCrowd, AThousandHoldersAnswerInTime) {
  constexpr std::size_t readers = 1000;
  const auto theirs = connect(server.url());
  std::vector<std::unique_ptr<RedisLock>> locks;
  const Span took = time([&] {
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
    const Span probed = time([&] { found = writer.probe(patience).size(); });
    EXPECT_EQ(found, readers);
    const Span refused = time([&] { EXPECT_FALSE(writer.try_lock()); });
    std::cout << "asked from outside in " << probed.count() << " ms, from inside in " << refused.count()
              << " ms\n";
  }
  EXPECT_EQ(server.calls("client|list"), 0) << "somebody was suspected";
  EXPECT_EQ(server.kills(), 0);
  for (const auto& lock : locks) EXPECT_TRUE(lock->held());
}

}  // namespace
}  // namespace sublock
