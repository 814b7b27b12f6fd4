// SPDX-License-Identifier: MIT
#pragma once

// The lock that is a key with a short lease, which the connection's keeper extends: the counterpart of Ruby's
// redis_getlock. What it promises is written here; how it keeps it is in session.hpp and core/lease/.

#include <sublock/claim.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/core/lease/leaseholder.hpp>
#include <sublock/core/lease/look_up.hpp>
#include <sublock/deadline.hpp>
#include <sublock/entropy.hpp>
#include <sublock/error.hpp>
#include <sublock/explain_lease.hpp>
#include <sublock/getlock_options.hpp>
#include <sublock/inquiry.hpp>
#include <sublock/policies.hpp>
#include <sublock/process_info.hpp>
#include <sublock/session.hpp>
#include <sublock/version.hpp>
#include <sublock/with_lock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace sublock {

/// A lock on a key. Models Lockable and TimedLockable; exclusive only.
///
/// It is held until `unlock`, or until no extension has got through for `expire`, counted on our own steady clock
/// from before the last one that did was sent: Redis keeps the key at least as long, unless somebody deletes it, the
/// server evicts it for want of memory, or restarts without its last writes; then the next extension finds out. What
/// is lost is told by `lost()`, `ensure_held()`, `stop_token()` and `on_lost`.
///
/// - The owner is the object, not the thread: any thread may call any member, and unlock.
/// - Locking what this object holds already is an error at once, Errc::already_held, and its lease goes on.
/// - All locks of one connection object are extended by one thread.
/// - A child of fork() holds nothing.
/// - It is safe as long as neither side's clock runs away from the other within one `expire`. Ours stands still while
///   the machine is suspended, which is noticed after a second and a quarter: until then it may be believed too long. Of the time of day
///   nothing depends on it, but with a server before 2.6.12, see the README.
template <LeaseTransportPolicy Transport, WallClockPolicy Clock = SteadyClock>
class BasicRedisGetlock {
 public:
  /// What the constructor takes.
  using Options = GetlockOptions<Transport, Clock>;

  /// A lock with a connection of its own, built on first use and dropped on `unlock`. Throws Errc::usage for an
  /// option that makes no sense. Any bytes are a key, as in Redis.
  explicit BasicRedisGetlock(std::string key, Options options = {})
      : BasicRedisGetlock(nullptr, std::move(key), std::move(options)) {
    static_cast<void>(Transport::make(options_.connection));  // refuses a bad address here and now
  }

  /// A lock on a connection of the caller's, shared with other locks and never closed by this one.
  BasicRedisGetlock(std::shared_ptr<Transport> connection, std::string key, Options options = {})
      : key_(std::move(key)),
        options_(std::move(options)),
        claim_(about_key(key_), std::move(connection), options_.on_lost) {
    check_getlock_options(key_, options_);
  }

  BasicRedisGetlock(const BasicRedisGetlock&) = delete;
  BasicRedisGetlock& operator=(const BasicRedisGetlock&) = delete;

  /// Unlocks, if the lock is held. Waits for a running on_lost callback.
  ~BasicRedisGetlock() { unlock(); }

  // --- as in Ruby, and as any mutex --------------------------------------------------------------

  /// Takes the lock, and returns true. Blocks until it is held; throws AlreadyLocked when `timeout` is over,
  /// saying what is under the key, for a guard does not look at what `lock` returns; LockError with
  /// Errc::already_held, cancelled, usage, permission, auth, connect or protocol.
  bool lock(std::stop_token stop = {}) {
    const Attempt attempt = try_to(options_.timeout < Duration::zero() ? infinite : options_.timeout, stop);
    if (!attempt.held && attempt.failure.code == Errc::busy)
      throw AlreadyLocked(attempt.failure.text, attempt.holders);
    if (!attempt.held) throw LockError(attempt.failure);
    return true;
  }

  /// One attempt, which takes at most `unavailable_timeout` and a quarter. False if somebody else has the lock;
  /// throws for errors.
  [[nodiscard]] bool try_lock() { return try_lock_for(Duration::zero()); }

  /// Waits so long, zero and less being one attempt; false instead of AlreadyLocked.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout,
                                  std::stop_token stop = {}) {
    const Attempt attempt = try_to(saturated(timeout), stop);
    if (!attempt.held && attempt.failure.code != Errc::busy) throw LockError(attempt.failure);
    return attempt.held;
  }

  /// The same, until an instant of any clock, which is read once, when the wait begins.
  template <class AnyClock, class Span>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                    std::stop_token stop = {}) {
    return try_lock_for(time_until(deadline, options_.clock), std::move(stop));
  }

  /// Gives the lock back, if it is this object's: compared and deleted in one step. Blocks for one round trip, and
  /// until nothing has been heard for `unavailable_timeout`, four times that at most. True if the lock was held until now; false if it had been lost, was not held, or
  /// nobody confirmed (the key then expires).
  bool unlock() noexcept {
    auto session = claim_.take_back();
    if (!session) return false;
    const bool kept = session->release(options_.unavailable_timeout);
    session->tell_news();
    session.reset();
    claim_.end(false);
    return kept;
  }

  /// Runs `work(std::stop_token)` or `work()` while holding the lock, and returns what it returns. The token is
  /// stopped when the lock is lost. Throws what `lock` and `work` throw; LockLost if the lock was lost and `work`
  /// did not throw.
  template <class Work>
  decltype(auto) synchronize(Work&& work) {
    lock();
    return detail::with_lock(
        *this, [](auto* lock) { return lock->unlock(); }, std::forward<Work>(work));
  }

  /// Whether anybody has it, this object included: whether there is such a key. Blocks for one round trip, at most
  /// `unavailable_timeout`; throws LockError.
  [[nodiscard]] bool is_locked() { return look().type != "none"; }

  /// Whether this object has it, as the server sees it. The same otherwise; `held()` asks nobody.
  [[nodiscard]] bool is_self_locked() {
    const auto session = claim_.inherited() ? nullptr : claim_.session();
    if (!session) return false;
    const std::string mark =
        session->inspect([](const auto& self) { return self.holds() ? self.mark() : ""; });
    return !mark.empty() && look().value.starts_with(mark);
  }

  // --- do I still hold it? -----------------------------------------------------------------------

  /// Locked, not unlocked, and the last confirmed expiry is still to come. After the process stood still it is
  /// false until the server has confirmed it again. No network.
  [[nodiscard]] bool held() const { return claim_.standing() == Errc{}; }

  /// The last hold was lost. Stays true after unlock, until the next lock. No network, no lock.
  [[nodiscard]] bool lost() const noexcept { return claim_.lost(); }

  /// Returns if `held()`. Throws LockLost with the cause if it was lost, Errc::doubtful while nobody knows (ask
  /// again in a moment), Errc::not_held if it was never taken. No network.
  void ensure_held() const { claim_.ensure_held("the lease is being looked after; ask again in a moment"); }

  /// Stopped when the hold is lost, not when it is given back. Belongs to the present hold, or the last.
  [[nodiscard]] std::stop_token stop_token() const { return claim_.notice().token(); }

  /// The token drawn for the present hold: greater than that of every hold before it that drew one on this server.
  /// A resource that refuses a smaller token than it has seen is safe from owners who have not noticed their loss
  /// yet. Throws Errc::usage without `fencing`, Errc::not_held.
  [[nodiscard]] std::int64_t fence_token() const {
    if (!options_.fencing)
      throw LockError({Errc::usage, claim_.about("this lock draws no tokens: set fencing")});
    const auto session = claim_.inherited() ? nullptr : claim_.session();
    std::optional<std::int64_t> token;
    if (session) token = session->inspect([](const auto& self) { return self.fence_token(); });
    if (!token) throw LockError({Errc::not_held, claim_.about("no token: the lock is not held")});
    return *token;
  }

  /// As it was given.
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  /// The connection: the caller's, or the lock's own while it has one, or null.
  [[nodiscard]] std::shared_ptr<Transport> connection() const { return claim_.connection(); }

 private:
  using HeldSession = Session<Transport, typename Transport::Desk, core::lease::Leaseholder, Clock>;

  struct Attempt {
    bool held = false;
    Failure failure;
    std::vector<Holder> holders = {};
  };

  Attempt try_to(Duration timeout, const std::stop_token& stop) {
    if (stop.stop_requested()) return {false, {Errc::cancelled, claim_.about("cancelled before it began")}};
    const auto make = [this] { return Transport::make(options_.connection); };
    const auto session = claim_.begin(make, [this](const std::shared_ptr<Transport>& connection) {
      refresh_dice();
      return std::make_shared<HeldSession>(connection, core::lease::Leaseholder(key_, dice_->split()),
                                           options_.clock, claim_.notice(), options_.observer);
    });
    typename HeldSession::Outcome outcome;
    try {
      claim_.notice().arm();
      outcome = session->acquire(request(timeout, *session->transport()), stop);
    } catch (...) {
      claim_.end(false);
      throw;
    }
    const bool held = outcome.result == core::Result::acquired;
    claim_.end(held);
    session->tell_news();
    log(outcome, held);
    if (held) return {true, {}};
    auto& report = outcome.report;
    if (outcome.result != core::Result::busy)
      return {false, {report.failure.code, claim_.about(report.failure.text)}};
    return {false,
            {Errc::busy, explain_busy_key(key_, report.blocker, report.failure.text)},
            holders_in(report.blocker)};
  }

  [[nodiscard]] core::lease::Request request(Duration timeout, const Transport& transport) const {
    core::lease::Request request;
    request.once = timeout <= Duration::zero();
    const Duration once = options_.unavailable_timeout;
    request.deadline = core::saturating_add(
        options_.clock.now(), request.once ? once + std::min(once / 4, infinite - once) : timeout);
    request.expire = options_.expire;
    request.interval = options_.interval;
    request.fencing = options_.fencing;
    request.server = detail::server_of(transport);
    return request;
  }

  void log(const typename HeldSession::Outcome& outcome, bool held) const {
    if (!options_.logger) return;
    for (const std::string& text : outcome.warnings) options_.logger(claim_.about(text));
    options_.logger(claim_.about(held ? "locked" : "not locked"));
  }

  [[nodiscard]] core::event::Looked look() {
    const auto connection = claim_.connection_to_ask([this] { return Transport::make(options_.connection); });
    Inquiry<Transport, typename Transport::Desk, core::lease::LookUp, Clock> asker(connection, options_.clock,
                                                                                   core::lease::LookUp(key_));
    const auto found = [](const core::lease::LookUp& look_up) { return look_up.found().has_value(); };
    try {
      if (asker.wait_until(options_.unavailable_timeout, found)) return *asker.question().found();
    } catch (const LockError& error) {
      throw LockError({error.kind(), claim_.about(error.what())});
    }
    throw LockError(
        {Errc::connect, claim_.about(detail::server_of(*connection) + " did not answer in time")});
  }

  /// Under the claim's gate. A forked child must not throw what its parent throws.
  void refresh_dice() {
    if (dice_ && dice_pid_ == process_id()) return;
    dice_.emplace(options_.entropy ? options_.entropy() : random_seed());
    dice_pid_ = process_id();
  }

  const std::string key_;
  const Options options_;
  std::optional<core::Dice> dice_;
  std::int64_t dice_pid_ = 0;
  Claim<Transport, HeldSession> claim_;
};

}  // namespace sublock
