// SPDX-License-Identifier: MIT

// What an observer is told, in which order and with which durations, in virtual time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lock/virtual_time.hpp>
#include <sublock/basic_redis_getlock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {
namespace {

using ::testing::ElementsAre;
using Kind = Observation::Kind;

class Observed : public VirtualTime {
 protected:
  /// Writes down what the locks with `observed()` tell.
  Observer record() {
    return [this](const Observation& told) {
      const std::lock_guard lock(mutex_);
      seen_.push_back(told);
    };
  }
  Options observed() {
    Options options = this->options();
    options.observer = record();
    return options;
  }

  std::vector<Observation> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    std::ranges::transform(seen(), std::back_inserter(kinds), &Observation::kind);
    return kinds;
  }
  /// The last of that kind; throws where there is none.
  Observation last(Kind kind) const {
    const auto all = seen();
    const auto found =
        std::find_if(all.rbegin(), all.rend(), [&](const auto& one) { return one.kind == kind; });
    if (found == all.rend()) throw std::logic_error("nothing of that kind: " + std::string(name_of(kind)));
    return *found;
  }

 private:
  mutable std::mutex mutex_;  // a loss is told by a thread of its own
  std::vector<Observation> seen_;
};

TEST_F(Observed, AFreeLockIsAnAttemptAHoldAndARelease) {
  Lock lock(world.connect(), channel, observed());
  lock.acquire({.mode = LockMode::shared});
  EXPECT_NE(refusal(*this->lock(), {.timeout = 4s}), "");  // which takes that long
  lock.release();
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got, Kind::released));
  EXPECT_EQ(last(Kind::got).took, Duration::zero());
  EXPECT_FALSE(last(Kind::got).by_grant);
  EXPECT_EQ(last(Kind::released).took, Duration(4s));
  for (const Observation& told : seen()) {
    EXPECT_EQ(told.name, channel);
    EXPECT_EQ(told.holder_id, lock.holder_id());
    EXPECT_EQ(told.mode, LockMode::shared);
  }
}

TEST_F(Observed, WhoWaitsIsToldSoWhileHeWaits) {
  auto held = holder();
  Lock waiter(world.connect(), channel, observed());
  std::vector<Kind> by_then;
  const auto look = world.after(1s, [&] { by_then = kinds(); });
  const auto later = world.after(5s, [&] { held.lock->release(); });
  waiter.acquire({.timeout = 1min});
  EXPECT_THAT(std::vector(by_then.begin(), by_then.begin() + 3),
              ElementsAre(Kind::attempt, Kind::probe, Kind::wait));
  EXPECT_EQ(last(Kind::wait).others.at(0).holder_id, held.lock->holder_id());
  EXPECT_EQ(last(Kind::got).took, Duration(5s));
  EXPECT_TRUE(last(Kind::got).by_grant);
  EXPECT_EQ(std::ranges::count(kinds(), Kind::wait), 1);
}

TEST_F(Observed, WhoHandsItOverIsToldSo) {
  Lock owner(world.connect(), channel, observed());
  owner.acquire();
  auto waiter = lock();
  const auto later = world.after(5s, [&] { owner.release(); });
  waiter->acquire({.timeout = 1min});
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got, Kind::handed_over));
  EXPECT_EQ(last(Kind::handed_over).took, Duration(5s));
  waiter->release();
  owner.acquire();
  owner.release();
  EXPECT_EQ(last(Kind::released).took, Duration::zero()) << "nobody waited this time";
}

TEST_F(Observed, AProbeLastsAsLongAsItsAnswersTake) {
  auto held = holder();
  const auto process = world.connect();
  Lock lock(process, channel, observed());
  world.redis->delay(*process, 30ms);
  EXPECT_FALSE(lock.try_lock());
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::probe, Kind::not_got));
  EXPECT_EQ(last(Kind::probe).took, Duration(2 * 30ms));
  EXPECT_EQ(last(Kind::not_got).code, Errc::busy);
  EXPECT_EQ(last(Kind::not_got).others.at(0).holder_id, held.lock->holder_id());
}

TEST_F(Observed, AQuestionFromOutsideIsAProbeToo) {
  auto held = holder();
  const auto process = world.connect();
  Lock lock(process, channel, observed());
  world.redis->delay(*process, 30ms);
  EXPECT_EQ(time([&] { EXPECT_EQ(lock.probe().size(), 1u); }), Duration(4 * 30ms));  // connects, and asks
  EXPECT_EQ(last(Kind::probe).took, Duration(4 * 30ms));
  EXPECT_EQ(last(Kind::probe).others.at(0).holder_id, held.lock->holder_id());
  world.redis->wedge(*held.process);
  EXPECT_EQ(error_of([&] { (void)lock.probe(2s); }), Errc::busy);
  EXPECT_EQ(last(Kind::probe).took, Duration(2s));
  EXPECT_EQ(last(Kind::probe).code, Errc::busy);
}

TEST_F(Observed, NobodyIsAmongTheOthersHimself) {
  Lock lock(world.connect(), channel, observed());
  lock.acquire();
  EXPECT_EQ(lock.probe().size(), 1u);
  EXPECT_THAT(last(Kind::probe).others, ElementsAre());
}

TEST_F(Observed, WhoCannotReachTheServerWaitsForNobody) {
  const auto process = world.connect();
  Lock lock(process, channel, observed());
  world.redis->stop();
  EXPECT_EQ(error_of([&] { lock.acquire({.timeout = 3s}); }), Errc::connect);
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::not_got));
  EXPECT_EQ(last(Kind::not_got).code, Errc::connect);
  EXPECT_EQ(last(Kind::not_got).at - last(Kind::attempt).at, last(Kind::not_got).took);
  using Getlock = BasicRedisGetlock<InMemoryTransport, ManualClock>;
  Getlock lease(process, channel, {.timeout = 3s, .observer = record(), .clock = world.clock()});
  EXPECT_EQ(error_of([&] { lease.lock(); }), Errc::connect);
  EXPECT_EQ(std::ranges::count(kinds(), Kind::wait), 0);
}

TEST_F(Observed, WhoWaitsForASilentHolderIsToldSo) {
  auto held = holder();
  world.redis->wedge(*held.process);
  world.redis->refuse("CLIENT LIST", "NOPERM");  // so nobody knows whom to put aside
  Lock waiter(world.connect(), channel, observed());
  EXPECT_NE(refusal(waiter, {.timeout = 15s}), "");
  EXPECT_EQ(std::ranges::count(kinds(), Kind::wait), 1);
}

TEST_F(Observed, AFrozenHolderIsReaped) {
  auto held = holder();
  world.redis->wedge(*held.process);
  Lock waiter(world.connect(), channel, observed());
  waiter.acquire({.timeout = 1min});
  EXPECT_NE(last(Kind::reaped).text.find(held.lock->holder_id()), std::string::npos);
  // Two questions that nobody answered, and one to those who are left: nobody.
  std::vector<Duration> probes;
  for (const Observation& told : seen())
    if (told.kind == Kind::probe) probes.push_back(told.took);
  EXPECT_THAT(probes, ElementsAre(1s, 1s, 0s));
  EXPECT_EQ(last(Kind::got).took, Duration(2s));
}

TEST_F(Observed, AStrangerIsPointedOut) {
  world.stranger(channel, "somebody");
  Lock lock(world.connect(), channel, observed());
  lock.acquire();
  EXPECT_NE(last(Kind::stranger).text, "");
  EXPECT_EQ(last(Kind::stranger).text + '\n', warnings.substr(warnings.find(": ") + 2));
}

TEST_F(Observed, ALossIsToldBeforeItsCallback) {
  std::string order;
  Options options = observed();
  options.observer = [&, record = record()](const Observation& told) {
    record(told);
    if (told.kind == Kind::lost) order += "observer ";
  };
  options.on_lost = [&](const LockLost&) { order += "on_lost"; };
  {
    Lock lock(world.connect(), channel, options);
    lock.acquire();
    world.kill(lock.client_name());
    EXPECT_TRUE(world.eventually([&] { return lock.lost(); }));
    EXPECT_FALSE(lock.release());
  }
  EXPECT_EQ(order, "observer on_lost");
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got, Kind::lost));
  EXPECT_EQ(last(Kind::lost).code, Errc::lost);
  EXPECT_NE(last(Kind::lost).text, "");
}

TEST_F(Observed, AReleaseThatNobodyConfirmsIsALoss) {
  const auto process = world.connect();
  {
    Lock lock(process, channel, observed());
    lock.acquire();
    world.redis->wedge(*process);
    EXPECT_FALSE(lock.release());
  }
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got, Kind::lost));
  EXPECT_NE(last(Kind::lost).text.find("did not confirm"), std::string::npos);
}

TEST_F(Observed, WhoGivesUpSaysWhy) {
  auto held = holder();
  Lock waiter(world.connect(), channel, observed());
  EXPECT_NE(refusal(waiter, {.timeout = 3s}), "");
  EXPECT_EQ(last(Kind::not_got).code, Errc::busy);
  EXPECT_EQ(last(Kind::not_got).took, Duration(3s));
  std::stop_source stop;
  const auto later = world.after(2s, [&] { stop.request_stop(); });
  EXPECT_EQ(error_of([&] { waiter.acquire({.timeout = 1min, .stop = stop.get_token()}); }), Errc::cancelled);
  EXPECT_EQ(last(Kind::not_got).code, Errc::cancelled);
  EXPECT_EQ(std::ranges::count(kinds(), Kind::attempt), 2);
  EXPECT_EQ(std::ranges::count(kinds(), Kind::not_got), 2);
}

TEST_F(Observed, AnObserverMayAskAndMayThrow) {
  Lock* asked = nullptr;
  bool held = false;
  Options options = this->options();
  options.observer = [&](const Observation& told) {
    if (told.kind == Kind::got) held = asked->held();
    throw std::runtime_error("the disk is full");
  };
  Lock lock(world.connect(), channel, options);
  asked = &lock;
  lock.acquire();
  EXPECT_TRUE(held);
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.release());
}

/// A reader waits outside. While he says so his question comes back unanswered: nobody is there any more, and that is for
/// him to conclude, not for the next look, which is an eighth of a second away at least.
TEST_F(Observed, WhatComesInMeanwhileIsConcludedAtOnce) {
  auto held = holder();
  Lock elsewhere(world.connect(), "elsewhere", this->options());
  elsewhere.acquire();
  Options options = this->options();
  options.observer = [&](const Observation& told) {
    if (told.kind != Kind::wait) return;
    world.kill(held.lock->client_name());
    Lock passing_time(world.connect(), "elsewhere", this->options());
    EXPECT_NE(refusal(passing_time, {.timeout = 50ms}), "");
  };
  const auto process = world.connect();
  world.redis->delay(*process, 10ms);
  Lock reader(process, channel, options);
  // Six ways there and back, the fifty, and the two of going in.
  EXPECT_LE(time([&] { reader.acquire({.mode = LockMode::shared, .timeout = 1min}); }), Duration(180ms));
}

TEST_F(Observed, NothingOvertakesWhatIsBeingTold) {
  Lock* told_of = nullptr;
  std::atomic<int> inside = 0;
  Options options = this->options();
  options.observer = [&, record = record()](const Observation& told) {
    EXPECT_EQ(++inside, 1);
    record(told);
    if (told.kind == Kind::got) {  // and is lost before this returns
      world.kill(told_of->client_name());
      EXPECT_TRUE(world.eventually([&] { return told_of->lost(); }));
    }
    --inside;
  };
  {
    Lock lock(world.connect(), channel, options);
    told_of = &lock;
    lock.acquire();
  }
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got, Kind::lost));
}

TEST_F(Observed, AnObserverThatTakesItsTimeStopsNobody) {
  auto held = holder();
  Options options = observed();
  options.observer = [&, record = record(), slow = true](const Observation& told) mutable {
    record(told);
    // Stands first in line by now, or waits outside: another one asks, and must be answered.
    if (told.kind == Kind::wait && std::exchange(slow, false)) {
      EXPECT_NE(refusal(*lock(), {.timeout = 2s}), "");
    }
  };
  Lock waiter(world.connect(), channel, options);
  const auto later = world.after(5s, [&] { held.lock->release(); });
  waiter.acquire({.timeout = 1min});
  EXPECT_EQ(last(Kind::got).took, Duration(5s));
  EXPECT_EQ(world.redis->counts().kills, 0u);
}

TEST_F(Observed, ALeaseTellsTheSame) {
  using Getlock = BasicRedisGetlock<InMemoryTransport, ManualClock>;
  Getlock first(world.connect(), channel, {.observer = record(), .clock = world.clock()});
  first.lock();
  EXPECT_THAT(kinds(), ElementsAre(Kind::attempt, Kind::got));
  Getlock second(world.connect(), channel, {.timeout = 1s, .observer = record(), .clock = world.clock()});
  EXPECT_EQ(error_of([&] { second.lock(); }), Errc::busy);
  EXPECT_EQ(kinds().at(3), Kind::probe);
  EXPECT_EQ(last(Kind::wait).others.at(0).holder_id, last(Kind::got).holder_id);
  EXPECT_EQ(last(Kind::not_got).took, Duration(1s));
  EXPECT_TRUE(first.unlock());
  EXPECT_EQ(last(Kind::released).took, Duration(1s));
  second.lock();
  world.redis->erase(channel);
  const auto other = holder();
  EXPECT_NE(refusal(*lock(), {.timeout = 2s}), "");  // which takes that long, so an extension finds out
  EXPECT_TRUE(second.lost());
  EXPECT_TRUE(world.eventually([&] { return kinds().back() == Kind::lost; }));
  EXPECT_EQ(last(Kind::lost).took, Duration(1s));
}

}  // namespace
}  // namespace sublock::testing
