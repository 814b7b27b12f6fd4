// SPDX-License-Identifier: MIT

// A stop at every point of an attempt. A transport of this test counts what is asked of a line and what is
// told in return, and the stop comes at the first of these points, the second, and so on until the attempt
// has ended by itself. Wherever it comes, nothing stays on the channel and the object works.

#include <gtest/gtest.h>

#include <lock/in_memory_worlds.hpp>
#include <sublock/basic_redis_lock.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto never = ~std::size_t{};

/// When to stop.
struct Countdown {
  std::size_t points = 0;  ///< that have been passed
  std::size_t stop_at = 0;
  std::stop_source stop = {};

  void pass() {
    if (points++ == stop_at) stop.request_stop();
  }
};

/// An in-memory transport whose lines count down.
class CountedTransport {
 public:
  struct Options {
    InMemoryRedis* server = nullptr;
    Countdown* countdown = nullptr;
  };
  class Line;

  static std::shared_ptr<CountedTransport> make(const Options& options) {
    return std::make_shared<CountedTransport>(options);
  }
  explicit CountedTransport(const Options& options)
      : countdown(*options.countdown), inner(options.server->connect()) {}

  [[nodiscard]] std::mutex& mutex() const { return inner->mutex(); }
  [[nodiscard]] static bool stalled() noexcept { return false; }
  [[nodiscard]] bool foreign() const noexcept { return inner->foreign(); }

  Countdown& countdown;
  std::shared_ptr<InMemoryTransport> inner;
};

class CountedTransport::Line final : core::Listener {
 public:
  Line(std::shared_ptr<CountedTransport> transport, core::Listener& listener)
      : transport_(std::move(transport)), listener_(listener), line_(transport_->inner, *this) {}

  void open(const std::string& channel) { count(), line_.open(channel); }
  void close() { line_.close(); }
  void join(const std::string& channel, const std::string& response_channel, const std::string& name,
            const core::action::Rosters& rosters) {
    count(), line_.join(channel, response_channel, name, rosters);
  }
  void listen(const std::string& channel) { count(), line_.listen(channel); }
  void leave(const std::vector<core::action::Note>& notes) { count(), line_.leave(notes); }
  void ping(const std::string& channel, const std::string& response_channel, const std::string& payload) {
    count(), line_.ping(channel, response_channel, payload);
  }
  void ask(const std::string& channel, const std::string& response_channel, const std::string& payload) {
    count(), line_.ask(channel, response_channel, payload);
  }
  void publish(const std::string& channel, const std::string& payload) {
    count(), line_.publish(channel, payload);
  }
  void count(const std::string& channel) { count(), line_.count(channel); }
  void list() { count(), line_.list(); }
  void kill(const std::vector<std::int64_t>& ids) { count(), line_.kill(ids); }
  void increment(const std::string& key) { count(), line_.increment(key); }
  void remind(Duration delay) { line_.remind(delay); }
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
    count();
    line_.wait(lock, at_most, std::move(stop));
  }

 private:
  void on_event(const core::Event& event) override {
    count();
    listener_.on_event(event);
    count();
  }
  void count() { transport_->countdown.pass(); }

  std::shared_ptr<CountedTransport> transport_;
  core::Listener& listener_;
  in_memory::Line line_;
};

static_assert(TransportPolicy<CountedTransport>);

using Lock = BasicRedisLock<CountedTransport, LowestIdElection, ClientListReaper, ManualClock>;
using Other = BasicRedisLock<InMemoryTransport, LowestIdElection, ClientListReaper, ManualClock>;

/// Who else is there, and what the attempt is for.
struct Scene {
  const char* name;
  AcquireOptions how = {.timeout = 2s};
  bool fencing = false;
  /// Sets it up; what it returns lives until the attempt has ended.
  std::function<std::shared_ptr<void>(VirtualWorld&)> others = [](VirtualWorld&) { return nullptr; };
  friend std::ostream& operator<<(std::ostream& out, const Scene& scene) { return out << scene.name; }
};

const std::string channel = "cancelled";

class Cancellation : public ::testing::TestWithParam<Scene> {
 protected:
  struct Attempt {
    std::optional<Errc> error;  ///< none: it was acquired
    bool stopped = false;       ///< the stop was requested before the attempt had ended
    Duration took{};            ///< from the start
  };

  static Attempt attempt(VirtualWorld& world, Lock& lock, Countdown& countdown, const Scene& scene) {
    Attempt attempt;
    const Instant start = world.clock().now();
    AcquireOptions how = scene.how;
    how.stop = countdown.stop.get_token();
    try {
      lock.acquire(how);
    } catch (const LockError& error) {
      attempt.error = error.kind();
    }
    attempt.stopped = countdown.stop.stop_requested();
    attempt.took = world.clock().now() - start;
    return attempt;
  }

  /// One attempt in a fresh world, stopped at that point, and one without a stop after it.
  static Attempt stop_at(std::size_t point, const Scene& scene) {
    VirtualWorld world;
    auto others = scene.others(world);
    const std::size_t before = world.subscribers(channel);
    Countdown countdown{.stop_at = point};
    Lock::Options options;
    options.connection = {.server = world.redis.get(), .countdown = &countdown};
    options.clock = world.clock();
    options.fencing = scene.fencing;
    Lock lock(channel, options);
    const Attempt first = attempt(world, lock, countdown, scene);
    const std::string where = "at point " + std::to_string(point);
    EXPECT_EQ(lock.held(), !first.error) << where;
    if (first.error) {
      EXPECT_EQ(lock.connection(), nullptr) << where;
    } else {
      EXPECT_TRUE(lock.release()) << where;
    }
    // A holder that was killed in passing may be gone; nobody may be there who wasn't.
    EXPECT_LE(world.subscribers(channel), before) << where;
    others.reset();
    countdown.stop_at = never;
    AcquireOptions again = scene.how;
    again.timeout = 1min;
    EXPECT_NO_THROW(lock.acquire(again)) << where;
    EXPECT_TRUE(lock.release()) << where;
    EXPECT_EQ(world.redis->connections().size(), world.subscribers(channel)) << where;
    return first;
  }
};

TEST_P(Cancellation, AtEveryPointLeavesNothingBehind) {
  const Scene& scene = GetParam();
  const std::optional<Errc> undisturbed = stop_at(never, scene).error;
  bool too_late = false;  // it had ended one way or the other, and was only leaving
  std::size_t points = 0;
  for (; !HasFailure(); ++points) {
    const Attempt attempt = stop_at(points, scene);
    if (!attempt.stopped) break;
    if (points == 0 && undisturbed) {
      EXPECT_EQ(attempt.error, Errc::cancelled);
    }
    if (attempt.error == Errc::cancelled) {
      EXPECT_FALSE(too_late) << "at point " << points;
    } else {
      EXPECT_EQ(attempt.error, undisturbed) << "at point " << points;
      too_late = true;
    }
  }
  EXPECT_GE(points, 7u);
}

/// A stop while it waits is heard without delay, whatever it waits for.
TEST_P(Cancellation, IsHeardAtOnce) {
  const Scene& scene = GetParam();
  for (Duration after = 0ms; after < 3s; after += 37ms) {
    VirtualWorld world;
    const auto others = scene.others(world);
    Countdown countdown{.stop_at = never};
    Lock::Options options;
    options.connection = {.server = world.redis.get(), .countdown = &countdown};
    options.clock = world.clock();
    options.fencing = scene.fencing;
    Lock lock(channel, options);
    std::optional<Instant> asked;
    const auto cue = world.after(after, [&] {
      asked = world.clock().now();
      countdown.stop.request_stop();
    });
    const auto outcome = attempt(world, lock, countdown, scene);
    if (!asked) return;  // over before
    EXPECT_EQ(outcome.error, Errc::cancelled);
    EXPECT_LE(world.clock().now() - *asked, 100ms) << after.count();
  }
}

struct Neighbour {
  std::shared_ptr<InMemoryTransport> process;
  std::unique_ptr<Other> lock;
};

Neighbour neighbour(VirtualWorld& world, LockMode mode) {
  Other::Options options;
  options.clock = world.clock();
  Neighbour other{world.connect(), nullptr};
  other.lock = std::make_unique<Other>(other.process, channel, options);
  other.lock->acquire({.mode = mode});
  return other;
}

auto held(LockMode mode) {
  return [mode](VirtualWorld& world) { return std::make_shared<Neighbour>(neighbour(world, mode)); };
}

/// Heard of again only when it is over.
std::shared_ptr<void> frozen(VirtualWorld& world, LockMode mode) {
  auto other = std::make_shared<Neighbour>(neighbour(world, mode));
  world.redis->wedge(*other->process);
  return {other.get(), [other, &world](void*) mutable {
            world.redis->resume(*other->process);
            other.reset();
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Of, Cancellation,
    ::testing::Values(
        Scene{.name = "AFreeLock"},
        Scene{.name = "AFreeLockForAReader", .how = {.mode = LockMode::shared, .timeout = 2s}},
        Scene{.name = "AFencedLock", .fencing = true},
        Scene{.name = "AHeldLock", .others = held(LockMode::exclusive)},
        Scene{.name = "AHeldLockForAReader",
              .how = {.mode = LockMode::shared, .timeout = 2s},
              .others = held(LockMode::exclusive)},
        Scene{.name = "AnAttemptWithoutWaiting", .how = {.timeout = 0s}, .others = held(LockMode::exclusive)},
        Scene{.name = "ALockWithReaders", .others = held(LockMode::shared)},
        Scene{.name = "AReadersShare",
              .how = {.mode = LockMode::shared, .timeout = 2s},
              .others = held(LockMode::shared)},
        Scene{.name = "AFrozenHolder",
              .others = [](VirtualWorld& world) { return frozen(world, LockMode::exclusive); }},
        Scene{.name = "AFrozenReader",
              .others = [](VirtualWorld& world) { return frozen(world, LockMode::shared); }},
        Scene{.name = "AStrangersChannel",
              .others =
                  [](VirtualWorld& world) {
                    world.stranger(channel);
                    return nullptr;
                  }},
        Scene{.name = "AServerThatIsGone",
              .others =
                  [](VirtualWorld& world) {
                    world.redis->stop();
                    return std::shared_ptr<void>(nullptr, [&world](void*) { world.redis->start(); });
                  }},
        Scene{.name = "AServerWithoutTransactions",
              .others =
                  [](VirtualWorld& world) {
                    world.redis->subscribe_in_multi(false);
                    return held(LockMode::exclusive)(world);
                  }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace sublock::testing
