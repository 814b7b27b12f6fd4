// SPDX-License-Identifier: MIT

// Taking a free lock on most of three servers and giving it back, beside one on the first of them alone.

#include "row.hpp"

#include <sublock/redis_lock.hpp>
#include <sublock/redis_majority_lock.hpp>
#include <support/live_redis.hpp>

#include <array>
#include <memory>
#include <vector>

namespace bench {
namespace {

constexpr int turns = 100;

struct ThreeServers {
  std::array<support::LiveRedis, 3> servers;
  sublock::RedisLock plain{sublock::connect(servers[0].url()), "bench-one"};
  sublock::RedisMajorityLock most{{sublock::connect(servers[0].url()), sublock::connect(servers[1].url()),
                                   sublock::connect(servers[2].url())},
                                  "bench-most"};
};

Batch turn(const std::shared_ptr<ThreeServers>& scene, auto member) {
  return [scene, member] {
    return median_of(turns, [&] {
      auto& lock = (*scene).*member;
      lock.lock();
      lock.unlock();
    });
  };
}

}  // namespace

std::vector<Row> majority() {
  return {{"acquire + release, most of three servers", "us", {}, 15, [] {
             const auto scene = std::make_shared<ThreeServers>();
             return std::vector<Entry>{{"on one server", turn(scene, &ThreeServers::plain)},
                                       {"on most of three", turn(scene, &ThreeServers::most)}};
           }}};
}

}  // namespace bench
