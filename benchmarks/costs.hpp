// SPDX-License-Identifier: MIT
#pragma once

// What an operation costs apart from time: round trips, commands, messages, allocations. Counted on a Redis
// in memory, so that the figures are exact, the same everywhere, and a test can pin them.

#include "allocations.hpp"

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/core/participant.hpp>
#include <sublock/core/wire.hpp>
#include <sublock/transport/in_memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Cost {
  std::string what{};
  std::size_t round_trips = 0;  ///< writes to the server, those of holders that answer included
  std::size_t commands = 0;
  std::size_t messages = 0;     ///< copies that the server sends to subscribers
  std::size_t allocations = 0;  ///< on both sides, the server being in the same memory

  friend bool operator==(const Cost&, const Cost&) = default;
};

/// A server, somebody who holds a lock there, and somebody else; time passes only where both wait.
class InMemoryScene {
 public:
  using Lock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                       sublock::ClientListReaper, sublock::ManualClock>;

  InMemoryScene(std::size_t holders, sublock::LockMode mode) {
    for (std::size_t at = 0; at < holders; ++at) {
      others_.push_back(make(mode));
      others_.back()->acquire();
    }
  }

  [[nodiscard]] Lock& lock() { return *lock_; }

  /// The median of many times, since a container now and then grows.
  [[nodiscard]] Cost cost_of(std::string what, const std::function<void(Lock&)>& act) {
    act(*lock_);  // connects
    std::vector<std::size_t> allocated;
    const auto before = redis_.counts();
    for (std::size_t i = 0; i < times; ++i) {
      const std::size_t then = allocations;
      act(*lock_);
      allocated.push_back(allocations - then);
    }
    const auto after = redis_.counts();
    std::ranges::sort(allocated);
    return {std::move(what), (after.requests - before.requests) / times,
            (after.commands - before.commands) / times, (after.messages - before.messages) / times,
            allocated[times / 2]};
  }

 private:
  static constexpr std::size_t times = 11;

  std::unique_ptr<Lock> make(sublock::LockMode mode) {
    Lock::Options options;
    options.mode = mode;
    options.clock = clock_;
    return std::make_unique<Lock>(redis_.connect(), "bench", options);
  }

  sublock::ManualClock clock_;
  sublock::InMemoryRedis redis_{clock_};
  std::vector<std::unique_ptr<Lock>> others_;
  std::unique_ptr<Lock> lock_ = make(sublock::LockMode::exclusive);
};

/// One ping answered by a holder: the core alone, from the bytes that came to the bytes that go.
class CoreStep {
 public:
  CoreStep() {
    sublock::core::Request request;
    request.deadline = sublock::core::Instant::max();
    participant_.acquire(request, now_, actions_);
    participant_.on(sublock::core::event::Opened{}, now_, actions_);
    participant_.on(sublock::core::event::Joined{1}, now_, actions_);
    actions_.clear();
    sublock::core::Ping ping;
    ping.response_channel = "bench-" + std::string(32, 'b');
    ping.sublock = true;
    ping.from.holder_id = std::string(32, 'b');
    payload_ = sublock::core::encode(ping);
  }

  /// The answer's bytes, as a check that there is one.
  std::size_t step() {
    participant_.on(sublock::core::event::Message{"bench", payload_}, now_, actions_);
    const std::size_t size = std::get<sublock::core::action::Publish>(actions_.back()).payload.size();
    actions_.clear();
    return size;
  }

  /// Only the encoding of that answer.
  [[nodiscard]] std::size_t encode() const { return sublock::core::encode_reply(holder_).size(); }

  [[nodiscard]] static Cost cost_of(std::string what, const std::function<void()>& act) {
    act();
    const std::size_t before = allocations;
    act();
    return {.what = std::move(what), .allocations = allocations - before};
  }

 private:
  using Participant = sublock::core::Participant<sublock::LowestIdElection, sublock::ClientListReaper,
                                                 sublock::core::rules_of<sublock::LowestIdElection>>;

  static sublock::core::Identity identity() {
    return {"bench", std::string(32, 'a'), "host", 4711, "label", 0};
  }
  static sublock::Holder holder() {
    sublock::Holder self;
    self.holder_id = identity().holder_id;
    self.mode = sublock::HolderMode::exclusive;
    self.elected = true;
    self.sublock = true;
    self.host = identity().host;
    self.pid = identity().pid;
    self.label = identity().label;
    self.held_for = std::chrono::milliseconds(0);
    return self;
  }

  const sublock::core::Instant now_{};
  Participant participant_{identity(), sublock::core::Dice({1, 2})};
  std::vector<sublock::core::Action> actions_;
  std::string payload_;
  const sublock::Holder holder_ = holder();
};

[[nodiscard]] inline std::vector<Cost> costs() {
  using Lock = InMemoryScene::Lock;
  std::vector<Cost> all;
  const auto in_memory = [&all](std::string what, std::size_t holders, sublock::LockMode mode,
                                const std::function<void(Lock&)>& act) {
    all.push_back(InMemoryScene(holders, mode).cost_of(std::move(what), act));
  };
  const auto cycle = [](Lock& lock) {
    lock.acquire();
    lock.release();
  };
  const auto probe = [](Lock& lock) { static_cast<void>(lock.probe()); };
  const auto refused = [](Lock& lock) { static_cast<void>(lock.try_lock()); };
  in_memory("acquire + release, free", 0, sublock::LockMode::exclusive, cycle);
  in_memory("try_lock, held", 1, sublock::LockMode::exclusive, refused);
  for (const std::size_t holders : {1U, 10U, 100U}) {
    in_memory("probe, holders: " + std::to_string(holders), holders, sublock::LockMode::shared, probe);
  }
  CoreStep core;
  all.push_back(CoreStep::cost_of("core alone, one ping answered", [&] { core.step(); }));
  all.push_back(
      CoreStep::cost_of("  of these, encoding the answer", [&] { static_cast<void>(core.encode()); }));
  return all;
}

}  // namespace bench
