// SPDX-License-Identifier: MIT

// The lock over hiredis and a redis-server of this test's own, under the laws of all locks.

#include <hiredis/hiredis.h>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/timers.hpp>
#include <lock/use_laws.hpp>
#include <lock/waiting_laws.hpp>
#include <sublock/redis_lock.hpp>
#include <support/live_redis.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {
namespace {

class LiveWorld {
 public:
  using Transport = HiredisTransport;
  using Clock = SteadyClock;
  static constexpr bool exact = false;

  std::shared_ptr<Transport> connect() { return Transport::make(reach()); }
  [[nodiscard]] Transport::Options reach() const { return {.url = redis().url()}; }
  [[nodiscard]] Clock clock() const { return {}; }
  [[nodiscard]] Timer after(Duration span, std::function<void()> act) { return {span, std::move(act)}; }

  template <class Condition>
  bool eventually(Condition condition) {
    return support::eventually(condition);
  }

  std::size_t subscribers(const std::string& channel) {
    const std::lock_guard lock(mutex());
    return static_cast<std::size_t>(redis().subscribers(channel));
  }

  void stranger(const std::string& channel, const std::string& name = {}) {
    Stranger stranger(redisConnect("127.0.0.1", redis().port()));
    if (!name.empty()) say(*stranger, {"CLIENT", "SETNAME", name});
    say(*stranger, {"SUBSCRIBE", channel});
    strangers_.push_back(std::move(stranger));
  }

  bool is_connected(const std::string& name) {
    const std::lock_guard lock(mutex());
    return redis().client_id(name) != 0;
  }

  bool kill(const std::string& name) {
    const std::lock_guard lock(mutex());
    const std::int64_t id = redis().client_id(name);
    return id != 0 && redis().command({"CLIENT", "KILL", "ID", std::to_string(id)}) == "1";
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Stranger = std::unique_ptr<redisContext, Free>;

  static void say(redisContext& context, const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      argv.push_back(word.data());
      sizes.push_back(word.size());
    }
    void* reply = redisCommandArgv(&context, static_cast<int>(argv.size()), argv.data(), sizes.data());
    if (reply == nullptr) throw std::runtime_error("a stranger can't reach the test's redis-server");
    freeReplyObject(reply);
  }

  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  /// One server for all laws: each uses a channel of its own.
  static support::LiveRedis& redis() {
    static support::LiveRedis server;
    return server;
  }

  std::vector<Stranger> strangers_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockWaitingLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockUseLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockLossLaws, LiveWorld);

}  // namespace
}  // namespace sublock::testing
