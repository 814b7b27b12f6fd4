// SPDX-License-Identifier: MIT
#pragma once

// Several locks at once, all or none: taken in one order by everybody, within one deadline, and given back together,
// also when one of them is lost. Knows no lock by name.

#include <sublock/error.hpp>
#include <sublock/explain.hpp>
#include <sublock/options.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock {

/// All the locks that `lock_all` has taken. Ends the holds when it ends, which `on_lost` must not bring about. All
/// members may be called from any thread, but for the destructor.
template <class Lock>
class HeldLocks {
 public:
  using Options = typename Lock::Options;  ///< of each of them

  HeldLocks(const HeldLocks&) = delete;
  HeldLocks& operator=(const HeldLocks&) = delete;

  /// Gives all of them back, the last one first.
  ~HeldLocks() {
    release();
    const std::lock_guard lock(ending_);
    over_ = true;
  }

  /// The same, at once. Blocks for a round trip for each. True if all were held until now.
  bool release() noexcept {
    bool kept = true;
    for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) kept = (*lock)->release() && kept;
    return kept;
  }

  /// One of them was lost; the others are given back.
  [[nodiscard]] bool lost() const noexcept { return stop_.stop_requested(); }

  /// None was lost or given back, and of none it is in doubt. No network.
  [[nodiscard]] bool held() const {
    return !lost() && std::ranges::all_of(locks_, [](const auto& lock) { return lock->held(); });
  }

  /// Returns if `held()`; else throws LockLost with the cause of the first loss, or what `ensure_held` of one of them
  /// throws.
  void ensure_held() const {
    {
      const std::lock_guard lock(mutex_);
      if (error_) throw *error_;
    }
    for (const auto& lock : locks_) lock->ensure_held();
  }

  /// Stopped as soon as one of them is lost, before the others are given back.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

  /// In the order in which they were taken, that of their channels' bytes; for tokens and names.
  [[nodiscard]] const std::vector<std::unique_ptr<Lock>>& locks() const noexcept { return locks_; }

 private:
  template <class Held, class Transport>
  friend std::unique_ptr<HeldLocks<Held>> lock_all(const std::shared_ptr<Transport>& connection,
                                                   std::vector<std::string> channels,
                                                   typename Held::Options options, std::stop_token stop);

  explicit HeldLocks(std::function<void(const LockLost&)> on_lost) : on_lost_(std::move(on_lost)) {}

  /// By the thread that tells of a loss.
  void lose(const LockLost& error) {
    {
      const std::lock_guard lock(mutex_);
      if (error_) return;  // as a consequence of the first
      error_ = error;
    }
    stop_.request_stop();
    try {
      if (on_lost_) on_lost_(error);
    } catch (...) {  // NOLINT(bugprone-empty-catch): the others must be given back all the same
    }
    const std::lock_guard lock(ending_);
    if (!over_) release();
  }

  std::function<void(const LockLost&)> on_lost_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // guards the error
  std::optional<LockLost> error_;
  std::mutex ending_;  // held while the locks are given back by another thread than the user's
  bool over_ = false;
  std::vector<std::unique_ptr<Lock>> locks_;  // ends first: each waits for its thread that tells of a loss
};

/// Takes the locks on all `channels`, in the order of their bytes, so that no two callers wait for each other. Blocks
/// until all are held or `options.timeout` is over, which is for all of them together; then throws what `acquire`
/// throws, and holds none. Throws Errc::usage for a channel that is named twice, or for none.
///
/// `options` are those of each of them, but for `on_lost`, which is called for the first loss alone, before the
/// others are given back.
template <class Lock, class Transport>
[[nodiscard]] std::unique_ptr<HeldLocks<Lock>> lock_all(const std::shared_ptr<Transport>& connection,
                                                        std::vector<std::string> channels,
                                                        typename Lock::Options options = {},
                                                        std::stop_token stop = {}) {
  std::ranges::sort(channels);
  if (channels.empty()) throw LockError({Errc::usage, "lock_all needs at least one channel"});
  const auto twice = std::ranges::adjacent_find(channels);
  if (twice != channels.end())
    throw LockError({Errc::usage, about(*twice, "named twice; a lock is taken once")});

  std::unique_ptr<HeldLocks<Lock>> all(new HeldLocks<Lock>(std::exchange(options.on_lost, nullptr)));
  options.on_lost = [held = all.get()](const LockLost& error) { held->lose(error); };
  for (std::string& channel : channels)
    all->locks_.push_back(std::make_unique<Lock>(connection, std::move(channel), options));

  // Nobody waits for one lock when he has just lost another.
  std::stop_source enough;
  const auto give_up = [&enough] { enough.request_stop(); };
  const std::stop_callback asked(stop, give_up);
  const std::stop_callback lost(all->stop_token(), give_up);
  const Instant deadline = core::saturating_add(options.clock.now(), options.timeout);
  try {
    for (const auto& lock : all->locks_) {
      const Duration left = std::max(deadline - options.clock.now(), Duration::zero());
      lock->acquire({.timeout = options.timeout == infinite ? infinite : left, .stop = enough.get_token()});
    }
  } catch (const LockError&) {
    if (!all->lost()) throw;
  }
  all->ensure_held();
  return all;
}

}  // namespace sublock
