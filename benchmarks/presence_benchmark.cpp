// SPDX-License-Identifier: MIT

// Finding out who is there: being refused a held lock, and asking everybody on a channel.

#include "helper.hpp"
#include "plain.hpp"
#include "row.hpp"

#include <sublock/redis_lock.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

using namespace std::chrono_literals;

constexpr int helpers_max = 4;

// --- roles -----------------------------------------------------------------------------------

/// So many plain subscribers of a channel, each of which answers every message on the channel that it
/// names.
const InRole answerers("answerers", [](const Talk& with, const Server& server, const auto& words) {
  const std::string answer(230, 'x');  // about what a holder says of itself
  std::vector<std::unique_ptr<Plain>> ears;
  Plain mouth(server);
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [epoll](int fd, std::size_t which) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = which;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  for (int left = std::stoi(words.at(1)); left > 0; --left) {
    ears.push_back(std::make_unique<Plain>(server));
    ears.back()->command({"SUBSCRIBE", words.at(0)});
    watch(ears.back()->fd(), ears.size() - 1);
  }
  watch(STDIN_FILENO, ears.size());
  with.say(0);
  for (;;) {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int at = 0; at < count; ++at) {
      const std::size_t which = events[static_cast<std::size_t>(at)].data.u64;
      if (which == ears.size()) return;
      mouth.append({"PUBLISH", ears[which]->message(), answer});
    }
    mouth.flush();
    for (int at = 0; at < count; ++at) mouth.reply();
  }
});

/// So many holders of a lock; one of them alone has it exclusively.
const InRole holders("holders", [](const Talk& with, const Server& server, const auto& words) {
  const auto connection = sublock::connect(server.url());
  const auto mode = words.at(2) == "shared" ? sublock::LockMode::shared : sublock::LockMode::exclusive;
  std::vector<std::unique_ptr<sublock::RedisLock>> locks;
  for (int left = std::stoi(words.at(1)); left > 0; --left) {
    locks.push_back(std::make_unique<sublock::RedisLock>(
        connection, words.at(0), sublock::RedisLock::Options{.mode = mode, .timeout = 60s}));
    locks.back()->acquire();
  }
  with.say(0);
  while (with.hear()) {
  }
});

// --- scenes ----------------------------------------------------------------------------------

/// `count` of a role, spread over a few processes.
std::vector<std::unique_ptr<Helper>> spread(const Server& server, const std::string& role, int count,
                                            const std::string& channel, const std::string& mode = {}) {
  std::vector<std::unique_ptr<Helper>> all;
  const int processes = std::min(count, helpers_max);
  for (int at = 0; at < processes; ++at) {
    const int share = count / processes + (at < count % processes ? 1 : 0);
    all.push_back(std::make_unique<Helper>(server, role,
                                           std::vector<std::string>{channel, std::to_string(share), mode}));
  }
  return all;
}

/// One question, and as many answers as there are answerers.
class Question {
 public:
  Question(const Server& server, int count)
      : count_(count), ear_(server), mouth_(server), others_(spread(server, "answerers", count, channel())) {
    ear_.command({"SUBSCRIBE", "bench-answers"});
  }
  void ask() {
    mouth_.command({"PUBLISH", channel(), "bench-answers"});
    for (int left = count_; left > 0; --left) ear_.message();
  }
  void ping() { mouth_.command({"PING"}); }

 private:
  static std::string channel() { return "bench-question"; }
  int count_;
  Plain ear_;
  Plain mouth_;
  std::vector<std::unique_ptr<Helper>> others_;
};

/// A lock that others hold.
class Held {
 public:
  Held(const Server& server, int count, const std::string& mode)
      : count_(count),
        others_(spread(server, "holders", count, "bench-held", mode)),
        lock_(sublock::connect(server.url()), "bench-held") {}

  void refuse() {
    if (lock_.try_lock()) throw std::runtime_error("got a lock that others hold");
  }
  void probe() {
    if (lock_.probe(1s).size() != static_cast<std::size_t>(count_))
      throw std::runtime_error("holders missing");
  }

 private:
  int count_;
  std::vector<std::unique_ptr<Helper>> others_;
  sublock::RedisLock lock_;
};

Row refusal_row(const Server& server) {
  const auto entries = [=] {
    const auto apart = std::make_shared<Placement>(server, 0, 1);
    const auto question = std::make_shared<Question>(server, 1);
    const auto held = std::make_shared<Held>(server, 1, "exclusive");
    const auto floor = [question, apart] {
      question->ping();
      question->ask();
    };
    return std::vector<Entry>{{"PING, PUBLISH and an answer", [floor] { return median_of(50, floor); }},
                              {"sublock", [held] { return median_of(50, [&] { held->refuse(); }); }}};
  };
  return {"try_lock refused, holder in another process", "us", at_most(1.5), 60, entries};
}

Row probe_row(const Server& server, int count) {
  const int times = count < 100 ? 50 : count < 1000 ? 10 : 3;
  const auto entries = [=] {
    const auto apart = std::make_shared<Placement>(server, 0, 1);
    const auto question = std::make_shared<Question>(server, count);
    const auto held = std::make_shared<Held>(server, count, "shared");
    return std::vector<Entry>{
        {"PUBLISH and as many answers", [=] { return median_of(times, [&, apart] { question->ask(); }); }},
        {"sublock", [=] { return median_of(times, [&] { held->probe(); }); }}};
  };
  return {"probe, " + std::to_string(count) + (count == 1 ? " holder" : " holders"), "us", at_most(1.3),
          count < 1000 ? 40 : 10, entries};
}

}  // namespace

std::vector<Row> presence(const Server& server) {
  return {refusal_row(server), probe_row(server, 1), probe_row(server, 10), probe_row(server, 100),
          probe_row(server, 1000)};
}

}  // namespace bench
