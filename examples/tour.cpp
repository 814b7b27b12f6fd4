// SPDX-License-Identifier: MIT
//
// The tour: two locks, readers and a writer, and a holder that dies. On a Redis in memory, where a
// second passes in no time; with REDIS_URL set, on that server, with processes that really die.

#include <sublock/clock/manual.hpp>
#include <sublock/redis_lock.hpp>
#include <sublock/transport/in_memory.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

/// A Redis in memory, in virtual time.
class MemoryStage {
 public:
  using Lock = sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                       sublock::ClientListReaper, sublock::ManualClock>;

  [[nodiscard]] static std::string name() { return "a Redis in memory, in virtual time"; }
  [[nodiscard]] Lock::Options options(std::string label) const {
    return {.timeout = 1s, .label = std::move(label), .clock = clock_};
  }
  [[nodiscard]] auto connect() { return redis_.connect(); }
  [[nodiscard]] sublock::Instant now() const { return clock_.now(); }

  /// A process that takes the lock.
  void start_victim(const std::string& channel) {
    process_ = connect();
    victim_ = std::make_unique<Lock>(process_, channel, options("victim"));
    victim_->acquire();
  }
  void kill_victim() { redis_.crash(*process_); }

 private:
  sublock::ManualClock clock_;
  sublock::InMemoryRedis redis_{clock_};
  std::shared_ptr<sublock::InMemoryTransport> process_;
  std::unique_ptr<Lock> victim_;
};

/// A real server, and a real child process for a victim.
class LiveStage {
 public:
  using Lock = sublock::RedisLock;

  explicit LiveStage(std::string url) : url_(std::move(url)) {}
  LiveStage(const LiveStage&) = delete;
  LiveStage& operator=(const LiveStage&) = delete;
  ~LiveStage() {
    if (victim_ > 0) kill_victim();
  }

  [[nodiscard]] std::string name() const { return "the Redis server that REDIS_URL names"; }
  [[nodiscard]] static Lock::Options options(std::string label) {
    return {.timeout = 1s, .label = std::move(label)};
  }
  [[nodiscard]] auto connect() const { return sublock::connect(url_); }
  [[nodiscard]] static sublock::Instant now() { return sublock::SteadyClock().now(); }

  void start_victim(const std::string& channel) {
    int ends[2] = {};
    if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    victim_ = ::fork();
    if (victim_ == 0) hold_until_killed(channel, ends[1]);
    ::close(ends[1]);
    char word = 0;
    const bool held = ::read(ends[0], &word, 1) == 1;
    ::close(ends[0]);
    if (!held) throw std::runtime_error("the victim did not get its lock");
  }
  void kill_victim() {
    ::kill(victim_, SIGKILL);
    ::waitpid(std::exchange(victim_, -1), nullptr, 0);
  }

 private:
  [[noreturn]] void hold_until_killed(const std::string& channel, int tell) const {
    Lock lock(connect(), channel, options("victim"));
    lock.acquire();
    static_cast<void>(::write(tell, "!", 1));
    for (;;) ::pause();
  }

  std::string url_;
  pid_t victim_ = -1;
};

double milliseconds(sublock::Duration span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

template <class Stage>
int tour(Stage& stage) {
  using Lock = typename Stage::Lock;
  const std::string channel = "sublock-tour-" + std::to_string(::getpid());
  std::cout << "On " << stage.name() << ", channel " << channel << ".\n\n";

  stage.start_victim(channel + "-dies");  // forks, so before any thread of ours

  std::cout << "1. Two locks on one channel\n";
  Lock first(stage.connect(), channel, stage.options("first"));
  Lock second(stage.connect(), channel, stage.options("second"));
  first.acquire();
  std::cout << "   first holds; second tries: " << (second.try_lock() ? "got it?!" : "refused") << '\n';
  try {
    second.acquire();
  } catch (const sublock::AlreadyLocked& busy) {
    std::cout << "   second waits a second, and hears: " << busy.what() << '\n';
  }
  first.release();
  second.acquire();
  std::cout << "   first let go, second holds\n\n";
  second.release();

  std::cout << "2. Readers and a writer\n";
  Lock writer(stage.connect(), channel, stage.options("writer"));
  first.lock_shared();
  second.lock_shared();
  std::cout << "   two readers hold it together:\n";
  for (const sublock::Holder& holder : writer.probe()) std::cout << "     " << holder << '\n';
  std::cout << "   a writer tries: " << (writer.try_lock() ? "got it?!" : "refused") << '\n';
  first.unlock_shared();
  second.unlock_shared();
  writer.lock();
  std::cout << "   both have gone, the writer holds\n\n";
  writer.unlock();

  std::cout << "3. A holder dies\n";
  Lock heir(stage.connect(), channel + "-dies", stage.options("heir"));
  std::cout << "   the victim holds; the heir tries: " << (heir.try_lock() ? "got it?!" : "refused") << '\n';
  const auto killed = stage.now();
  stage.kill_victim();
  heir.acquire();
  std::cout << "   killed; the heir has it " << milliseconds(stage.now() - killed)
            << " ms later: there was nothing to wait out\n";
  heir.release();
  return 0;
}

}  // namespace

int main() {
  try {
    if (const char* url = std::getenv("REDIS_URL")) {
      LiveStage stage(url);
      return tour(stage);
    }
    MemoryStage stage;
    return tour(stage);
  } catch (const std::exception& error) {
    std::cerr << "the tour ended early: " << error.what() << '\n';
    return 1;
  }
}
