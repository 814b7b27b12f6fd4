// SPDX-License-Identifier: MIT
#pragma once

// Threads that pass a baton: one runs, until it waits, and who runs next is drawn from the seed. When all
// wait, time jumps to whatever is due next. So a run with threads repeats to the last step. Knows no lock.

#include <seeded/chance.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory/pacing.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace sublock::testing {

/// Everything but `run` is for the runners' own threads, and so never happens twice at once.
class BatonPacing final : public in_memory::Pacing {
 public:
  BatonPacing(ManualClock clock, Chance chance) : clock_(std::move(clock)), chance_(chance) {}

  /// Runs each body on a thread of its own until all have returned. A body that throws ends the program.
  void run(std::vector<std::function<void()>> bodies) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      runners_.push_back(std::make_unique<Runner>());
      runners_.back()->number = i;
    }
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      threads.emplace_back([this, i, body = std::move(bodies[i])] {
        Runner& me = *runners_[i];
        current() = &me;
        await(me);
        body();
        me.has_ended = true;
        if (Runner* next = choose()) hand_to(*next);
      });
    }
    hand_to(*choose());
    threads.clear();  // waits for all
    runners_.clear();
    turn_ = nullptr;
  }

  /// The runner's own time passes; zero lets others go first, maybe.
  void sleep(Duration span) {
    Runner& me = *current();
    me.due = core::saturating_add(clock_.now(), span);
    yield(me);
  }

  /// What runs in a frozen process; the one who freezes it must not be in it.
  void freeze(std::size_t number, bool frozen) { runners_[number]->is_frozen = frozen; }

  /// Requests a stop when that time has come, whoever runs then.
  void stop_at(Instant due, std::stop_source source) { alarms_.emplace(due, std::move(source)); }

  /// How long each packet travels; at once where it is empty.
  std::function<Duration()> journey;

  /// Takes part in the hash of the run.
  void note(std::uint64_t word) { trace_.add(word); }
  [[nodiscard]] std::uint64_t trace() const { return trace_.hash(); }

  // --- the world's side, see Pacing ----------------------------------------------------------------

  [[nodiscard]] Instant now() const override { return clock_.now(); }

  void pause(std::unique_lock<std::mutex>& world, const void* line, Instant end, Instant next,
             const std::stop_token& stop) override {
    next_ = next;
    has_news_ = false;
    Runner& me = *current();
    me.line = line;
    me.due = end;
    me.stop = stop;
    Runner& chosen = *choose();
    if (&chosen != &me) {
      world.unlock();
      hand_to(chosen);
      await(me);
      world.lock();
    }
    me.line = nullptr;
    me.is_awake = false;
    me.stop = {};
  }

  void wake(const void* line) override {
    if (line == nullptr) has_news_ = true;
    for (const auto& runner : runners_) {
      if (line != nullptr && runner->line == line) runner->is_awake = true;
    }
  }

  [[nodiscard]] Duration latency() override {
    const Duration journey_time = journey ? journey() : Duration::zero();
    trace_.add(static_cast<std::uint64_t>(journey_time.count()));
    return journey_time;
  }

 private:
  struct Runner {
    std::size_t number = 0;
    bool has_ended = false;
    bool is_frozen = false;
    bool is_awake = false;       // its line has heard something
    const void* line = nullptr;  // on which it waits in the world; null: it sleeps
    Instant due = Instant::min();
    std::stop_token stop;
    std::condition_variable turn;
  };

  static Runner*& current() {
    thread_local Runner* runner = nullptr;
    return runner;
  }

  void yield(Runner& me) {
    Runner& chosen = *choose();
    if (&chosen == &me) return;
    hand_to(chosen);
    await(me);
  }

  void hand_to(Runner& next) {
    const std::lock_guard lock(mutex_);
    turn_ = &next;
    next.turn.notify_one();
  }

  void await(Runner& me) {
    std::unique_lock lock(mutex_);
    me.turn.wait(lock, [&] { return turn_ == &me; });
  }

  /// Who runs next; null when all have ended. Time may jump.
  Runner* choose() {
    for (;;) {
      std::vector<Runner*> ready;
      std::vector<Runner*> looking;
      Instant jump = Instant::max();
      bool all_ended = true;
      for (const auto& runner : runners_) {
        if (runner->has_ended) continue;
        all_ended = false;
        if (runner->is_frozen) continue;
        if (runner->is_awake || runner->due <= now() || runner->stop.stop_requested()) {
          ready.push_back(runner.get());
        }
        if (runner->line != nullptr) looking.push_back(runner.get());
        jump = std::min(jump, runner->due);
      }
      if (all_ended) return nullptr;
      // Something is on its way, or has come: any one of those who wait in the world delivers it.
      if (ready.empty() && (has_news_ || next_ <= now())) ready = looking;
      if (!looking.empty()) jump = std::min(jump, next_);
      if (!ready.empty()) {
        Runner* chosen = chance_.of(ready);
        trace_.add(chosen->number);
        trace_.add(now());
        return chosen;
      }
      if (!alarms_.empty()) jump = std::min(jump, alarms_.begin()->first);
      if (jump == Instant::max()) throw std::logic_error("deadlock: nobody is left to wake anybody");
      if (jump > now()) clock_.advance(jump - now());
      while (!alarms_.empty() && alarms_.begin()->first <= now()) {
        alarms_.extract(alarms_.begin()).mapped().request_stop();
      }
    }
  }

  ManualClock clock_;
  Chance chance_;
  Trace trace_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::multimap<Instant, std::stop_source> alarms_;
  Instant next_ = Instant::max();  // when something falls due in the world
  bool has_news_ = false;          // since somebody looked
  std::mutex mutex_;
  Runner* turn_ = nullptr;
};

}  // namespace sublock::testing
