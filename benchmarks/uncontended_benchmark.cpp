// SPDX-License-Identifier: MIT

// Taking a free lock and giving it back, with everything warm: beside a key that is set and deleted, and
// beside the very bytes that ours sends.

#include "plain.hpp"
#include "row.hpp"

#include <sublock/redis_lock.hpp>

#include <memory>
#include <string>

namespace bench {
namespace {

constexpr int cycles = 100;
const std::string id = "0123456789abcdef0123456789abcdef";

/// SET NX PX, and the script that compares and deletes.
class Key {
 public:
  explicit Key(const Server& server) : redis_(server) {
    const auto loaded = redis_.command({"SCRIPT", "LOAD",
                                        "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                        "redis.call('del', KEYS[1]) else return 0 end"});
    script_ = std::string(loaded->str, loaded->len);
  }
  void cycle() {
    redis_.command({"SET", "bench-key", id, "NX", "PX", "10000"});
    redis_.command({"EVALSHA", script_, "1", "bench-key", id});
  }

 private:
  Plain redis_;
  std::string script_;
};

/// What a lock sends and what it reads, by the plainest of programs.
class SameBytes {
 public:
  explicit SameBytes(const Server& server) : redis_(server) {}
  void cycle() {
    redis_.append({"MULTI"});
    redis_.append({"CLIENT", "SETNAME", "bench-lock-" + id});
    redis_.append({"SUBSCRIBE", "bench"});
    redis_.append({"SUBSCRIBE", "bench-" + id});
    redis_.append({"SUBSCRIBE", roster_});
    redis_.append({"PUBSUB", "NUMSUB", "bench"});
    redis_.append({"EXEC"});
    for (int replies = 7; replies > 0; --replies) redis_.reply();
    redis_.append({"UNSUBSCRIBE"});
    redis_.append({"CLIENT", "SETNAME", ""});
    for (int replies = 4; replies > 0; --replies) redis_.reply();
  }

 private:
  Plain redis_;
  const std::string roster_ = sublock::core::roster("bench", sublock::LockMode::exclusive);
};

struct Scene {
  Scene(const Server& server, int its, int ours) : placement(server, its, ours), key(server), same(server) {
    lock = std::make_unique<sublock::RedisLock>(sublock::connect(server.url()), "bench");
  }
  Placement placement;
  Key key;
  SameBytes same;
  std::unique_ptr<sublock::RedisLock> lock;
};

Row row(const Server& server, const std::string& where, int its, int ours) {
  const auto entries = [=] {
    const auto scene = std::make_shared<Scene>(server, its, ours);
    const auto ours_cycle = [scene] {
      scene->lock->acquire();
      scene->lock->release();
    };
    return std::vector<Entry>{
        {"SET NX PX, EVALSHA", [scene] { return median_of(cycles, [&] { scene->key.cycle(); }); }},
        {"our bytes by plain hiredis", [scene] { return median_of(cycles, [&] { scene->same.cycle(); }); }},
        {"sublock", [ours_cycle] { return median_of(cycles, ours_cycle); }}};
  };
  return {"acquire + release, " + where, "us", at_most(1.15), 100, entries};
}

}  // namespace

std::vector<Row> uncontended(const Server& server) {
  return {row(server, "all on one core", 0, 0), row(server, "server on another core", 0, 1)};
}

}  // namespace bench
