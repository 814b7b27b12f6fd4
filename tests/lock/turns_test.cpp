// SPDX-License-Identifier: MIT

// Eight processes that want one lock all the time, in virtual time: they take turns, and little time passes
// between one's turn and the next one's.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;

class Turns : public ::testing::Test {
 protected:
  using Lock = BasicRedisLock<InMemoryTransport, LowestIdElection, ClientListReaper, ManualClock>;

  static constexpr Duration one_way = 50us;
  static constexpr Duration hold = 1ms;
  static constexpr Duration whole = 2s;

  /// Does nothing for that long.
  void pass(const std::shared_ptr<InMemoryTransport>& process, Duration span) {
    struct : core::Listener {
      void on_event(const core::Event&) override {}
    } deaf;
    std::unique_lock lock(process->mutex());
    InMemoryTransport::Line line(process, deaf);
    const Instant end = clock.now() + span;
    while (clock.now() < end) line.wait(lock, end - clock.now(), {});
  }

  /// How often each of them had it.
  template <std::size_t processes>
  std::array<int, processes> take_turns() {
    std::array<int, processes> turns{};
    std::vector<InMemoryRedis::Seat> seats;
    for (std::size_t i = 0; i < processes; ++i) seats.push_back(redis.seat());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < processes; ++i) {
      threads.emplace_back([&, mine = &turns[i], seat = std::move(seats[i])] {
        const auto process = redis.connect();
        redis.delay(*process, one_way);
        Lock lock(process, "turns", {.clock = clock});
        while (clock.now() < start + whole) {
          lock.lock();
          ++*mine;
          pass(process, hold);
          lock.unlock();
        }
      });
    }
    threads.clear();
    return turns;
  }

  const ManualClock clock{};
  const Instant start = clock.now();
  InMemoryRedis redis{clock};
};

TEST_F(Turns, AreTakenInTheOrderInWhichTheyWereAskedFor) {
  const auto turns = take_turns<8>();
  const auto [least, most] = std::ranges::minmax(turns);
  EXPECT_GE(least, most * 8 / 10);
}

/// From one who gives it back to the server, and on to the next: two ways and no more.
TEST_F(Turns, FollowOneAnotherByOneMessage) {
  const auto turns = take_turns<8>();
  const auto all = std::accumulate(turns.begin(), turns.end(), 0);
  const auto possible = static_cast<int>(whole / (hold + 2 * one_way));
  EXPECT_GE(all, possible * 95 / 100);
  EXPECT_LE(all, possible + 8);
}

}  // namespace
}  // namespace sublock::testing
