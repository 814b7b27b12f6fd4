// SPDX-License-Identifier: MIT

// How the in-memory world passes time: by jumps, for real, and as a test's own pacing has it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/transport/in_memory.hpp>
#include <support/recorder.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

namespace event = core::event;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Process = Caller<InMemoryTransport>;

class VirtualTime : public ::testing::Test {
 protected:
  Duration elapsed() const { return clock.now() - start; }

  ManualClock clock;
  Instant start = clock.now();
  InMemoryRedis redis{clock};
};

TEST_F(VirtualTime, AWaitForNothingJumpsToItsEndExactly) {
  Process process(redis.connect());
  process.wait(5s);
  EXPECT_EQ(elapsed(), 5s);
  process.wait(0s);
  process.wait(-1s);
  EXPECT_EQ(elapsed(), 5s);
  process.wait(24h);
  EXPECT_EQ(elapsed(), 24h + 5s);
}

TEST_F(VirtualTime, AWaitJumpsToTheDeliveryAndNoFurther) {
  const auto transport = redis.connect();
  Process process(transport);
  redis.delay(*transport, 100ms);
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_EQ(elapsed(), 200ms);
  process.say([](auto& line) { line.join("a", "a-1", "n"); });
  process.wait(1h);
  EXPECT_EQ(elapsed(), 400ms);
  redis.publish("a", "one");
  redis.publish("a", "two");
  process.wait(1h);
  EXPECT_EQ(elapsed(), 500ms);
  EXPECT_EQ(process.all<Text>().size(), 2u) << "all there is to deliver is delivered before it returns";
}

TEST_F(VirtualTime, AWaitPassesOverWhatOthersHear) {
  const auto slow = redis.connect();
  Process other(slow);
  ASSERT_TRUE(other.answered<event::Opened>([](auto& line) { line.open(); }));
  redis.delay(*slow, 1s);
  other.say([](auto& line) { line.count("a"); });
  Process process(redis.connect());
  process.wait(10s);
  EXPECT_EQ(elapsed(), 10s);
  EXPECT_EQ(other.all<event::Counted>().size(), 1u) << "whoever waits delivers for all";
}

TEST_F(VirtualTime, AStopRequestedBeforeCostsNoTime) {
  Process process(redis.connect());
  std::stop_source stop;
  stop.request_stop();
  process.wait(5s, stop.get_token());
  EXPECT_EQ(elapsed(), 0s);
}

TEST_F(VirtualTime, AWaitThatNobodyCanEndSaysSo) {
  Process process(redis.connect());
  try {
    process.wait(Duration::max());
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("deadlock in virtual time"));
  }
  // With something on its way the same wait is fine.
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  process.say([](auto& line) { line.list(); });
  process.wait(Duration::max());
  EXPECT_EQ(process.all<event::Listed>().size(), 1u);
}

TEST_F(VirtualTime, PumpDeliversAndPassesNoTime) {
  const auto transport = redis.connect();
  Process process(transport);
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  process.say([](auto& line) { line.list(); });
  EXPECT_EQ(redis.pump(), 1u);
  EXPECT_EQ(redis.pump(), 0u);
  redis.delay(*transport, 1ms);
  process.say([](auto& line) { line.list(); });
  EXPECT_EQ(redis.pump(), 0u);
  clock.advance(1ms);
  EXPECT_EQ(redis.pump(), 0u) << "the command has arrived, its answer not";
  clock.advance(1ms);
  EXPECT_EQ(redis.pump(), 1u);
}

TEST_F(VirtualTime, WithSeatsTimeJumpsOnlyWhenEveryThreadWaits) {
  // A sleeper with a long bound, and a worker that sends after some virtual time of its own: without
  // seats the sleeper would be at its end before the worker has begun.
  Process sleeper(redis.connect());
  ASSERT_TRUE(sleeper.answered<event::Opened>([](auto& line) { line.open(); }));
  ASSERT_TRUE(sleeper.answered<event::Joined>([](auto& line) { line.join("a", "a-1", "n"); }));
  std::optional<Duration> woken;
  {
    // Both before either runs, or the first would have all of time to itself.
    auto one = redis.seat();
    auto two = redis.seat();
    std::jthread first([&, seat = std::move(one)] {
      while (sleeper.all<Text>().empty()) sleeper.wait(1h);
      woken = elapsed();
    });
    std::jthread second([&, seat = std::move(two)] {
      Process worker(redis.connect());
      for (int i = 0; i < 10; ++i) worker.wait(100ms);
      redis.publish("a", "wake up");
    });
  }
  EXPECT_EQ(woken, 1s);
}

TEST_F(VirtualTime, AThreadThatEndsLeavesTimeToTheOthers) {
  {
    // Both before either runs, or the first would have all of time to itself.
    auto one = redis.seat();
    auto two = redis.seat();
    std::jthread first([&, seat = std::move(one)] {
      Process process(redis.connect());
      process.wait(3s);
    });
    std::jthread second([&, seat = std::move(two)] {
      Process process(redis.connect());
      process.wait(1s);
    });
  }
  EXPECT_EQ(elapsed(), 3s);
}

TEST_F(VirtualTime, ADeadlockIsToldToEveryThread) {
  std::atomic<int> told = 0;
  {
    // The seats outlast the threads, so that nobody can find out from another's end.
    std::vector<InMemoryRedis::Seat> seats;
    for (int i = 0; i < 3; ++i) seats.push_back(redis.seat());
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        Process process(redis.connect());
        EXPECT_THROW(process.wait(Duration::max()), std::logic_error);
        ++told;
      });
    }
  }
  EXPECT_EQ(told, 3);
}

TEST_F(VirtualTime, AStopEndsAWaitThatHasItsSeat) {
  Process process(redis.connect());
  const auto idle = redis.seat();
  std::stop_source stop;
  std::jthread waiter([&, seat = redis.seat()] { process.wait(1h, stop.get_token()); });
  stop.request_stop();
  waiter.join();
  EXPECT_EQ(elapsed(), 0s);
}

TEST(RealTime, AWaitLastsAsLongAsItsBound) {
  InMemoryRedis redis;
  Process process(redis.connect());
  const auto start = std::chrono::steady_clock::now();
  process.wait(20ms);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
}

TEST(RealTime, ADelayedDeliveryEndsAnUnboundedWait) {
  InMemoryRedis redis;
  const auto transport = redis.connect();
  Process process(transport);
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  redis.delay(*transport, 10ms);
  const auto start = std::chrono::steady_clock::now();
  process.say([](auto& line) { line.list(); });
  process.wait(Duration::max());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
  EXPECT_EQ(process.all<event::Listed>().size(), 1u);
}

TEST(RealTime, AnotherThreadsMessageEndsAWait) {
  InMemoryRedis redis;
  const auto transport = redis.connect();
  Recorder recorder;
  std::unique_lock lock(transport->mutex());
  InMemoryTransport::Line line(transport, recorder);
  line.open();
  line.wait(lock, 10s, {});
  line.join("a", "a-1", "n");
  line.wait(lock, 10s, {});
  const auto start = std::chrono::steady_clock::now();
  // It gets the mutex only once the wait lets go of it.
  std::jthread sender([&] { redis.publish("a", "wake up"); });
  line.wait(lock, 60s, {});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(recorder.order.back(), "Message wake up");
}

TEST(RealTime, EveryThreadIsWokenByAnother) {
  // A ring: each thread waits for its predecessor's message and then sends one to its successor.
  constexpr std::size_t members = 5;
  InMemoryRedis redis;
  std::vector<std::unique_ptr<Process>> ring;
  for (std::size_t i = 0; i < members; ++i) {
    ring.push_back(std::make_unique<Process>(redis.connect()));
    const std::string name = std::to_string(i);
    ASSERT_TRUE(ring[i]->answered<event::Opened>([](auto& line) { line.open(); }));
    ASSERT_TRUE(ring[i]->answered<event::Joined>([&](auto& line) { line.join("to " + name, name, ""); }));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < members; ++i) {
      threads.emplace_back([&, i] {
        const std::string next = "to " + std::to_string((i + 1) % members);
        for (std::size_t round = 1; round <= 100; ++round) {
          while (ring[i]->all<Text>().size() < round) ring[i]->wait(100ms);
          ring[i]->say([&](auto& line) { line.publish(next, "your turn"); });
        }
      });
    }
    redis.publish("to 0", "your turn");
  }
  // The last one's last message went to the first.
  EXPECT_TRUE(ring[0]->hears<Text>(101));
}

/// Passes time like a ManualClock and keeps a diary; every packet travels 1 ms.
class DiaryPacing final : public in_memory::Pacing {
 public:
  [[nodiscard]] Instant now() const override { return clock.now(); }
  void pause(std::unique_lock<std::mutex>&, const void* line, Instant end, Instant next,
             const std::stop_token&) override {
    paused_on = line;
    clock.advance(std::min(end, next) - clock.now());
  }
  void wake(const void* line) override {
    if (line != nullptr) woken.push_back(line);
  }
  [[nodiscard]] Duration latency() override { return 1ms; }

  ManualClock clock;
  const void* paused_on = nullptr;
  std::vector<const void*> woken;
};

TEST(PacingOfOnesOwn, DecidesHowTimePassesAndHowLongPacketsTravel) {
  const auto pacing = std::make_shared<DiaryPacing>();
  InMemoryRedis redis(pacing);
  Process process(redis.connect());
  const Instant start = pacing->now();
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_EQ(pacing->now() - start, 2ms);
  ASSERT_EQ(pacing->woken.size(), 1u);
  EXPECT_EQ(pacing->woken.front(), pacing->paused_on) << "the line that paused is the one that is woken";
}

}  // namespace
}  // namespace sublock::testing
