// SPDX-License-Identifier: MIT

// Locks in a cluster: what the primaries have to do for each, with one of them and with three. Throughput would say
// little here: the clients need the processors that the servers should have to themselves.

#include "row.hpp"

#include <sublock/redis_cluster_lock.hpp>
#include <sublock/redis_lock.hpp>
#include <support/live_redis.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr int channels = 300;

/// Primaries without replicas, which share all slots.
class Primaries {
 public:
  explicit Primaries(std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      servers_.push_back(std::make_unique<support::LiveRedis>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-port", "0"}));
    }
    constexpr std::size_t slots = 16'384;
    for (std::size_t at = 0; at < count; ++at) {
      servers_[at]->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(at + 1)});
      servers_[at]->command({"CLUSTER", "ADDSLOTSRANGE", std::to_string(slots * at / count),
                             std::to_string(slots * (at + 1) / count - 1)});
      servers_[at]->command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(servers_[0]->port())});
    }
    for (const auto& server : servers_) {
      const auto is_well = [&] {
        const std::string info = server->command({"CLUSTER", "INFO"});
        return info.find("cluster_state:ok") != std::string::npos &&
               info.find("cluster_known_nodes:" + std::to_string(count)) != std::string::npos;
      };
      if (!support::eventually(is_well)) throw std::runtime_error("the cluster does not form");
    }
  }

  [[nodiscard]] std::string url() const {
    return "redis+cluster://127.0.0.1:" + std::to_string(servers_[0]->port());
  }

  /// Of the one that has done most, in microseconds, since it started.
  [[nodiscard]] std::vector<double> processor_time() const {
    std::vector<double> all;
    for (const auto& server : servers_) all.push_back(processor_time_of(*server));
    return all;
  }

  static double processor_time_of(support::LiveRedis& server) {
    std::istringstream info(server.command({"INFO", "CPU"}));
    double seconds = 0;
    for (std::string line; std::getline(info, line);)
      for (const char* name : {"used_cpu_sys:", "used_cpu_user:"})
        if (line.starts_with(name)) seconds += std::stod(line.substr(line.find(':') + 1));
    return 1e6 * seconds;
  }

 private:
  std::vector<std::unique_ptr<support::LiveRedis>> servers_;
};

/// Takes all locks and gives them back, again and again, and says what each time cost the busiest server.
template <class Lock>
class Round {
 public:
  explicit Round(const auto& connection) {
    for (int at = 0; at < channels; ++at) {
      locks_.push_back(std::make_unique<Lock>(connection, "{bench-" + std::to_string(at) + "}"));
      cycle(*locks_.back());
    }
  }

  double cost(auto processor_time) {
    constexpr int rounds = 10;
    const std::vector<double> before = processor_time();
    for (int round = 0; round < rounds; ++round)
      for (const auto& lock : locks_) cycle(*lock);
    const std::vector<double> after = processor_time();
    double most = 0;
    for (std::size_t at = 0; at < after.size(); ++at) most = std::max(most, after[at] - before[at]);
    return most / (rounds * channels);
  }

 private:
  static void cycle(Lock& lock) {
    lock.acquire();
    lock.release();
  }

  std::vector<std::unique_ptr<Lock>> locks_;
};

struct PlainScene {
  support::LiveRedis server;
  Round<sublock::RedisLock> round{sublock::connect(server.url())};
};

struct ClusterScene {
  explicit ClusterScene(std::size_t count)
      : primaries(count), round(sublock::connect_cluster(primaries.url())) {}
  Primaries primaries;
  Round<sublock::RedisClusterLock> round;
};

std::vector<Entry> entries() {
  const auto plain = std::make_shared<PlainScene>();
  std::vector<Entry> all{{"one server", [plain] {
                            return plain->round.cost([&] {
                              return std::vector<double>{Primaries::processor_time_of(plain->server)};
                            });
                          }}};
  for (const std::size_t count : {1U, 3U}) {
    const auto scene = std::make_shared<ClusterScene>(count);
    all.push_back({std::to_string(count) + (count == 1 ? " primary" : " primaries"),
                   [scene] { return scene->round.cost([&] { return scene->primaries.processor_time(); }); }});
  }
  return all;
}

/// The same locks by the clock, one after another.
std::vector<Entry> timed() {
  const auto plain = std::make_shared<PlainScene>();
  const auto scene = std::make_shared<ClusterScene>(3U);
  const auto time = [](auto& round) {
    constexpr int times = 10;
    return median_of(times, [&] { static_cast<void>(round.cost([] { return std::vector<double>{}; })); }) /
           (10 * channels);
  };
  return {{"one server by the clock", [=] { return time(plain->round); }},
          {"three primaries by the clock", [=] { return time(scene->round); }}};
}

}  // namespace

std::vector<Row> cluster() {
  return {{"a lock's cost to the busiest of three primaries", "us", {}, 7, entries},
          {"acquire + release in a cluster", "us", {}, 3, timed}};
}

}  // namespace bench
