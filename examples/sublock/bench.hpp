// SPDX-License-Identifier: MIT
#pragma once

// `sublock bench`: what a lock costs against this server, beside the least that any command costs. On a channel that
// nobody uses, for a few seconds, on a handful of connections.

#include "look.hpp"
#include "samples.hpp"
#include "server.hpp"
#include "status.hpp"
#include "talk.hpp"
#include "words.hpp"

#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace command {

inline constexpr const char* bench_usage = "Usage: sublock bench [OPTIONS] [CHANNEL]";

inline constexpr const char* bench_footer =
    "PING               the floor: one round trip\n"
    "acquire + release  a lock that nobody else wants, from asking for it to having given it back\n"
    "probe              who has it? Until the one who has it has answered\n"
    "hand-over          from letting go to the moment in which the next in line has it\n"
    "\n"
    "All of it is measured in turns, from one process, and on the machine it runs on.\n"
    "\n"
    "Exit status:\n"
    "  0    it was measured\n"
    "  1    somebody uses that channel, so that nothing was\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached, or stopped answering\n"
    "  71   the system lacks something, such as memory\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials, or a permission is missing";

/// The one who comes next: takes the lock when he is told to, says when he had it, and gives it back.
class Next {
 public:
  Next(const sublock::ConnectionOptions& options, const std::string& channel)
      : lock_(sublock::connect(options), channel, {.timeout = limit, .label = "sublock bench"}),
        thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void begin() { tell(Order::take); }

  /// When he had it. Throws what kept him from it.
  [[nodiscard]] std::chrono::steady_clock::time_point end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return order_ == Order::none; });
    if (error_) std::rethrow_exception(error_);
    return had_it_;
  }

 private:
  enum class Order { none, take };
  static constexpr std::chrono::seconds limit{10};

  void tell(Order order) {
    const std::lock_guard lock(mutex_);
    order_ = order;
    changed_.notify_all();
  }

  void serve(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return order_ == Order::take; })) return;
      lock.unlock();
      try {
        lock_.acquire({.stop = stop});
        had_it_ = std::chrono::steady_clock::now();
        lock_.release();
      } catch (...) {
        error_ = std::current_exception();
      }
      tell(Order::none);
    }
  }

  sublock::RedisLock lock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Order order_ = Order::none;
  std::chrono::steady_clock::time_point had_it_;
  std::exception_ptr error_;
  std::jthread thread_;
};

class Bench {
 public:
  Bench(const sublock::ConnectionOptions& options, const std::string& channel)
      : talk_(options),
        lock_(sublock::connect(options), channel, {.timeout = limit, .label = "sublock bench"}),
        asker_(sublock::connect(options), channel, {}),
        next_(options, channel) {}

  /// In turns, so that whatever else the machine does meets all of them alike.
  void measure(std::chrono::nanoseconds time) {
    const auto end = Clock::now() + time;
    do {
      for (int i = 0; i < 20; ++i) time_ping();
      for (int i = 0; i < 10; ++i) time_turn();
      time_probes(10);
      time_hand_over();
    } while (Clock::now() < end);
  }

  [[nodiscard]] std::vector<Samples>& results() noexcept { return all_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds limit{2};  // for what takes a few round trips

  static Microseconds since(Clock::time_point start) { return Clock::now() - start; }

  void time_ping() {
    const auto start = Clock::now();
    static_cast<void>(talk_.ask({"PING"}));
    all_[0].add(since(start));
  }

  void time_turn() {
    const auto start = Clock::now();
    lock_.acquire();
    lock_.release();
    all_[1].add(since(start));
  }

  void time_probes(int times) {
    lock_.acquire();
    for (int i = 0; i < times; ++i) {
      const auto start = Clock::now();
      static_cast<void>(asker_.probe());
      all_[2].add(since(start));
    }
    lock_.release();
  }

  void time_hand_over() {
    lock_.acquire();
    next_.begin();
    if (!sees_next()) throw sublock::LockError({sublock::Errc::busy, "the next in line did not come"});
    const auto start = Clock::now();
    lock_.release();
    all_[3].add(next_.end() - start);
  }

  /// Until he stands ready. He has been told so, as far as it has reached him, when we have asked and been
  /// answered once more.
  [[nodiscard]] bool sees_next() {
    const auto end = Clock::now() + std::chrono::seconds(5);
    int seen = 0;
    while (seen < 3 && Clock::now() < end) {
      const std::vector<Holder> there = asker_.probe();
      seen = std::ranges::count(there, sublock::HolderMode::pending, &Holder::mode) > 0 ? seen + 1 : 0;
    }
    return seen == 3;
  }

  Talk talk_;
  sublock::RedisLock lock_;
  sublock::RedisLock asker_;
  Next next_;
  std::vector<Samples> all_{Samples("PING"), Samples("acquire + release"), Samples("probe"),
                            Samples("hand-over")};
};

/// The verb.
inline int bench(const Words& words) {
  CLI::App app("Measures what a lock costs against this server.", "sublock bench");
  app.footer(bench_footer);
  Server server;
  std::string channel;
  bool as_json = false;
  double seconds = 3;
  app.add_option("CHANNEL", channel, "one that nobody uses; the default is a new one");
  app.add_option("-t,--seconds", seconds, "how long; the default is 3")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 600.0).description(""));
  app.add_flag("--json", as_json, "one object on one line, for programs");
  server.add_to(app);
  if (const auto status = parse(app, bench_usage, words)) return *status;

  const sublock::ConnectionOptions options = server.connection();
  if (channel.empty()) channel = "sublock-bench-" + sublock::core::Dice(sublock::random_seed()).fresh_id();
  const Sight sight = Lookout(options, channel).look();
  if (!sight.people.empty() || sight.silent > 0) {
    say("somebody uses '" + sublock::core::printable(channel) + "', whose turn would come later for it");
    return conflict;
  }
  Bench all(options, channel);
  all.measure(sublock::saturated(std::chrono::duration<double>(seconds)));
  if (as_json) {
    nlohmann::json results = nlohmann::json::array();
    for (Samples& samples : all.results()) results.push_back(samples.json());
    std::cout << line_of({{"channel", channel}, {"results", std::move(results)}}) << std::endl;
    return done;
  }
  std::vector<Words> rows{Samples::heading()};
  for (Samples& samples : all.results()) rows.push_back(samples.row());
  for (const std::string& line : aligned(rows)) std::cout << line << '\n';
  std::cout.flush();
  return done;
}

}  // namespace command
