// SPDX-License-Identifier: MIT

// A thousand locks held by one process: its memory, beside that of a thousand plain subscribers.

#include "helper.hpp"
#include "plain.hpp"
#include "row.hpp"

#include <sublock/redis_lock.hpp>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr int locks_held = 1000;

long status_of_this_process(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long number = 0;
    if (word == key + ':' && status >> number) return number;
  }
  throw std::runtime_error("no " + key);
}

/// Says by how many kB `make`, called for each number, lets this process grow.
template <class Make>
void grow(const Talk& with, Make&& make) {
  make(0);  // what is there once stays out of the account
  const long before = status_of_this_process("VmRSS");
  for (int i = 1; i <= locks_held; ++i) make(i);
  with.say(0);
  with.say(status_of_this_process("VmRSS") - before);
  static_cast<void>(with.hear());
}

const InRole plain_subscribers("plain subscribers", [](const Talk& with, const Server& server, const auto&) {
  std::vector<std::unique_ptr<Plain>> all;
  grow(with, [&](int i) {
    all.push_back(std::make_unique<Plain>(server));
    all.back()->command({"SUBSCRIBE", "bench-plain-" + std::to_string(i)});
  });
});

const InRole many_locks_held("many locks", [](const Talk& with, const Server& server, const auto&) {
  const auto connection = sublock::connect(server.url());
  std::vector<std::unique_ptr<sublock::RedisLock>> all;
  grow(with, [&](int i) {
    all.push_back(std::make_unique<sublock::RedisLock>(connection, "bench-many-" + std::to_string(i)));
    all.back()->acquire();
    if (status_of_this_process("Threads") != 2)
      throw std::runtime_error("more than one thread beside main's");
  });
});

}  // namespace

std::vector<Row> many_locks(const Server& server) {
  const auto growth = [=](const std::string& role) {
    return [=] { return static_cast<double>(Helper(server, role, {}).hear()); };
  };
  const auto entries = [=] {
    return std::vector<Entry>{{"plain subscribers", growth("plain subscribers")},
                              {"sublock", growth("many locks")}};
  };
  return {{"1,000 locks held by one process and thread", "kB", at_most(1.3), 5, entries}};
}

}  // namespace bench
