// SPDX-License-Identifier: MIT

// sublock as a peer: sublock-peer PORT CHANNEL. Everything but the patience of a waiter is the default.

#include "peer.hpp"

#include <sublock/redis_lock.hpp>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace {

using namespace std::chrono_literals;

class Peer {
 public:
  Peer(const std::string& port, const std::string& channel)
      : lock_(sublock::connect("redis://127.0.0.1:" + port), channel, {.timeout = 60s}) {}

  void acquire() { lock_.acquire(); }
  void release() {
    if (!lock_.release()) throw std::runtime_error("the lock had been lost");
  }
  std::string learn() {
    std::mutex mutex;
    std::unique_lock guard(mutex);
    std::condition_variable_any().wait_for(guard, lock_.stop_token(), 1s, [] { return false; });
    if (!lock_.lost()) throw std::runtime_error("nothing lost");
    return "told";
  }

 private:
  sublock::RedisLock lock_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Peer peer(argv[1], argv[2]);
  return bench::serve(peer);
}
