// SPDX-License-Identifier: MIT
//
// Leader election: of several candidates one leads, for as long as it holds the lock; when it steps down, or its
// connection breaks, the next one leads at once.
//
//   leader_election           three candidates in one process
//   leader_election NAME      one candidate, until Ctrl-C: start several, stop them, kill -9 the one that leads

#include "support/server.hpp"

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

void pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

/// Stands for election until `quit`. `lead` is called with a token that is stopped when the lock is lost: others
/// may lead from then on. What only one may ever write needs more, see fencing_sqlite.cpp.
template <class Lock>
void stand(Lock& lock, const std::stop_token& quit, auto lead) {
  while (!quit.stop_requested()) {
    try {
      lock.with(lead, {.timeout = sublock::infinite, .stop = quit});
    } catch (const sublock::LockLost& lost) {
      std::cerr << lost.what() << '\n';  // and stands again
    } catch (const sublock::LockError& error) {
      if (error.kind() == sublock::Errc::cancelled) return;
      if (error.kind() != sublock::Errc::connect) throw;  // a wrong password is not better the next time
      std::cerr << error.what() << '\n';
      pause(1s, quit);
    }
  }
}

/// Who has led so far: one name for each term.
class History {
 public:
  /// Returns which term it is, counted from 0.
  std::size_t begin(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::cout << name << " leads" << std::endl;
    leaders_.push_back(name);
    changed_.notify_all();
    return leaders_.size() - 1;
  }

  void end(std::size_t term) {
    const std::lock_guard lock(mutex_);
    std::cout << leaders_[term] << " leads no longer" << std::endl;
    ended_.insert(term);
    changed_.notify_all();
  }

  /// Waits for it, and throws if it does not begin.
  std::string leader_of(std::size_t term) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, 30s, [&] { return leaders_.size() > term; })) return leaders_[term];
    throw std::runtime_error("nobody leads");
  }

  bool ends(std::size_t term) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return ended_.contains(term); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> leaders_;
  std::set<std::size_t> ended_;
};

/// Until `quit`; false where it can't go on.
template <class Lock>
bool be_candidate(Lock& lock, const std::string& name, History& history, const std::stop_token& quit) noexcept
    try {
  stand(lock, quit, [&](const std::stop_token& deposed) {
    const std::size_t term = history.begin(name);
    while (!deposed.stop_requested() && !quit.stop_requested()) pause(10ms, deposed);  // a bit of work
    history.end(term);
  });
  return true;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return false;
}

bool three_candidates(auto& server) {
  using Lock = typename std::remove_reference_t<decltype(server)>::Lock;
  struct Candidate {
    std::unique_ptr<Lock> lock;
    std::jthread thread;  // stopped and joined before its lock goes
  };
  History history;
  std::vector<Candidate> candidates;
  const std::string channel = examples::channel_of_our_own("leader");
  for (const std::string name : {"anna", "ben", "cleo"}) {
    auto lock = std::make_unique<Lock>(server.connect(), channel, typename Lock::Options{.label = name});
    std::jthread thread([&lock = *lock, &history, name](const std::stop_token& quit) {
      be_candidate(lock, name, history, quit);
    });
    candidates.push_back({std::move(lock), std::move(thread)});
  }
  const auto called = [&](const std::string& name) -> Candidate& {
    return candidates.at(name == "anna" ? 0 : name == "ben" ? 1 : 2);
  };

  const std::string first = history.leader_of(0);
  std::cout << "the connection of " << first << " breaks" << std::endl;
  server.cut(*called(first).lock);
  const bool first_was_told = history.ends(0);
  const std::string second = history.leader_of(1);  // the first, if it was back before anybody else had come
  std::cout << second << " is asked to stop" << std::endl;
  called(second).thread.request_stop();
  const std::string third = history.leader_of(2);
  return first_was_told && second != third;
}

int one_candidate(const std::string& name) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source quit;
  std::thread([signals, quit]() mutable {
    int number = 0;
    sigwait(&signals, &number);
    quit.request_stop();
  }).detach();
  // A lock that connects by itself does so when it is wanted: Redis may be down when we start.
  sublock::RedisLock lock("leader", {.label = name, .connection = {.url = examples::LiveServer::url()}});
  History history;
  return be_candidate(lock, name, history, quit.get_token()) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) return one_candidate(words[1]);
  return examples::on_a_server([](auto& server) { return three_candidates(server); });
}
