// SPDX-License-Identifier: MIT
#pragma once

// The two kinds of lock as the driver uses them: the same verbs for both, and nothing of the events around them.

#include "driver/arguments.hpp"
#include "driver/report.hpp"

#include <sublock/redis_getlock.hpp>
#include <sublock/redis_lock.hpp>

#include <chrono>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

namespace driver {

/// What both kinds have a word for.
template <class Options>
[[nodiscard]] Options common_options(const Arguments& arguments) {
  Options options;
  options.timeout = arguments.wait;
  options.fencing = arguments.fencing;
  if (arguments.unavailable_timeout) options.unavailable_timeout = *arguments.unavailable_timeout;
  options.connection.url = arguments.url;
  options.connection.user = arguments.user;
  options.connection.password = arguments.password;
  return options;
}

[[nodiscard]] inline auto tell(const char* what) {
  return [what](std::string_view text) { std::cerr << what << ": " << printable(text) << std::endl; };
}

struct ChannelKind {
  using Lock = sublock::RedisLock;

  static Lock::Options options(const Arguments& arguments) {
    auto options = common_options<Lock::Options>(arguments);
    options.mode = arguments.shared ? sublock::LockMode::shared : sublock::LockMode::exclusive;
    if (arguments.check_interval) options.check_interval = *arguments.check_interval;
    options.holder_id = arguments.holder_id;
    options.label = arguments.label;
    options.on_warning = tell("warning");
    return options;
  }
  static void take(Lock& lock, std::stop_token stop) { lock.acquire({.stop = std::move(stop)}); }
  static bool give_back(Lock& lock) { return lock.release(); }
  static bool is_mine(Lock& lock) { return lock.held(); }
};

struct KeyKind {
  using Lock = sublock::RedisGetlock;

  static Lock::Options options(const Arguments& arguments) {
    auto options = common_options<Lock::Options>(arguments);
    if (arguments.expire) options.expire = *arguments.expire;
    if (arguments.interval) options.interval = *arguments.interval;
    options.logger = tell("log");
    return options;
  }
  static void take(Lock& lock, std::stop_token stop) { lock.lock(std::move(stop)); }
  static bool give_back(Lock& lock) { return lock.unlock(); }
  static bool is_mine(Lock& lock) { return lock.is_self_locked(); }
};

}  // namespace driver
