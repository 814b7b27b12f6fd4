// SPDX-License-Identifier: MIT

// From one process to another: a message to one that is blocked in poll, and a lock to one that is blocked
// in acquire. Contention is the same, eightfold, against what the one-way trip allows.

#include "helper.hpp"
#include "plain.hpp"
#include "row.hpp"

#include <sublock/redis_lock.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

using namespace std::chrono_literals;

constexpr auto settled_after = 10ms;  // the other one sleeps by then, and so may its CPU
constexpr auto hold = 1ms;
constexpr auto contention_span = 1s;

// --- roles -----------------------------------------------------------------------------------

/// Says when each message has arrived.
const InRole subscriber("subscriber", [](const Talk& with, const Server& server, const auto& words) {
  Plain ear(server);
  ear.command({"SUBSCRIBE", words.at(0)});
  with.say(0);
  while (with.hear()) {
    pollfd ready{ear.fd(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    ear.message();
    with.say(now_ns());
  }
});

/// Acquires whenever it is told to, and says when it had the lock.
const InRole waiter("waiter", [](const Talk& with, const Server& server, const auto& words) {
  sublock::RedisLock lock(sublock::connect(server.url()), words.at(0), {.timeout = 30s});
  lock.acquire();
  lock.release();
  with.say(0);
  while (with.hear()) {
    lock.acquire();
    const std::int64_t when = now_ns();
    lock.release();
    with.say(when);
  }
});

void keep_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  let_pass(time * 9 / 10);
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Takes the lock and holds it, over and over until the time that it is told; says how often.
const InRole contender("contender", [](const Talk& with, const Server& server, const auto& words) {
  sublock::RedisLock lock(sublock::connect(server.url()), words.at(0), {.timeout = 30s});
  lock.acquire();
  lock.release();
  with.say(0);
  while (const auto end = with.hear()) {
    std::int64_t times = 0;
    while (now_ns() < *end) {
      lock.acquire();
      keep_for(hold);
      lock.release();
      ++times;
    }
    with.say(times);
  }
});

// --- scenes ----------------------------------------------------------------------------------

class OneWay {
 public:
  explicit OneWay(const Server& server) : mouth_(server), other_(server, "subscriber", {"bench-one-way"}) {}

  double batch() {
    std::vector<double> samples;
    for (int i = 0; i < 10; ++i) {
      other_.say(0);
      let_pass(settled_after);
      const std::int64_t start = now_ns();
      mouth_.command({"PUBLISH", "bench-one-way", "x"});
      samples.push_back(static_cast<double>(other_.hear() - start) / 1000);
    }
    return median(std::move(samples));
  }

 private:
  Plain mouth_;
  Helper other_;
};

class HandOver {
 public:
  explicit HandOver(const Server& server)
      : lock_(sublock::connect(server.url()), "bench-hand-over", {.timeout = 30s}),
        other_(server, "waiter", {"bench-hand-over"}) {}

  double batch() {
    std::vector<double> samples;
    for (int i = 0; i < 10; ++i) {
      lock_.acquire();
      other_.say(0);
      let_pass(settled_after);
      const std::int64_t start = now_ns();
      lock_.release();
      samples.push_back(static_cast<double>(other_.hear() - start) / 1000);
    }
    return median(std::move(samples));
  }

 private:
  sublock::RedisLock lock_;
  Helper other_;
};

class Contention {
 public:
  explicit Contention(const Server& server) {
    for (int i = 0; i < 8; ++i) all_.push_back(std::make_unique<Helper>(server, "contender", words()));
  }

  /// How often each had the lock in that time.
  std::vector<double> served() {
    const std::int64_t end = now_ns() + std::chrono::nanoseconds(contention_span).count();
    for (const auto& one : all_) one->say(end);
    std::vector<double> times;
    for (const auto& one : all_) times.push_back(static_cast<double>(one->hear()));
    return times;
  }

 private:
  static std::vector<std::string> words() { return {"bench-contention"}; }
  std::vector<std::unique_ptr<Helper>> all_;
};

Row hand_over_row(const Server& server) {
  const auto entries = [=] {
    const auto floor = std::make_shared<OneWay>(server);
    const auto ours = std::make_shared<HandOver>(server);
    return std::vector<Entry>{{"PUBLISH to a process in poll", [floor] { return floor->batch(); }},
                              {"sublock", [ours] { return ours->batch(); }}};
  };
  return {"hand-over, release called to acquire returned", "us", at_most(1.5), 30, entries};
}

Row contention_row(const Server& server) {
  const auto entries = [=] {
    const auto one_way = std::make_shared<OneWay>(server);
    const auto all = std::make_shared<Contention>(server);
    const auto ideal = [one_way] { return 1e6 / (microseconds(hold) + one_way->batch()); };
    const auto ours = [all] {
      double sum = 0;
      for (const double times : all->served()) sum += times;
      return sum / std::chrono::duration<double>(contention_span).count();
    };
    return std::vector<Entry>{{"1 s / (1 ms + one way)", ideal}, {"sublock", ours}};
  };
  return {"8 processes, hold 1 ms", "/s", at_least(0.85), 10, entries};
}

Row fairness_row(const Server& server) {
  const auto entries = [=] {
    const auto all = std::make_shared<Contention>(server);
    return std::vector<Entry>{{"most served", [all] { return std::ranges::max(all->served()); }},
                              {"sublock", [all] { return std::ranges::min(all->served()); }}};
  };
  return {"8 processes, least served to most served", "/s", at_least(0.8), 10, entries};
}

}  // namespace

std::vector<Row> hand_over(const Server& server) {
  return {hand_over_row(server), contention_row(server), fairness_row(server)};
}

}  // namespace bench
