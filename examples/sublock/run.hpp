// SPDX-License-Identifier: MIT
#pragma once

// `sublock run`: a lock, held while a command runs, or until a signal. Here the lock, the child and the signals
// meet; each has a room of its own.

#include "child.hpp"
#include "run_options.hpp"
#include "signals.hpp"
#include "status.hpp"

#include <sublock/redis_lock.hpp>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace command {

/// One run, from the first word with the server to the last. Make it in the main thread.
class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        lock_(connection_first(options_), options_.channel, lock_options(options_, loss_)) {}

  /// The exit status.
  int operator()() {
    const Instant start = now();
    try {
      lock_.acquire({.mode = options_.mode, .timeout = options_.timeout});
    } catch (const sublock::AlreadyLocked& busy) {
      if (!options_.quiet) say(busy.what());
      return options_.conflict_status;
    }
    // Until here a signal does what it always does: the server sees that we are gone, and so does everybody.
    signals_.emplace();
    const Instant held = now();
    if (options_.verbose) say("got " + shown() + " after " + seconds(held - start));
    const int status = options_.command.empty() ? hold() : look_after_command();
    lock_.release();
    if (!lock_.lost()) {
      if (options_.verbose) say("gave " + shown() + " back after " + seconds(now() - held));
      return status;
    }
    tell_loss();
    return options_.on_loss == OnLoss::warn && !options_.command.empty() ? status : lost;
  }

 private:
  /// Where there is one try and no wait, its time is for the lock: the way to the server is found before. Else null,
  /// for a connection of the lock's own.
  static std::shared_ptr<sublock::HiredisTransport> connection_first(const RunOptions& options) {
    const bool once = options.timeout == sublock::Duration::zero();
    return once ? sublock::connect(options.server.connection()) : nullptr;
  }

  static sublock::RedisLock::Options lock_options(const RunOptions& options, const Alarm& loss) {
    sublock::RedisLock::Options result;
    result.fencing = options.fencing;
    result.label = options.label;
    result.connection = options.server.connection();
    result.on_lost = [&loss](const sublock::LockLost&) { loss.ring(); };
    result.on_warning = say;
    return result;
  }

  static Instant now() { return std::chrono::steady_clock::now(); }

  static std::string seconds(std::chrono::duration<double> span) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(3) << span.count() << " s";
    return text.str();
  }

  [[nodiscard]] std::string_view mode() const {
    return options_.mode == sublock::LockMode::shared ? "shared" : "exclusive";
  }

  [[nodiscard]] std::string shown() const {
    return std::string(mode()) + " '" + sublock::core::printable(options_.channel) + "'";
  }

  /// Holds until a signal that ends, or until there is nothing to hold.
  int hold() {
    std::cout << "held " << shown() << " by " << lock_.holder_id();
    if (options_.fencing) std::cout << " token " << lock_.fence_token();
    std::cout << std::endl;
    for (;;) {
      wait_for(*signals_, loss_, std::nullopt);
      if (loss_.rang()) return lost;
      while (const auto arrival = signals_->next()) {
        if (is_ending(arrival->number)) return done;
      }
    }
  }

  /// Runs the command until it has ended, however long that takes.
  int look_after_command() {
    std::optional<Child> child;
    try {
      child.emplace(options_.command, environment(), signals_->before());
    } catch (const CannotRun& error) {
      say(std::string("can't run ") + error.what());
      return error.code().value() == ENOENT ? not_found : not_executable;
    }
    for (;;) {
      wait_for(*signals_, loss_, execution_);
      while (const auto arrival = signals_->next()) {
        if (arrival->number != SIGCHLD) pass_on(*arrival, *child);
      }
      if (loss_.rang()) lose(*child);
      if (execution_ && now() >= *execution_) {
        child->signal(SIGKILL);
        execution_.reset();
      }
      switch (child->look()) {
        case Child::State::running: break;
        case Child::State::stopped:
          say("the command stands still, and the lock is still held; kill -CONT " +
              std::to_string(child->pid()) + " lets it go on");
          break;
        case Child::State::ended:
          if (lock_.lost() && options_.on_loss != OnLoss::warn) child->end_group();
          return child->status();
      }
    }
  }

  /// A key of the terminal has reached the child already: both belong to the foreground.
  static void pass_on(Signals::Arrival arrival, const Child& child) {
    const bool is_key = arrival.number == SIGINT || arrival.number == SIGQUIT || arrival.number == SIGTSTP;
    if (!is_key || !arrival.from_kernel) child.signal(arrival.number);
    if (is_ending(arrival.number)) child.signal(SIGCONT);  // what stands still could not even end
  }

  void lose(const Child& child) {
    tell_loss();
    if (options_.on_loss == OnLoss::warn) return;
    const bool gently = options_.on_loss == OnLoss::term;
    if (gently) child.signal(SIGTERM);
    child.signal(SIGCONT);
    execution_ = sublock::core::saturating_add(now(), gently ? options_.grace : sublock::Duration::zero());
  }

  /// In the lock's own words, and only once.
  void tell_loss() {
    if (std::exchange(told_, true)) return;
    try {
      lock_.ensure_held();
    } catch (const sublock::LockError& loss) {
      say(loss.what());
    }
  }

  /// Ours, but what we have to say wins over what we inherited.
  [[nodiscard]] Words environment() const {
    Words result = {"SUBLOCK_CHANNEL=" + options_.channel, "SUBLOCK_MODE=" + std::string(mode()),
                    "SUBLOCK_HOLDER_ID=" + lock_.holder_id()};
    if (options_.fencing) result.push_back("SUBLOCK_TOKEN=" + std::to_string(lock_.fence_token()));
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      const std::string_view name = text.substr(0, text.find('='));
      const bool says_it = name == "SUBLOCK_CHANNEL" || name == "SUBLOCK_MODE" ||
                           name == "SUBLOCK_HOLDER_ID" || name == "SUBLOCK_TOKEN";
      if (!says_it) result.emplace_back(text);
    }
    return result;
  }

  const RunOptions options_;
  const Alarm loss_;  // rung until the lock is gone
  sublock::RedisLock lock_;
  std::optional<Signals> signals_;
  std::optional<Instant> execution_;  // when the command's grace is over
  bool told_ = false;
};

/// The verb.
inline int run(const Words& words) {
  RunOptions options;
  if (const auto status = RunOptions::read(words, options)) return *status;
  return Run(std::move(options))();
}

}  // namespace command
