// SPDX-License-Identifier: MIT

// sublock-driver: takes a lock through the public API and prints one line for each event, for tests
// that play with processes. What it prints and returns is a contract; arguments.hpp has the words.

#include "driver/arguments.hpp"
#include "driver/kinds.hpp"
#include "driver/overlap_counter.hpp"
#include "driver/report.hpp"
#include "driver/stop_signal.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace driver {
namespace {

enum class Outcome : int { released = 0, failed = 1, lost = 3 };

/// Returns once `span` is over or either of the tokens is stopped.
void wait_for(sublock::Duration span, const std::stop_token& one, const std::stop_token& other = {}) {
  std::mutex mutex;
  std::condition_variable changed;
  const auto wake = [&] {
    const std::lock_guard guard(mutex);
    changed.notify_all();
  };
  const std::stop_callback on_one(one, wake);
  const std::stop_callback on_other(other, wake);
  std::unique_lock lock(mutex);
  changed.wait_until(lock, sublock::core::saturating_add(std::chrono::steady_clock::now(), span),
                     [&] { return one.stop_requested() || other.stop_requested(); });
}

template <class Kind>
class Driver {
 public:
  explicit Driver(const Arguments& arguments)
      : arguments_(arguments), lock_(arguments.name, Kind::options(arguments)) {
    if (!arguments.overlap_key.empty()) {
      const auto connection = Kind::options(arguments).connection;
      overlap_.emplace(arguments.overlap_key, sublock::hiredis::endpoint_of(connection));
    }
  }

  Outcome run() {
    for (;;) {
      const Outcome outcome = once();
      if (!arguments_.loop) return outcome;
      if (stop_.token().stop_requested()) return Outcome::released;
    }
  }

 private:
  Outcome once() {
    report("TRY");
    stop_.listen();
    const auto start = std::chrono::steady_clock::now();
    try {
      Kind::take(lock_, stop_.token());
    } catch (const sublock::LockError& error) {
      report_failure(error.kind(), error.what());
      pause_since(start);
      return Outcome::failed;
    }
    report("GOT", got());
    return hold();
  }

  /// With `fencing`, the token; none where the lock has been lost already.
  [[nodiscard]] std::string got() const try {
    return arguments_.fencing ? "token=" + std::to_string(lock_.fence_token()) : "";
  } catch (const sublock::LockError&) {
    return "";
  }

  Outcome hold() {
    enter();
    stay();
    if (lock_.lost()) return lose(reason());
    leave(std::chrono::milliseconds(700));
    if (arguments_.say_leaving) report("LEAVING");
    if (!Kind::give_back(lock_)) return lose(reason());
    report("RELEASED");
    return Outcome::released;
  }

  /// For as long as asked, unless a signal or a loss comes first.
  void stay() {
    const auto over = [&] { return stop_.token().stop_requested() || lock_.lost(); };
    const auto end = sublock::core::saturating_add(std::chrono::steady_clock::now(), arguments_.hold);
    while (!over() && std::chrono::steady_clock::now() < end) {
      const sublock::Duration left = end - std::chrono::steady_clock::now();
      wait_for(std::min(left, arguments_.ask_every), stop_.token(), lock_.stop_token());
      if (!over()) ask();
    }
  }

  /// With `mine=`, whose the lock is.
  void ask() {
    if (arguments_.ask_every == sublock::infinite) return;
    try {
      report("MINE", Kind::is_mine(lock_) ? "yes" : "no");
    } catch (const sublock::LockError& error) {
      report("MINE", "unknown: " + std::string(error.what()));
    }
  }

  Outcome lose(const std::string& why) {
    report("LOST", why);
    leave(std::chrono::milliseconds(400));
    ask();
    Kind::give_back(lock_);
    return Outcome::lost;
  }

  [[nodiscard]] std::string reason() const {
    try {
      lock_.ensure_held();
    } catch (const sublock::LockError& error) {
      return error.what();
    }
    return "for no reason";
  }

  /// A loop on a dead server must not spin.
  void pause_since(std::chrono::steady_clock::time_point start) const {
    if (!arguments_.loop) return;
    const auto least = arguments_.check_interval.value_or(std::chrono::milliseconds(250));
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent < least) wait_for(least - spent, stop_.token());
  }

  void enter() {
    if (!overlap_) return;
    const auto inside = overlap_->enter();
    if (!inside) std::cerr << "warning: not counted at " << arguments_.overlap_key << std::endl;
    if (inside && *inside > 1) report("OVERLAP", std::to_string(*inside));
  }

  void leave(std::chrono::milliseconds patience) {
    if (overlap_) overlap_->leave(patience);
  }

  Arguments arguments_;
  StopSignal stop_;
  typename Kind::Lock lock_;
  std::optional<OverlapCounter> overlap_;
};

int run(std::span<const char* const> words) {
  try {
    const Arguments arguments = parse(words);
    return static_cast<int>(arguments.verb == Verb::key ? Driver<KeyKind>(arguments).run()
                                                        : Driver<ChannelKind>(arguments).run());
  } catch (const UsageError& error) {
    report_failure(sublock::Errc::usage, error.what());
  } catch (const sublock::LockError& error) {
    report_failure(error.kind(), error.what());
  } catch (const std::exception& error) {
    report_failure(sublock::Errc::protocol, error.what());
  }
  return static_cast<int>(Outcome::failed);
}

}  // namespace
}  // namespace driver

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return driver::run(words.subspan(words.empty() ? 0 : 1));
}
