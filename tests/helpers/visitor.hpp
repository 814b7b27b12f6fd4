// SPDX-License-Identifier: MIT
#pragma once

// Visitor: takes and gives back one lock in a loop, and visits a folder while it believes to hold
// it. What it meets there is the kernel's word, not the lock's: a file that only one can create, and an
// advisory lock on another. Says GOT with the number of visits at the end, and OVERLAP or LOST when it
// happens.
//
//   sublock-helper visitor URL CHANNEL FOLDER exclusive|shared SECONDS

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>
#include <sublock/redis_lock.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace visitor {

using namespace std::chrono_literals;

class Visit {
 public:
  Visit(const std::string& folder, bool shared) : owner_(folder + "/owner") {
    ledger_ = ::open((folder + "/ledger").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    alone_ = ::flock(ledger_, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
    if (shared) {
      alone_ = alone_ && ::access(owner_.c_str(), F_OK) != 0;
    } else {
      const int fd = ::open(owner_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
      created_ = fd >= 0;
      alone_ = alone_ && created_;
      if (created_) ::close(fd);
    }
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (created_) ::unlink(owner_.c_str());
    ::close(ledger_);
  }

  [[nodiscard]] bool alone() const { return alone_; }

 private:
  std::string owner_;
  int ledger_ = -1;
  bool alone_ = false;
  bool created_ = false;
};

inline int visit(const std::string& url, const std::string& channel, const std::string& folder, bool shared,
                 std::chrono::duration<double> span) {
  sublock::RedisLock::Options options;
  options.mode = shared ? sublock::LockMode::shared : sublock::LockMode::exclusive;
  options.timeout = 1min;
  options.unavailable_timeout = 3s;  // nobody is to be killed for the machine's being busy
  options.connection.url = url;
  sublock::RedisLock lock(sublock::connect(options.connection), channel, options);
  const auto end = std::chrono::steady_clock::now() + span;
  long visits = 0;
  bool clean = true;
  while (std::chrono::steady_clock::now() < end) {
    lock.acquire();
    {
      const Visit visit(folder, shared);
      if (!visit.alone()) {
        std::cout << "OVERLAP" << std::endl;
        clean = false;
      }
      ++visits;
      ::poll(nullptr, 0, 1);  // what the lock is held for
    }
    if (!lock.release()) {
      std::cout << "LOST" << std::endl;
      clean = false;
    }
  }
  std::cout << "GOT " << visits << std::endl;
  return clean ? 0 : 1;
}

inline int start(const std::vector<std::string>& words) {
  const std::chrono::duration<double> span(std::stod(words.at(4)));
  return visit(words.at(0), words.at(1), words.at(2), words.at(3) == "shared", span);
}

}  // namespace visitor
