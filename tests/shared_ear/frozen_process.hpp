// SPDX-License-Identifier: MIT
#pragma once

// A process of its own that takes locks by one shared ear, and stands still.

#include <sublock/redis_shared_ear_lock.hpp>
#include <support/standstill.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sublock::testing {

class FrozenProcess {
 public:
  /// Holds all of `channels` when this returns. Forks, so nobody may have a thread yet that matters to the child.
  FrozenProcess(const std::string& url, const std::vector<std::string>& channels) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      hold(url, channels, ends[1]);
      ::_exit(1);
    }
    ::close(ends[1]);
    char word = 0;
    pollfd poll{ends[0], POLLIN, 0};
    const bool holds = ::poll(&poll, 1, 10'000) == 1 && ::read(ends[0], &word, 1) == 1;
    ::close(ends[0]);
    if (!holds) throw std::runtime_error("the other process does not get its locks");
    if (!support::stop_and_wait(pid_)) throw std::runtime_error("the other process does not stand still");
  }
  FrozenProcess(const FrozenProcess&) = delete;
  FrozenProcess& operator=(const FrozenProcess&) = delete;
  ~FrozenProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  static void hold(const std::string& url, const std::vector<std::string>& channels, int out) {
    const auto connection = connect_sharing(url);
    std::vector<std::unique_ptr<SharedEarLock>> locks;
    for (const std::string& channel : channels) {
      locks.push_back(std::make_unique<SharedEarLock>(connection, channel));
      locks.back()->acquire();
    }
    if (::write(out, "!", 1) == 1) ::pause();
  }

  pid_t pid_ = -1;
};

}  // namespace sublock::testing
