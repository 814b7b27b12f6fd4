// SPDX-License-Identifier: MIT
//
// An election of one's own: of the writers that wait for readers to drain, the one with the highest
// priority goes first. Every process on the channel must hold the same election.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <iostream>
#include <tuple>

namespace {

/// A strict total order on what a participant announces, and on nothing else: ids break ties.
struct HighestPriorityElection {
  [[nodiscard]] bool before(const sublock::Candidate& a, const sublock::Candidate& b) const noexcept {
    return std::tie(b.priority, a.holder_id) < std::tie(a.priority, b.holder_id);
  }
};

static_assert(sublock::ElectionPolicy<HighestPriorityElection>);

using PriorityLock = sublock::BasicRedisLock<sublock::InMemoryTransport, HighestPriorityElection,
                                             sublock::ClientListReaper, sublock::ManualClock>;

}  // namespace

int main() {
  const HighestPriorityElection election;
  const sublock::Candidate report{.holder_id = "00", .priority = 1};
  const sublock::Candidate payment{.holder_id = "ff", .priority = 9};
  const bool payment_first = election.before(payment, report) && !election.before(report, payment);
  std::cout << "first in line: " << (payment_first ? "payment" : "report") << '\n';

  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);
  PriorityLock lock(redis.connect(), "ledger", {.label = "payment", .priority = 9, .clock = clock});
  lock.acquire();
  const sublock::Holder holder = lock.probe().front();  // the priority travels with every answer
  std::cout << holder << ", priority " << holder.priority << '\n';
  return payment_first && holder.priority == 9 && lock.release() ? 0 : 1;
}
