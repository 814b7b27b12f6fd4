// SPDX-License-Identifier: MIT
#pragma once

// The line protocol that every program of this folder speaks, as peer.py is for those in Python. A command is
// a line, and so is its answer: a word, and CLOCK_MONOTONIC nanoseconds, which all processes share.
//
//   (when it is ready)   done
//   acquire, release     done BEGAN ENDED
//   turns UNTIL HOLD     done ASKED GOT GAVE FREE ...    four for each turn; one turn at least
//   learn                told BEGAN ENDED, or asked BEGAN ENDED where a loss shows only in an answer of Redis
//   anything             failed TEXT

#include "../time.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// When it began, and when it ended.
template <class Act>
std::vector<std::int64_t> timed(Act&& act) {
  const std::int64_t began = now_ns();
  act();
  return {began, now_ns()};
}

template <class Lock>
std::vector<std::int64_t> turns(Lock& lock, std::int64_t until, std::chrono::nanoseconds hold) {
  std::vector<std::int64_t> times;
  std::int64_t asked = now_ns();
  do {
    lock.acquire();
    const std::int64_t got = now_ns();
    if (hold > hold.zero()) let_pass(hold);
    const std::int64_t gave = now_ns();
    lock.release();
    const std::int64_t free = now_ns();
    times.insert(times.end(), {asked, got, gave, free});
    asked = free;
  } while (asked < until);
  return times;
}

/// Obeys until there are no more commands. A lock has acquire(), release() and learn(), which waits to be
/// told that the lock is lost and returns the word for how it has learnt it; each may throw.
template <class Lock>
int serve(Lock& lock) {
  std::cout << "done" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    std::int64_t until = 0;
    std::int64_t hold = 0;
    words >> verb >> until >> hold;
    try {
      std::string word = "done";
      std::vector<std::int64_t> times;
      if (verb == "acquire") {
        times = timed([&] { lock.acquire(); });
      } else if (verb == "release") {
        times = timed([&] { lock.release(); });
      } else if (verb == "turns") {
        times = turns(lock, until, std::chrono::nanoseconds(hold));
      } else if (verb == "learn") {
        times = timed([&] { word = lock.learn(); });
      } else {
        throw std::invalid_argument("no such command: " + line);
      }
      std::cout << word;
      for (const std::int64_t time : times) std::cout << ' ' << time;
      std::cout << std::endl;
    } catch (const std::exception& error) {
      std::cout << "failed " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace bench
