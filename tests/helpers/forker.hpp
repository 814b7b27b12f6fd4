// SPDX-License-Identifier: MIT
#pragma once

// Forker: takes a lock, forks, and lets the child do something with what it inherited. Says HELD,
// CHILD with the child's exit status (0: all was as it should be), and RELEASED or LOST once its stdin ends
// or says something. With `spawn`, the child is another program started without a fork; with `become`, this
// very process turns into another program, which says ANOTHER.
//
//   sublock-helper forker URL CHANNEL exit|destroy|release|ask|acquire|anew|linger|exec|spawn|become

#include <sys/wait.h>
#include <unistd.h>
#include <sublock/redis_lock.hpp>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace forker {

/// Static, so that exit() in the child destroys it too.
inline std::unique_ptr<sublock::RedisLock> lock;  // NOLINT(cert-err58-cpp)

template <class Act>
std::optional<sublock::Errc> error_of(Act act) {
  try {
    act();
  } catch (const sublock::LockError& error) {
    return error.kind();
  }
  return {};
}

inline bool release() {
  lock->unlock();
  return !lock->release();
}

inline bool ask() {
  return lock->lost() && !lock->held() && error_of([] { lock->ensure_held(); }) == sublock::Errc::lost &&
         error_of([] { (void)lock->probe(); }) == sublock::Errc::usage;
}

inline bool acquire() {
  using sublock::Errc;
  return error_of([] { lock->acquire(); }) == Errc::usage &&
         error_of([] { (void)lock->try_lock(); }) == Errc::usage;
}

/// A lock of the child's own works, and meets the parent's like anybody's.
inline bool anew() {
  const sublock::RedisLock::Options options = {.connection = {.url = std::getenv("SUBLOCK_URL")}};
  sublock::RedisLock same(lock->channel(), options);
  sublock::RedisLock other(lock->channel() + "-other", options);
  return !same.try_lock() && other.try_lock() && other.release();
}

/// A program that fails where it has inherited a socket, or anything else that only a lock's process has.
inline constexpr const char* look_for_sockets = "! ls -l /proc/self/fd | grep -E 'socket|eventfd|eventpoll'";

inline bool exec() {
  ::execl("/bin/sh", "sh", "-c", look_for_sockets, nullptr);
  return false;
}

/// Ends when the test does.
inline bool linger() {
  char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) <= 0;
}

[[noreturn]] inline void be_child(const std::string& what) {
  const std::map<std::string, std::function<bool()>> acts = {
      {"release", release},
      {"ask", ask},
      {"acquire", acquire},
      {"anew", anew},
      {"linger", linger},
      {"exec", exec},
      {"destroy",
       [] {
         lock.reset();
         return true;
       }},
  };
  if (what == "exit") std::exit(0);
  ::_exit(acts.at(what)() ? 0 : 1);
}

inline int run(const std::string& url, const std::string& channel, const std::string& what) {
  ::setenv("SUBLOCK_URL", url.c_str(), 1);
  lock =
      std::make_unique<sublock::RedisLock>(channel, sublock::RedisLock::Options{.connection = {.url = url}});
  lock->acquire();
  std::cout << "HELD" << std::endl;
  if (what == "become") ::execl("/bin/sh", "sh", "-c", "echo ANOTHER; read line", nullptr);
  int status = 0;
  if (what == "spawn") {
    status = std::system(look_for_sockets);  // NOLINT(cert-env33-c): a constant, and no fork handlers run
  } else {
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) be_child(what);
    while (::waitpid(child, &status, 0) != child) {
    }
  }
  std::cout << "CHILD " << (WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)) << std::endl;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) < 0) {
  }
  std::cout << (lock->release() ? "RELEASED" : "LOST") << std::endl;
  return 0;
}

inline int start(const std::vector<std::string>& words) { return run(words.at(0), words.at(1), words.at(2)); }

}  // namespace forker
