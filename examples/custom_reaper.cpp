// SPDX-License-Identifier: MIT
//
// A reaper of one's own: one that never kills a holder of the protocol before ids, because nobody can
// tell which of them it would hit. Whom a reaper spares keeps the lock; he is never taken for a stranger.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <iostream>
#include <vector>

namespace {

struct SpareTheNamelessReaper {
  static constexpr bool asks = true;

  [[nodiscard]] sublock::Diagnosis examine(const sublock::Silence& silence) const {
    sublock::Diagnosis diagnosis = sublock::ClientListReaper().examine(silence);
    std::erase_if(diagnosis.suspects, [](const auto& suspect) { return suspect.holder_id.empty(); });
    return diagnosis;
  }
};

static_assert(sublock::ReaperPolicy<SpareTheNamelessReaper>);

using PatientLock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                            SpareTheNamelessReaper, sublock::ManualClock>;

}  // namespace

int main() {
  using namespace std::chrono_literals;
  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);

  // A wedged holder with an id is killed, after it was asked twice.
  auto wedged_process = redis.connect();
  PatientLock wedged(wedged_process, "printer", {.clock = clock});
  wedged.acquire();
  redis.wedge(*wedged_process);
  PatientLock lock(redis.connect(), "printer", {.clock = clock});
  const auto before = clock.now();
  lock.acquire();
  std::cout << "took over from a wedged holder after "
            << std::chrono::duration<double>(clock.now() - before).count() << " s\n";
  lock.release();

  // One without an id is left alone.
  redis.subscribe_stranger("printer", lock.legacy_client_name());
  const bool got_it = lock.try_lock_for(10s);
  std::cout << "a silent holder of the old protocol was " << (got_it ? "ignored" : "spared") << '\n';
  return got_it ? 1 : 0;
}
