// SPDX-License-Identifier: MIT

// The hiredis transport and its process: fork, exec, signals, threads, and how many descriptors a
// thousand locks cost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <live/caller.hpp>
#include <sublock/transport/hiredis.hpp>
#include <support/live_redis.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;
namespace event = core::event;

std::size_t entries(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}
std::size_t descriptors() { return entries("/proc/self/fd"); }
std::size_t threads() { return entries("/proc/self/task"); }

/// Sockets, epoll and event descriptors of this process that an exec would pass on, or that are there at all.
std::vector<int> special_descriptors(bool passed_on_only) {
  std::vector<int> found;
  for (int fd = 3; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || (passed_on_only && (flags & FD_CLOEXEC) != 0)) continue;
    struct stat info = {};
    if (::fstat(fd, &info) != 0 || S_ISREG(info.st_mode) || S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode))
      continue;
    found.push_back(fd);
  }
  return found;
}

class HiredisProcess : public ::testing::Test {
 protected:
  static void open_and_join(Process& process) {
    ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
    ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("lock", response, "name"); }));
  }

  /// Runs `body` in a forked child and returns the status it exits with; 0 is good. The child must not run
  /// this test's destructors.
  template <class Body>
  int in_child(Body body) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(body());
    int status = -1;
    EXPECT_TRUE(support::eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void still_held(Process& process) {
    EXPECT_EQ(redis.subscribers("lock"), 1);
    EXPECT_NE(redis.client_id("name"), 0);
    ASSERT_TRUE(process.answered<Text>([](auto& line) { line.publish("lock", "still there?"); }));
    ASSERT_TRUE(process.answered<event::Pinged>([](auto& line) { line.ping("lock", response, "ping"); }));
    EXPECT_TRUE(process.all<event::Lost>().empty());
  }

  support::LiveRedis redis;
};

TEST_F(HiredisProcess, AForkedChildHasNoneOfItsDescriptors) {
  auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
  const auto before = special_descriptors(false);
  open_and_join(*process);
  ASSERT_GE(special_descriptors(false).size(), before.size() + 4);
  EXPECT_EQ(in_child([&] { return special_descriptors(false) == before ? 0 : 1; }), 0);
  EXPECT_TRUE(special_descriptors(true).empty());
  still_held(*process);
}

/// A line of its own that is joined, and can be destroyed by whoever wants to.
struct Held {
  explicit Held(const std::string& url) : transport(HiredisTransport::make({.url = url})) {
    std::unique_lock lock(transport->mutex());
    line = std::make_unique<HiredisTransport::Line>(transport, recorder);
    line->open();
    while (recorder.count<event::Opened>() == 0) line->wait(lock, 10s, {});
    line->join("lock", response, "name");
    while (recorder.count<event::Joined>() == 0) line->wait(lock, 10s, {});
  }
  ~Held() {
    if (!line) return;
    const std::lock_guard lock(transport->mutex());
    line.reset();
  }

  Recorder recorder;
  std::shared_ptr<HiredisTransport> transport;
  std::unique_ptr<HiredisTransport::Line> line;
};

TEST_F(HiredisProcess, AForkedChildMayUseAndDestroyWhatItInheritedToNoEffect) {
  Held held(redis.url());
  EXPECT_FALSE(held.transport->foreign());
  const long subscriptions = redis.calls("subscribe");
  EXPECT_EQ(in_child([&] {
              if (!held.transport->foreign()) return 1;
              const auto before = held.recorder.order.size();
              // Whatever still goes by an old descriptor's number now meets one of these.
              std::vector<std::array<int, 2>> pairs(16);
              for (auto& pair : pairs) {
                if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()) != 0) return 3;
              }
              std::mutex unused;
              std::unique_lock lock(unused);
              held.line->join("elsewhere", response, "child");
              held.line->publish("lock", "from the child");
              held.line->leave();
              held.line->wait(lock, 10s, {});
              held.line->close();
              held.line->open();
              held.line.reset();
              held.transport.reset();
              for (const auto& pair : pairs) {
                char byte = 0;
                for (const int end : pair) {
                  if (::recv(end, &byte, 1, 0) != -1 || errno != EAGAIN) return 4;
                }
              }
              return held.recorder.order.size() == before ? 0 : 2;
            }),
            0);
  EXPECT_EQ(redis.subscribers("lock"), 1);
  EXPECT_EQ(redis.calls("subscribe"), subscriptions);
  EXPECT_NE(redis.client_id("name"), 0);
  EXPECT_EQ(redis.calls("unsubscribe"), 0);
  const std::lock_guard lock(held.transport->mutex());
  EXPECT_EQ(held.recorder.count<event::Lost>(), 0U);
}

TEST_F(HiredisProcess, AForkedChildMayDestroyWhatAnotherThreadIsUsing) {
  Held held(redis.url());
  std::atomic<bool> ending = false;
  std::jthread busy([&] {
    while (!ending) {
      const std::lock_guard lock(held.transport->mutex());
      held.line->publish("lock", "noise");
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] {
                held.line.reset();  // the mutex may be locked here for ever
                held.transport.reset();
                return 0;
              }),
              0);
  }
  ending = true;
  busy.join();
  EXPECT_EQ(redis.subscribers("lock"), 1);
}

TEST_F(HiredisProcess, ANewConnectionWorksInAForkedChild) {
  auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
  open_and_join(*process);
  EXPECT_EQ(
      in_child([&] {
        auto transport = connect(redis.url());
        if (transport->foreign()) return 1;
        Process own(transport);
        if (!own.answered<event::Opened>([](auto& line) { line.open(); })) return 2;
        if (!own.answered<event::Joined>([](auto& line) { line.join("lock", response + "c", "child"); }))
          return 3;
        return own.last<event::Joined>().count == 2U ? 0 : 4;
      }),
      0);
  ASSERT_TRUE(support::eventually([&] { return redis.subscribers("lock") == 1; }));
  still_held(*process);
}

/// The blocked signals of the threads that call themselves the keeper.
std::vector<unsigned long long> masks_of_keepers() {
  std::vector<unsigned long long> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    const std::string text(std::istreambuf_iterator<char>(status), {});
    if (text.find("Name:\tsublock\n") == std::string::npos) continue;
    masks.push_back(std::stoull(text.substr(text.find("SigBlk:\t") + 8, 16), nullptr, 16));
  }
  return masks;
}

TEST_F(HiredisProcess, TheKeeperTakesNoSignals) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  open_and_join(process);
  // The caller reads for itself, so it may be done before the keeper has had a turn.
  ASSERT_TRUE(support::eventually([] { return masks_of_keepers().size() == 1; }));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM}) {
    EXPECT_NE(masks_of_keepers().front() >> (signal - 1) & 1, 0U) << signal;
  }
}

TEST_F(HiredisProcess, AConnectionThatNeverOpensStartsNoThreadAndOpensNothing) {
  const auto fds = descriptors();
  const auto tasks = threads();
  Process process(HiredisTransport::make({.url = redis.url()}));
  process.wait(1ms);
  EXPECT_LE(descriptors(), fds + 1);  // to be woken by
  EXPECT_EQ(threads(), tasks);
}

TEST_F(HiredisProcess, AThousandHeldLocksCostOneThreadAndADescriptorEach) {
  constexpr std::size_t locks = 1100;  // more than a select could watch
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit wide{std::max<rlim_t>(limit.rlim_cur, 4096), std::max<rlim_t>(limit.rlim_max, 4096)};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &wide), 0);
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own with the first of ours
  const auto fds = descriptors();
  const auto tasks = threads();
  {
    auto transport = HiredisTransport::make({.url = redis.url()});
    std::vector<std::unique_ptr<Process>> holders;
    for (std::size_t i = 0; i < locks; ++i) {
      holders.push_back(std::make_unique<Process>(transport));
      const std::string name = "many-" + std::to_string(i);
      ASSERT_TRUE(holders.back()->answered<event::Opened>([](auto& line) { line.open(); }));
      ASSERT_TRUE(
          holders.back()->answered<event::Joined>([&](auto& line) { line.join(name, name + "-r", name); }));
    }
    EXPECT_EQ(threads(), tasks + 1);
    EXPECT_LE(descriptors(), fds + locks + 4);
    for (std::size_t i = 0; i < locks; i += 100) {
      redis.command({"PUBLISH", "many-" + std::to_string(i), "hello"});
      ASSERT_TRUE(support::eventually([&] { return !holders[i]->all<Text>().empty(); }));
    }
    redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    for (const auto& holder : holders) {
      ASSERT_TRUE(support::eventually([&] { return !holder->all<event::Lost>().empty(); }));
    }
  }
  EXPECT_EQ(descriptors(), fds);
  ASSERT_TRUE(support::eventually([&] { return threads() == tasks; }));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST_F(HiredisProcess, IdleEarsAreKeptUpToTheirNumber) {
  auto transport = HiredisTransport::make({.url = redis.url(), .idle_ears_max = 3});
  std::vector<std::unique_ptr<Process>> callers;
  for (int i = 0; i < 6; ++i) {
    callers.push_back(std::make_unique<Process>(transport));
    ASSERT_TRUE(callers.back()->answered<event::Opened>([](auto& line) { line.open(); }));
  }
  const auto connected = [&] {
    const std::string clients = redis.command({"INFO", "clients"});
    return std::stol(clients.substr(clients.find("connected_clients:") + 18)) - 1;  // without the asker
  };
  ASSERT_TRUE(support::eventually([&] { return connected() == 7; }));
  callers.clear();
  EXPECT_TRUE(support::eventually([&] { return connected() == 4; }));
}

TEST_F(HiredisProcess, AConnectionMayDieOnItsOwnKeeper) {
  // A listener that gives up the last reference while it is told something.
  struct Last : core::Listener {
    std::shared_ptr<HiredisTransport> transport;
    std::unique_ptr<HiredisTransport::Line> line;
    std::atomic<bool> gone = false;
    void on_event(const core::Event& event) override {
      if (!std::holds_alternative<event::Message>(event)) return;
      transport.reset();
      line.reset();
      gone = true;
    }
  };
  Last last;
  {
    last.transport = HiredisTransport::make({.url = redis.url()});
    std::unique_lock lock(last.transport->mutex());
    last.line = std::make_unique<HiredisTransport::Line>(last.transport, last);
    last.line->open();
    for (int i = 0; i < 50; ++i) last.line->wait(lock, 1ms, {});
    last.line->listen("lock");
  }
  ASSERT_TRUE(support::eventually([&] { return redis.subscribers("lock") == 1; }));
  redis.command({"PUBLISH", "lock", "die"});
  ASSERT_TRUE(support::eventually([&] { return last.gone.load(); }));
  EXPECT_TRUE(support::eventually([&] { return redis.subscribers("lock") == 0; }));
}

}  // namespace
}  // namespace sublock::testing
