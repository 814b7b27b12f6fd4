// SPDX-License-Identifier: MIT
#pragma once

// How the in-memory world passes the time in which nothing happens: for real, or by jumping. Nothing
// here knows Redis, connections or lines. Write a model of `Pacing` to schedule a simulation yourself.

#include <sublock/clock/manual.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/policies.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

namespace sublock::in_memory {

/// The wait strategy of one world. Every member is called with the world's mutex held, so no wake can
/// fall between a look and a pause.
class Pacing {
 public:
  Pacing() = default;
  Pacing(const Pacing&) = delete;
  Pacing& operator=(const Pacing&) = delete;
  virtual ~Pacing() = default;

  [[nodiscard]] virtual Instant now() const = 0;

  /// The caller waits on `line` and there is nothing to deliver. Lets go of the mutex and returns, with
  /// it held, when now() has reached `end` or `next`, when wake() was called, when a stop is requested, or
  /// early for no reason. `end` is the end of that wait; `next` is when the next thing falls due in this
  /// world, which any one of those who wait delivers for all. Instant::max() is never.
  virtual void pause(std::unique_lock<std::mutex>& world, const void* line, Instant end, Instant next,
                     const std::stop_token& stop) = 0;

  /// Events have reached `line`, which should stop pausing. Null: something new is on its way, so that
  /// somebody, anybody, should look again.
  virtual void wake(const void* line) = 0;

  /// How long the next packet travels, beside the delays set by name. A simulation draws it.
  [[nodiscard]] virtual Duration latency() { return Duration::zero(); }

  /// So many threads more, or less, will wait in this world.
  virtual void seats(int /*change*/) {}
};

/// Time passes by itself. Any number of threads may wait: each pumps for all, and wakes all.
class RealPacing final : public Pacing {
 public:
  [[nodiscard]] Instant now() const override { return SteadyClock{}.now(); }

  void pause(std::unique_lock<std::mutex>& world, const void* /*line*/, Instant end, Instant next,
             const std::stop_token& stop) override {
    const Instant until = std::min(end, next);
    const auto woken = [this, before = wakes_] { return wakes_ != before; };
    if (until == Instant::max()) {
      changed_.wait(world, stop, woken);
    } else {
      changed_.wait_until(world, stop, until, woken);
    }
  }

  void wake(const void* /*line*/) override {
    ++wakes_;
    changed_.notify_all();
  }

 private:
  std::condition_variable_any changed_;
  std::uint64_t wakes_ = 0;
};

/// Time stands still while anybody works and jumps to the next due instant when all wait.
///
/// "All" are the seats taken. With none, the world is taken for single-threaded: whoever waits makes
/// time jump at once. Threads that share such a world take a seat each, before the first of them waits;
/// then time moves only while as many threads wait as there are seats.
class ManualPacing final : public Pacing {
 public:
  explicit ManualPacing(ManualClock clock) : clock_(std::move(clock)) {}

  [[nodiscard]] Instant now() const override { return clock_.now(); }

  /// Throws std::logic_error, in every thread that pauses, when all wait without a bound for something
  /// that nothing is left to cause.
  void pause(std::unique_lock<std::mutex>& world, const void* /*line*/, Instant end, Instant next,
             const std::stop_token& stop) override {
    const std::uint64_t before = wakes_;
    const auto mine = waiting_.insert(std::min(end, next));
    if (waiting_.size() >= seats_) {
      jump(*waiting_.begin());
      // Elsewhere a thread without a seat may want the mutex; a loop of jumps must not starve it.
      world.unlock();
      std::this_thread::yield();
      world.lock();
      return;
    }
    if (!changed_.wait(world, stop, [&] { return wakes_ != before; })) {
      waiting_.erase(mine);
      return;
    }
    if (deadlock_ == before + 1) throw std::logic_error(deadlock_text);
  }

  void wake(const void* /*line*/) override {
    ++wakes_;
    waiting_.clear();  // they all run now, and time stands still until they wait again
    changed_.notify_all();
  }

  void seats(int change) override {
    seats_ += static_cast<std::size_t>(change);
    wake(nullptr);
  }

 private:
  static constexpr const char* deadlock_text =
      "deadlock in virtual time: a wait without a bound, nothing is on its way, and no thread is left to "
      "wake it. If another thread will, give each thread an InMemoryRedis::seat(); otherwise bound the "
      "wait";

  void jump(Instant next) {
    if (next == Instant::max()) deadlock_ = wakes_ + 1;
    wake(nullptr);
    if (next == Instant::max()) throw std::logic_error(deadlock_text);
    if (const Instant present = clock_.now(); next > present) clock_.advance(next - present);
  }

  ManualClock clock_;
  std::condition_variable_any changed_;
  std::uint64_t wakes_ = 0;
  std::uint64_t deadlock_ = 0;  ///< the wake that told everybody that nobody can wake them
  std::multiset<Instant> waiting_;
  std::size_t seats_ = 0;
};

}  // namespace sublock::in_memory
