// SPDX-License-Identifier: MIT
#pragma once

// How a holder learns that the lock is gone: a flag, a stop_token and a callback that agree. User code
// runs on a thread that exists for nothing else, never on one that answers pings.

#include <sublock/bury.hpp>
#include <sublock/error.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace sublock {

/// Thread-safe.
class LossNotice {
 public:
  using Callback = std::function<void(const LockLost&)>;

  explicit LossNotice(Callback callback) : callback_(std::move(callback)) {}
  LossNotice(const LossNotice&) = delete;
  LossNotice& operator=(const LossNotice&) = delete;
  ~LossNotice() { settle(); }

  /// A new hold begins, and has not been lost. Waits for the callback of the loss before it, unless that
  /// is who asks.
  void arm() {
    settle();
    const std::lock_guard lock(mutex_);
    lost_ = false;
    error_.reset();
    stop_ = std::stop_source();
  }

  /// Sets the flag at once, and starts the thread that requests the stop, calls `first` and calls back.
  void tell(const LockLost& error, std::function<void()> first = {}) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    lost_ = true;
    auto notice = [stop = stop_, callback = callback_, error, first = std::move(first)]() mutable noexcept {
      stop.request_stop();
      try {
        if (first) first();
        if (callback) callback(error);
      } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
      }
    };
    try {
      thread_ = std::thread(notice);
    } catch (const std::system_error&) {
      untold_ = notice;  // the system has no thread left: whoever settles tells
    }
  }

  [[nodiscard]] bool lost() const noexcept { return lost_; }

  /// What was told; empty while nothing was.
  [[nodiscard]] std::optional<LockLost> error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  [[nodiscard]] std::stop_token token() const {
    const std::lock_guard lock(mutex_);
    return stop_.get_token();
  }

  /// Waits until the callback has returned. Called by the callback itself, it lets the thread go.
  void settle() {
    std::thread thread;
    std::function<void()> untold;
    {
      const std::lock_guard lock(mutex_);
      thread = std::move(thread_);
      untold = std::exchange(untold_, nullptr);
    }
    if (untold) untold();
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id()) return thread.detach();
    thread.join();
  }

  /// In a forked child, where the thread does not exist and the mutex may be taken for ever.
  void abandon_in_child() { bury(std::move(thread_)); }

 private:
  Callback callback_;
  mutable std::mutex mutex_;
  std::stop_source stop_;
  std::atomic<bool> lost_ = false;
  std::optional<LockLost> error_;
  std::thread thread_;
  std::function<void()> untold_;
};

}  // namespace sublock
