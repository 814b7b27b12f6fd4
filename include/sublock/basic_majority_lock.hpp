// SPDX-License-Identifier: MIT
#pragma once

// A lock that is held by holding plain locks on most of several servers that know nothing of each other. What a plain
// lock promises is taken for granted; the order in which they are asked for is decided in core/quorum.hpp.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/core/quorum.hpp>
#include <sublock/loss_notice.hpp>
#include <sublock/process_info.hpp>
#include <sublock/with_lock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock {

/// Held while more than half of its servers hold it for us, and lost as soon as they don't: one server of three, or two
/// of five, may fail. No clock enters it. It takes as many of them as it can get at once, so that they may fail while
/// it is held; a server that has failed is not asked again before the next `acquire`.
///
/// Models Lockable, TimedLockable and SharedTimedLockable, and promises of threads and forks what BasicRedisLock
/// does. A free lock costs a round trip to each server, one after another. Every user must name the same servers, in
/// the same order.
template <TransportPolicy Transport, ElectionPolicy Election = LowestIdElection,
          ReaperPolicy Reaper = ClientListReaper, ClockPolicy Clock = SteadyClock>
class BasicMajorityLock {
 public:
  using Lock = BasicRedisLock<Transport, Election, Reaper, Clock>;  ///< on each server
  using Options = typename Lock::Options;                           ///< of each of them, and of the whole

  /// Connects to nothing yet. Throws Errc::usage as a plain lock does, for no servers or one that is named twice, and
  /// for `fencing`: tokens of different servers can't be compared.
  BasicMajorityLock(const std::vector<std::shared_ptr<Transport>>& servers, std::string channel,
                    Options options = {})
      : channel_(std::move(channel)),
        options_(std::move(options)),
        quorum_(servers.size()),
        notice_(options_.on_lost) {
    if (options_.fencing) refuse("tokens of different servers can't be compared, so a majority has none");
    auto distinct = servers;
    std::ranges::sort(distinct);
    if (servers.empty() || distinct.front() == nullptr ||
        std::ranges::adjacent_find(distinct) != distinct.end())
      refuse("a majority needs connections to servers, each of them once");
    for (std::size_t seat = 0; seat < servers.size(); ++seat) {
      Options plain = options_;
      plain.on_lost = [this, seat](const LockLost& error) { lose(seat, error); };
      locks_.push_back(std::make_unique<Lock>(servers[seat], channel_, std::move(plain)));
    }
  }

  BasicMajorityLock(const BasicMajorityLock&) = delete;
  BasicMajorityLock& operator=(const BasicMajorityLock&) = delete;

  /// Releases, if the lock is held. Waits for a running on_lost callback.
  ~BasicMajorityLock() {
    if (inherited()) {
      notice_.abandon_in_child();
      return;
    }
    release();
    const std::lock_guard lock(ending_);
    ++hold_;
  }

  // --- acquire and release -----------------------------------------------------------------------

  /// Takes the lock. Blocks until it is held or the timeout is over, plus an attempt at each server. Throws as
  /// BasicRedisLock::acquire: AlreadyLocked if somebody has a server that was needed, else what the servers said.
  void acquire(const AcquireOptions& how = {}) {
    begin();
    try {
      give_back_seats();  // those that a loss has left
      take(how);
    } catch (...) {
      give_back();
      throw;
    }
  }

  /// Gives the lock back. Blocks as BasicRedisLock::release does, for one server after another. True if the majority was
  /// held until now.
  bool release() noexcept {
    if (inherited()) return false;
    {
      const std::lock_guard lock(mutex_);
      if (use_ != Use::held) return false;
      use_ = Use::ending;
    }
    std::size_t kept = 0;
    // The first one last: who waits for it finds the others free.
    for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) kept += (*lock)->release() ? 1 : 0;
    const bool held = kept >= quorum_.needed();
    const std::lock_guard lock(mutex_);
    if (!held && !notice_.lost())
      notice_.tell(LockLost(text_of("the lock was lost: most servers did not confirm the release")));
    quorum_.start();
    end();
    return held;
  }

  /// As BasicRedisLock::with.
  template <class Work>
  decltype(auto) with(Work&& work, const AcquireOptions& how = {}) {
    acquire(how);
    return detail::with_lock(
        *this, [](auto* lock) { return lock->release(); }, std::forward<Work>(work));
  }

  // --- Lockable, TimedLockable, SharedTimedLockable ------------------------------------------------

  /// Waits as long as it takes, or until a stop is requested (Errc::cancelled).
  void lock(std::stop_token stop = {}) { acquire(how(LockMode::exclusive, infinite, std::move(stop))); }
  /// The same, as a reader.
  void lock_shared(std::stop_token stop = {}) { acquire(how(LockMode::shared, infinite, std::move(stop))); }
  /// One attempt at each server. False if others have too many of them; throws for errors.
  [[nodiscard]] bool try_lock() { return tries(how(LockMode::exclusive, Duration::zero(), {})); }
  /// The same, as a reader.
  [[nodiscard]] bool try_lock_shared() { return tries(how(LockMode::shared, Duration::zero(), {})); }
  /// As `acquire` with that timeout; false instead of AlreadyLocked.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout,
                                  std::stop_token stop = {}) {
    return tries(how(LockMode::exclusive, saturated(timeout), std::move(stop)));
  }
  /// The same, as a reader.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& timeout,
                                         std::stop_token stop = {}) {
    return tries(how(LockMode::shared, saturated(timeout), std::move(stop)));
  }
  /// The same, until an instant of any clock, which is read once.
  template <class AnyClock, class Span>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                    std::stop_token stop = {}) {
    return try_lock_for(time_until(deadline, options_.clock), std::move(stop));
  }
  /// The same, as a reader.
  template <class AnyClock, class Span>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                           std::stop_token stop = {}) {
    return try_lock_shared_for(time_until(deadline, options_.clock), std::move(stop));
  }
  /// As `release`, for guards.
  void unlock() noexcept { release(); }
  /// The same, for shared guards.
  void unlock_shared() noexcept { release(); }

  // --- do I still hold it? -------------------------------------------------------------------------

  /// Acquired, not released, and on most servers neither lost nor in doubt. No network.
  [[nodiscard]] bool held() const {
    if (inherited()) return false;
    const std::lock_guard lock(mutex_);
    return use_ == Use::held && !notice_.lost() && sure() >= quorum_.needed();
  }

  /// The last hold was lost. Stays true after release, until the next acquire. No network.
  [[nodiscard]] bool lost() const noexcept { return notice_.lost() || inherited(); }

  /// Returns if `held()`. Throws LockLost, or LockError with Errc::doubtful or Errc::not_held. No network.
  void ensure_held() const {
    if (inherited()) throw LockLost(text_of("the lock stayed with the parent process of a fork"));
    if (const auto error = notice_.error()) throw *error;
    const std::lock_guard lock(mutex_);
    if (use_ != Use::held)
      throw LockError({Errc::not_held, text_of("the lock is not held: acquire it first")});
    if (sure() < quorum_.needed())
      throw LockError({Errc::doubtful, text_of("most servers are being checked; ask again in a moment")});
  }

  /// Stopped when the hold is lost, not when it is released. Belongs to the present hold, or the last.
  [[nodiscard]] std::stop_token stop_token() const { return notice_.token(); }

  /// On how many of its servers it is held just now.
  [[nodiscard]] std::size_t seats() const {
    const std::lock_guard lock(mutex_);
    return sure();
  }

  /// As it was given.
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }

 private:
  enum class Use { free, busy, held, ending };
  using Move = core::Quorum::Move;

  static AcquireOptions how(LockMode mode, Duration timeout, std::stop_token stop) {
    return {.mode = mode, .timeout = timeout, .fail_when_locked = false, .stop = std::move(stop)};
  }

  bool tries(const AcquireOptions& how) {
    try {
      acquire(how);
    } catch (const AlreadyLocked&) {
      return false;
    }
    return true;
  }

  void begin() {
    if (inherited())
      throw LockError({Errc::usage, text_of("this object belongs to the parent process of a fork")});
    {
      const std::scoped_lock locks(ending_, mutex_);  // nothing is given back any more for the loss before
      if (use_ == Use::busy || use_ == Use::ending || (use_ == Use::held && !notice_.lost()))
        throw LockError({Errc::already_held, text_of("this object has it already, or is just getting it")});
      use_ = Use::busy;
      user_pid_ = process_id();
      ++hold_;
      quorum_.start();
    }
    notice_.arm();
  }

  /// Under the mutex.
  void end() {
    use_ = Use::free;
    user_pid_ = 0;
  }

  /// A child of a fork sees the object as it was in the parent, which goes on using it.
  [[nodiscard]] bool inherited() const noexcept {
    const std::int64_t user = user_pid_;
    return user != 0 && user != process_id();
  }

  /// Round after round, until there is a majority or no time left.
  void take(const AcquireOptions& how) {
    const Duration timeout = how.timeout.value_or(options_.timeout);
    const Instant deadline = core::saturating_add(options_.clock.now(), timeout);
    const bool may_wait =
        timeout > Duration::zero() && !how.fail_when_locked.value_or(options_.fail_when_locked);
    std::optional<AlreadyLocked> busy;
    std::optional<LockError> failure;
    for (;;) {
      std::size_t seat = 0;
      const Move move = next(seat);
      if (move == Move::hold) return;
      const Duration left = std::max(deadline - options_.clock.now(), Duration::zero());
      if (move == Move::give_back) {
        const bool again = may_wait && left > Duration::zero() && (busy || !failure || is_transient(failure));
        if (!again && busy) throw AlreadyLocked(*busy);
        if (!again && failure) throw LockError(*failure);
        if (!again)
          throw LockError({Errc::connect, text_of("it was lost on most servers while it was taken")});
        give_back_seats();
        continue;
      }
      const bool waits = may_wait && move == Move::wait_for && left > Duration::zero();
      AcquireOptions plain = how;
      plain.timeout = waits ? std::min(left, options_.unavailable_timeout) : Duration::zero();
      try {
        locks_[seat]->acquire(plain);
        settle(seat, true);
      } catch (const AlreadyLocked& error) {
        busy = error;
        if (!waits) settle(seat, false);
      } catch (const LockError& error) {
        if (error.kind() == Errc::cancelled || error.kind() == Errc::usage) throw;
        failure = error;
        settle(seat, false);
      }
    }
  }

  static bool is_transient(const std::optional<LockError>& failure) {
    return failure && failure->kind() == Errc::connect;
  }

  Move next(std::size_t& seat) {
    const std::lock_guard lock(mutex_);
    seat = quorum_.seat();
    const Move move = quorum_.next();
    if (move == Move::hold) use_ = Use::held;
    return move;
  }

  void settle(std::size_t seat, bool got) {
    const std::lock_guard lock(mutex_);
    got ? quorum_.got(seat) : quorum_.missed(seat);
    if (got && locks_[seat]->lost()) quorum_.lost(seat);  // told before we could hear it
  }

  void give_back_seats() {
    for (auto lock = locks_.rbegin(); lock != locks_.rend(); ++lock) (*lock)->release();
    const std::lock_guard lock(mutex_);
    quorum_.start();
  }

  void give_back() {
    give_back_seats();
    const std::lock_guard lock(mutex_);
    end();
  }

  /// By the thread that tells of a plain lock's loss.
  void lose(std::size_t seat, const LockLost& error) {
    std::uint64_t hold = 0;
    {
      const std::lock_guard lock(mutex_);
      if (!quorum_.has(seat)) return;
      quorum_.lost(seat);
      if (use_ != Use::held || quorum_.is_had()) return;
      if (!notice_.lost()) notice_.tell(error);
      hold = hold_;
    }
    const std::lock_guard lock(ending_);
    if (hold != hold_) return;  // by now it may be taken again
    for (const auto& lock_there : locks_) lock_there->release();
  }

  /// Under the mutex.
  [[nodiscard]] std::size_t sure() const {
    std::size_t count = 0;
    for (std::size_t seat = 0; seat < locks_.size(); ++seat)
      count += quorum_.has(seat) && locks_[seat]->held() ? 1 : 0;
    return count;
  }

  [[noreturn]] void refuse(const std::string& why) const { throw LockError({Errc::usage, text_of(why)}); }
  [[nodiscard]] std::string text_of(const std::string& what) const { return about(channel_, what); }

  const std::string channel_;
  const Options options_;
  mutable std::mutex mutex_;  // guards what follows, and is never held while anything blocks
  core::Quorum quorum_;
  Use use_ = Use::free;
  std::atomic<std::int64_t> user_pid_ = 0;  // the process in which it is in use
  std::mutex ending_;                       // held while another thread than the user's gives the locks back
  std::atomic<std::uint64_t> hold_ = 0;     // which of them it is; changes under `ending_`
  std::vector<std::unique_ptr<Lock>> locks_;  // each waits for its thread that tells of a loss
  LossNotice notice_;                         // ends first, for the user's callback may ask all that is above
};

}  // namespace sublock
