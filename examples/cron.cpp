// SPDX-License-Identifier: MIT
//
// A cron job that fires on many machines at the same minute and runs on one of them.
//
//   cron           five machines in one process, and a sixth whose clock is late
//   cron FILE      one firing, for the crontab of every machine; FILE, on a disk that they share, is the record
//
// The lock alone is not enough: a machine with a late clock finds it free again when the job is long done. Holding
// it until even the latest clock has struck would do, but not where the holder dies meanwhile. So who has the lock
// looks into a record of the last run, which belongs where the job's results are: in its database, say.

#include "support/server.hpp"

#include <barrier>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

/// For which minute the job has run last, counted from 1970. Only to be touched by who has the lock.
class Record {
 public:
  explicit Record(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] std::int64_t minute() const {
    std::int64_t minute = -1;
    std::ifstream(path_) >> minute;
    return minute;
  }

  void set(std::int64_t minute) const {
    auto written = path_;
    written += ".new";
    if (!(std::ofstream(written) << minute << std::endl))
      throw std::runtime_error("can't write " + written.string());
    std::filesystem::rename(written, path_);
  }

 private:
  std::filesystem::path path_;
};

enum class Outcome { ran, busy, had_run };

/// Runs `job` if it is nobody else's and has not been run for that minute: the one it was scheduled for, by the clock
/// of the machine that asks, however late that is. What fails is thrown: cron sends it to somebody.
template <class Lock>
Outcome run_once(Lock& lock, const Record& record, std::int64_t minute, auto job) {
  // Where the job must run even if the first to run it dies, wait for the lock instead.
  if (!lock.try_lock()) return Outcome::busy;
  const std::unique_lock held(lock, std::adopt_lock);
  if (record.minute() >= minute) return Outcome::had_run;
  job(lock.stop_token());
  lock.ensure_held();  // or it may have run beside another
  // Behind the job: one that dies half way is run again. Put it before, and a job runs once at most.
  record.set(minute);
  return Outcome::ran;
}

bool six_machines(auto& server) {
  using Lock = typename std::remove_reference_t<decltype(server)>::Lock;
  constexpr int machines = 5;
  constexpr std::int64_t minute = 29'000'000;
  const std::string channel = examples::channel_of_our_own("nightly-import");
  const auto path = std::filesystem::temp_directory_path() / channel;
  const Record record(path);

  std::barrier all_clocks_strike(machines);
  std::vector<std::future<Outcome>> outcomes;
  for (int machine = 0; machine < machines; ++machine) {
    outcomes.push_back(std::async(std::launch::async, [&] {
      Lock lock(server.connect(), channel);
      all_clocks_strike.arrive_and_wait();
      return run_once(lock, record, minute,
                      [](const std::stop_token& /*lost*/) { std::cout << "the job runs\n"; });
    }));
  }
  int ran = 0;
  for (auto& outcome : outcomes) ran += outcome.get() == Outcome::ran ? 1 : 0;
  std::cout << ran << " of " << machines << " machines ran it\n";

  Lock late(server.connect(), channel);
  const Outcome outcome = run_once(late, record, minute, [](const std::stop_token& /*lost*/) {});
  std::cout << "one with a late clock got the lock, and "
            << (outcome == Outcome::had_run ? "saw that it had been run" : "ran it again?!") << '\n';
  std::filesystem::remove(path);
  return ran == 1 && outcome == Outcome::had_run;
}

bool one_firing(const std::string& path) {
  using namespace std::chrono;
  const examples::LiveServer server;
  sublock::RedisLock lock(server.connect(), "nightly-import", {.label = "cron"});
  const auto minute = floor<minutes>(system_clock::now()).time_since_epoch().count();
  const auto job = [](const std::stop_token& /*lost*/) { std::cout << "importing\n"; };
  switch (run_once(lock, Record(path), minute, job)) {
    case Outcome::ran: std::cout << "done\n"; break;
    case Outcome::busy: std::cout << "another machine has it\n"; break;
    case Outcome::had_run: std::cout << "has been done\n"; break;
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) return examples::exit_status([&] { return one_firing(words[1]); });
  return examples::on_a_server([](auto& server) { return six_machines(server); });
}
