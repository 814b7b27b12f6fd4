// SPDX-License-Identifier: MIT

// A process that stood still while it was getting a lock: nobody is told that he has it before somebody has
// looked whether that is still so.

#include <gtest/gtest.h>
#include <lock/in_memory_worlds.hpp>
#include <sublock/basic_redis_getlock.hpp>
#include <sublock/basic_redis_lock.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;

/// An in-memory transport that says it stood still, until the next time that somebody waits.
class StallingTransport {
 public:
  struct Options {
    InMemoryRedis* server = nullptr;
  };

  template <class Inner>
  class Around : public Inner {
   public:
    Around(std::shared_ptr<StallingTransport> outer, core::Listener& listener)
        : Inner(outer->inner, listener), outer_(std::move(outer)), listener_(listener) {}

    void wait(std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
      // The keeper's first turn comes after what had arrived before.
      const bool still = outer_->stands_still && asked_;
      Inner::wait(lock, still ? Duration::zero() : at_most, std::move(stop));
      asked_ = true;
      if (!still) return;
      outer_->stands_still = false;
      listener_.on_event(core::event::Doubted{"the process stood still"});
    }

    void publish(const std::string& to, const std::string& payload) {
      if (!outer_->is_mute) Inner::publish(to, payload);
    }
    /// The keeper may be later than the caller, who waits for the same instant.
    void remind(Duration after) {
      if (!outer_->is_mute) Inner::remind(after);
    }

   private:
    std::shared_ptr<StallingTransport> outer_;
    core::Listener& listener_;
    bool asked_ = false;
  };
  using Line = Around<in_memory::Line>;
  using Desk = Around<in_memory::Desk>;

  static std::shared_ptr<StallingTransport> make(const Options& options) {
    return std::make_shared<StallingTransport>(options);
  }
  explicit StallingTransport(const Options& options) : inner(options.server->connect()) {}

  [[nodiscard]] std::mutex& mutex() const { return inner->mutex(); }
  [[nodiscard]] bool stalled() const noexcept { return stands_still; }
  [[nodiscard]] bool foreign() const noexcept { return inner->foreign(); }

  std::shared_ptr<InMemoryTransport> inner;
  bool stands_still = true;
  bool is_mute = false;
};

static_assert(LeaseTransportPolicy<StallingTransport>);

class StandstillOnTheWay : public ::testing::Test {
 protected:
  VirtualWorld world;
  std::shared_ptr<StallingTransport> process = StallingTransport::make({.server = world.redis.get()});
};

TEST_F(StandstillOnTheWay, ALockIsLookedAfterFirst) {
  BasicRedisLock<StallingTransport, LowestIdElection, ClientListReaper, ManualClock> lock(
      process, "standstill", {.clock = world.clock()});
  lock.acquire();
  EXPECT_FALSE(process->stalled());
  EXPECT_TRUE(lock.held()) << "not in doubt, whoever is told that he has it";
}

TEST_F(StandstillOnTheWay, ALockThatIsLostWhileItIsLookedAfterIsToldToBeLost) {
  process->is_mute = true;  // so what is published to look after it never comes back
  BasicRedisLock<StallingTransport, LowestIdElection, ClientListReaper, ManualClock> lock(
      process, "standstill", {.clock = world.clock()});
  lock.acquire();
  EXPECT_TRUE(lock.lost());
  EXPECT_FALSE(lock.held());
}

TEST_F(StandstillOnTheWay, ALeaseIsLookedAfterFirst) {
  BasicRedisGetlock<StallingTransport, ManualClock> lock(process, "standstill", {.clock = world.clock()});
  lock.lock();
  EXPECT_FALSE(process->stalled());
  EXPECT_TRUE(lock.held());
}

}  // namespace
}  // namespace sublock::testing
