// SPDX-License-Identifier: MIT
//
// Guarding what must not be written by two: a resource that remembers the greatest fencing token it has
// seen refuses whoever comes with a smaller one, and so a holder who has lost the lock without noticing.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

namespace {

/// A ledger with a guard at its door; a row in a database with `WHERE token <= ?` does the same.
class Ledger {
 public:
  bool write(std::int64_t token, std::string entry) {
    if (token < greatest_token_) return false;
    greatest_token_ = token;
    entry_ = std::move(entry);
    return true;
  }

  [[nodiscard]] const std::string& entry() const { return entry_; }

 private:
  std::int64_t greatest_token_ = 0;
  std::string entry_;
};

using FencedLock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                           sublock::ClientListReaper, sublock::ManualClock>;

}  // namespace

int main() {
  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);
  const auto first_process = redis.connect();
  FencedLock first(first_process, "ledger", {.fencing = true, .clock = clock});
  FencedLock second(redis.connect(), "ledger", {.fencing = true, .clock = clock});
  Ledger ledger;

  first.acquire();
  const std::int64_t old_token = first.fence_token();
  redis.wedge(*first_process);  // the process is stopped in the middle of its work

  second.acquire();  // asked twice, silent twice: its connection is killed
  std::cout << "second writes with token " << second.fence_token() << ": "
            << (ledger.write(second.fence_token(), "paid by second") ? "accepted" : "refused") << '\n';

  // The first wakes up and writes at once, before anything could have told it of its loss.
  const bool accepted = ledger.write(old_token, "paid again by first");
  std::cout << "first writes with token " << old_token << ": " << (accepted ? "accepted" : "refused") << '\n';
  redis.resume(*first_process);
  redis.pump();
  std::cout << "and then learns that it has lost: " << std::boolalpha << first.lost() << '\n';
  return !accepted && first.lost() && ledger.entry() == "paid by second" ? 0 : 1;
}
