// SPDX-License-Identifier: MIT
#pragma once

// The in-memory worlds of the lock's laws: one in real time, one in virtual time where a script says what
// happens when. No law knows which one it is in.

#include <lock/timers.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/transport/in_memory.hpp>
#include <support/eventually.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sublock::testing {

/// Time jumps to whatever is next, and what is next may be a line of a script: it runs on the thread that
/// waits, as if another process had been scheduled. So one thread can play several, and never by chance.
class ScriptedPacing final : public in_memory::Pacing {
 public:
  explicit ScriptedPacing(ManualClock clock) : clock_(std::move(clock)) {}

  /// Takes its line out of the script again, unless it was played.
  class Cue {
   public:
    Cue(ScriptedPacing& pacing, std::uint64_t number) : pacing_(&pacing), number_(number) {}
    Cue(const Cue&) = delete;
    Cue& operator=(const Cue&) = delete;
    ~Cue() { pacing_->cut(number_); }

   private:
    ScriptedPacing* pacing_;
    std::uint64_t number_;
  };

  /// `act()` runs, without the world's mutex, once somebody waits at that time. From any thread.
  [[nodiscard]] Cue at(Instant due, std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    script_.emplace(std::pair(due, ++lines_), std::move(act));
    return {*this, lines_};
  }

  [[nodiscard]] Instant now() const override { return clock_.now(); }

  void pause(std::unique_lock<std::mutex>& world, const void* /*line*/, Instant end, Instant next,
             const std::stop_token& /*stop*/) override {
    const Instant until = std::min(end, next);
    if (const auto act = take(until)) {
      world.unlock();
      act();
      world.lock();
      return;
    }
    if (until > start_ + limit) throw std::logic_error("the script is over, and somebody still waits");
    jump(until);
  }

  void wake(const void* /*line*/) override {}

 private:
  /// A test that waits for what never comes must fail, not hang.
  static constexpr Duration limit = std::chrono::minutes(15);

  std::function<void()> take(Instant until) {
    const std::lock_guard lock(mutex_);
    if (script_.empty() || script_.begin()->first.first > until) return nullptr;
    const auto next = script_.extract(script_.begin());
    jump(next.key().first);
    return next.mapped();
  }

  void cut(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::erase_if(script_, [&](const auto& line) { return line.first.second == number; });
  }

  void jump(Instant next) {
    if (const Instant present = clock_.now(); next > present) clock_.advance(next - present);
  }

  ManualClock clock_;
  const Instant start_ = clock_.now();
  std::mutex mutex_;
  std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> script_;
  std::uint64_t lines_ = 0;
};

class InMemoryWorld {
 public:
  using Transport = InMemoryTransport;

  explicit InMemoryWorld(std::unique_ptr<InMemoryRedis> server) : redis(std::move(server)) {}

  std::shared_ptr<Transport> connect() { return redis->connect(); }
  [[nodiscard]] Transport::Options reach() const { return {.server = redis.get()}; }
  std::size_t subscribers(const std::string& channel) { return redis->subscribers(channel); }
  void stranger(const std::string& channel, const std::string& name = {}) {
    redis->subscribe_stranger(channel, name);
  }
  bool is_connected(const std::string& name) { return id_of(name) != 0; }
  bool kill(const std::string& name) { return redis->kill(id_of(name)); }

  /// What is delivered in between is delivered by this thread. What threads do takes real time here too.
  template <class Condition>
  bool eventually(Condition condition) {
    return support::eventually([&] {
      redis->pump();
      return condition();
    });
  }

  std::unique_ptr<InMemoryRedis> redis;

 private:
  [[nodiscard]] std::int64_t id_of(const std::string& name) const {
    for (const auto& client : redis->connections()) {
      if (client.name == name) return client.id;
    }
    return 0;
  }
};

struct RealTimeWorld : InMemoryWorld {
  using Clock = SteadyClock;
  static constexpr bool exact = false;

  RealTimeWorld() : InMemoryWorld(std::make_unique<InMemoryRedis>()) {}

  [[nodiscard]] Clock clock() const { return {}; }
  [[nodiscard]] Timer after(Duration span, std::function<void()> act) { return {span, std::move(act)}; }
};

struct VirtualWorld : InMemoryWorld {
  using Clock = ManualClock;
  static constexpr bool exact = true;

  VirtualWorld() : VirtualWorld(ManualClock{}) {}

  [[nodiscard]] Clock clock() const { return clock_; }
  [[nodiscard]] ScriptedPacing::Cue after(Duration span, std::function<void()> act) {
    return pacing->at(clock_.now() + span, std::move(act));
  }

 private:
  explicit VirtualWorld(const ManualClock& clock)
      : VirtualWorld(clock, std::make_shared<ScriptedPacing>(clock)) {}
  VirtualWorld(const ManualClock& clock, std::shared_ptr<ScriptedPacing> scripted)
      : InMemoryWorld(std::make_unique<InMemoryRedis>(scripted)),
        pacing(std::move(scripted)),
        clock_(clock) {}

  std::shared_ptr<ScriptedPacing> pacing;
  ManualClock clock_;
};

}  // namespace sublock::testing
