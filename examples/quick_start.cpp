// SPDX-License-Identifier: MIT
//
// The first code of the README. Needs a Redis server: REDIS_URL, or the default one.

#include <sublock/redis_lock.hpp>

#include <cstdlib>
#include <iostream>
#include <mutex>

namespace {

void import_everything(const std::stop_token& lost) {
  std::cout << "importing, and " << (lost.stop_requested() ? "the lock is lost\n" : "nobody else is\n");
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  const char* url = std::getenv("REDIS_URL");
  // quick start
  sublock::RedisLock lock(sublock::connect(url ? url : "redis://127.0.0.1:6379"), "nightly-import",
                          {.timeout = 30s, .label = "importer"});
  try {
    lock.with([](std::stop_token lost) { import_everything(lost); });
  } catch (const sublock::AlreadyLocked& busy) {
    std::cerr << busy.what() << '\n';  // … held by exclusive 3f2a… (host web-3, pid 812, label "importer", …)
  }
  // end of quick start
}
