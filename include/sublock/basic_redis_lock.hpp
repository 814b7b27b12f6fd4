// SPDX-License-Identifier: MIT
#pragma once

// The lock that users hold: the only room where all four policies meet, and never a particular transport.
// What it promises is written here; how it keeps it is in session.hpp and core/.

#include <sublock/clock/steady.hpp>
#include <sublock/core/name.hpp>
#include <sublock/deadline.hpp>
#include <sublock/election/lowest_id.hpp>
#include <sublock/explain.hpp>
#include <sublock/inquiry.hpp>
#include <sublock/options.hpp>
#include <sublock/reaper/client_list.hpp>
#include <sublock/session.hpp>
#include <sublock/tenancy.hpp>
#include <sublock/version.hpp>
#include <sublock/with_lock.hpp>

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sublock {

/// A lock on a Redis channel, held by being subscribed to it. Models Lockable, TimedLockable and
/// SharedTimedLockable; use it with std::unique_lock, std::scoped_lock, std::shared_lock.
///
/// The owner is the object, not the thread: another thread may release. Taking it twice is an error at
/// once (Errc::already_held). All members may be called from any thread, but for the destructor.
/// After a fork, a child that inherited a held lock does not hold it: `lost()` is true there, `release()`
/// does nothing, and acquiring throws Errc::usage, unless the object had no connection at the fork.
template <TransportPolicy Transport, ElectionPolicy Election = LowestIdElection,
          ReaperPolicy Reaper = ClientListReaper, ClockPolicy Clock = SteadyClock>
class BasicRedisLock {
 public:
  /// What the constructor takes.
  using Options = LockOptions<Transport, Election, Reaper, Clock>;

  /// A lock that builds its own connection when it is acquired, from `options.connection`, and closes it
  /// on release. Connects to nothing yet. Throws Errc::usage for a channel that is no legal name or an
  /// option that makes no sense.
  explicit BasicRedisLock(std::string channel, Options options = {})
      : BasicRedisLock(nullptr, std::move(channel), std::move(options)) {
    static_cast<void>(Transport::make(tenancy_.options().connection));  // refuses a bad address here and now
  }

  /// A lock on a connection of the caller's, shared with other locks and never closed by this one.
  BasicRedisLock(std::shared_ptr<Transport> connection, std::string channel, Options options = {})
      : tenancy_(std::move(connection), std::move(channel), std::move(options)) {}

  BasicRedisLock(const BasicRedisLock&) = delete;
  BasicRedisLock& operator=(const BasicRedisLock&) = delete;

  /// Releases, if the lock is held. Waits for a running on_lost callback.
  ~BasicRedisLock() { release(); }

  // --- acquire and release -----------------------------------------------------------------------

  /// Takes the lock. Blocks until it is held or the timeout is over, plus a few milliseconds to leave
  /// the channel. Throws AlreadyLocked when the time is over, saying who holds it; LockError with
  /// Errc::already_held, cancelled, usage, permission, auth, connect or protocol.
  void acquire(const AcquireOptions& how = {}) {
    Attempt attempt = try_acquire(how);
    if (attempt.held) return;
    if (attempt.failure.code == Errc::busy) {
      throw AlreadyLocked(attempt.failure.text, std::move(attempt.blockers));
    }
    throw LockError(attempt.failure);
  }

  /// Gives the lock back. Blocks for one round trip, and until nothing has been heard for `unavailable_timeout`, four
  /// times that at most; without an answer it drops the connection instead. True if the lock was held until now; false if it had been lost, was
  /// not held, or nobody confirmed.
  bool release() noexcept {
    auto session = claim().take_back();
    if (!session) return false;
    const bool kept = session->release(options().unavailable_timeout);
    tenancy_.had_company(session->inspect([](const auto& participant) { return participant.had_company(); }));
    session->tell_news();
    session.reset();
    claim().end(false);
    return kept;
  }

  /// Runs `work(std::stop_token)` or `work()` while holding the lock, and returns what it returns. The
  /// token is stopped when the lock is lost. Throws what `acquire` and `work` throw; LockLost if the
  /// lock was lost and `work` did not throw.
  template <class Work>
  decltype(auto) with(Work&& work, const AcquireOptions& how = {}) {
    acquire(how);
    return detail::with_lock(
        *this, [](auto* lock) { return lock->release(); }, std::forward<Work>(work));
  }

  // --- Lockable, TimedLockable, SharedTimedLockable ------------------------------------------------

  /// Waits as long as it takes, or until a stop is requested (Errc::cancelled). Throws as `acquire`.
  void lock(std::stop_token stop = {}) { acquire(how(LockMode::exclusive, infinite, std::move(stop))); }
  /// The same, as a reader.
  void lock_shared(std::stop_token stop = {}) { acquire(how(LockMode::shared, infinite, std::move(stop))); }

  /// One attempt, which takes at most `unavailable_timeout` and a quarter. False if somebody else has
  /// the lock, or if nobody could tell; throws for errors.
  [[nodiscard]] bool try_lock() { return tries(how(LockMode::exclusive, Duration::zero(), {})); }
  /// The same, as a reader.
  [[nodiscard]] bool try_lock_shared() { return tries(how(LockMode::shared, Duration::zero(), {})); }

  /// As `acquire` with that timeout, zero and less being one attempt; false instead of AlreadyLocked.
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

  /// The same, until an instant of any clock, which is read once, when the wait begins.
  template <class AnyClock, class Span>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                    std::stop_token stop = {}) {
    return try_lock_for(time_until(deadline, options().clock), std::move(stop));
  }
  /// The same, as a reader.
  template <class AnyClock, class Span>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<AnyClock, Span>& deadline,
                                           std::stop_token stop = {}) {
    return try_lock_shared_for(time_until(deadline, options().clock), std::move(stop));
  }

  /// As `release`, for guards: whether the lock had been lost is left to `lost()`.
  void unlock() noexcept { release(); }
  /// The same, for shared guards.
  void unlock_shared() noexcept { release(); }

  // --- do I still hold it? ---------------------------------------------------------------------------

  /// Acquired, not released, not known to be lost, and not in doubt: after the process stood still
  /// (SIGSTOP, suspend, a stopped VM) it is false until a check of the channel has come back. No network.
  [[nodiscard]] bool held() const { return claim().standing() == Errc{}; }

  /// The last hold was lost. Stays true after release, until the next acquire. No network, no lock.
  [[nodiscard]] bool lost() const noexcept { return claim().lost(); }

  /// Returns if `held()`. Throws LockLost with the cause if it was lost, Errc::doubtful while a check is
  /// under way (ask again in a moment), Errc::not_held if it was never taken. No network.
  void ensure_held() const {
    claim().ensure_held("the process stood still, and the channel is being checked; ask again in a moment");
  }

  /// The token drawn for the present hold: greater than that of every exclusive hold before it which drew
  /// one on this server, and than any that its owners could draw later. A resource that refuses a smaller token than it has seen is safe from holders who
  /// have not noticed their loss yet. Throws Errc::usage without `fencing`, Errc::not_held.
  [[nodiscard]] std::int64_t fence_token() const {
    if (!options().fencing) throw LockError({Errc::usage, text_of("this lock draws no tokens: set fencing")});
    const auto session = claim().inherited() ? nullptr : claim().session();
    std::optional<std::int64_t> token;  // none while it is only on its way
    if (session) token = session->inspect([](const auto& participant) { return participant.fence_token(); });
    if (!token) throw LockError({Errc::not_held, text_of("no token: the lock is not held")});
    return *token;
  }

  /// Stopped when the hold is lost, not when it is released. Belongs to the present hold, or the last.
  [[nodiscard]] std::stop_token stop_token() const { return claim().notice().token(); }

  // --- who is there? ---------------------------------------------------------------------------------

  /// Everybody on the channel, this object included if it holds; asks from outside and disturbs nobody.
  /// Empty if there is nobody. Blocks for one round trip, at most `timeout`. Throws LockError: Errc::busy
  /// where somebody does not answer, or what `acquire` throws.
  [[nodiscard]] std::vector<Holder> probe(Duration timeout = std::chrono::seconds(1)) {
    std::vector<Holder> holders;
    Failure silence{{}, {}};
    const Instant asked = options().clock.now();
    {
      const auto connection = tenancy_.connection_to_ask();
      Asker asker(connection, options().clock, tenancy_.roll_call());
      const auto complete = [](const core::RollCall& call) {
        return call.complete() || call.census().reached() == 0;
      };
      const bool told = asker.wait_until(timeout, complete);
      const core::Census& census = asker.question().census();
      if (!told) silence = explain_silence(channel(), census, detail::server_of(*connection));
      for (const auto& [id, holder] : census.answers()) holders.push_back(holder);
    }
    if (options().observer) {
      const Instant now = options().clock.now();
      std::vector<Holder> others = holders;
      std::erase_if(others, [this](const Holder& holder) { return holder.holder_id == holder_id(); });
      tell(options().observer, {.kind = Observation::Kind::probe,
                                .name = channel(),
                                .holder_id = holder_id(),
                                .at = now,
                                .took = now - asked,
                                .code = silence.code,
                                .text = silence.text,
                                .others = std::move(others)});
    }
    if (!silence.text.empty()) throw LockError(silence);
    return holders;
  }

  /// Is anybody answering on this channel at all? Waits up to `timeout` for its own subscription, and up
  /// to `timeout` again for one answer. True if there is one; otherwise kills the connections that bear
  /// this object's own name, `client_name()`, and returns false (the seed's None). It does not clean up
  /// after others: `acquire` does that by itself.
  bool check_or_kill_lock(std::shared_ptr<Transport> connection, Duration timeout = std::chrono::seconds(1)) {
    Asker asker(std::move(connection), options().clock, tenancy_.roll_call());
    const auto asked = [](const core::RollCall& call) { return call.asked(); };
    const auto answered = [](const core::RollCall& call) { return !call.census().answers().empty(); };
    if (asker.wait_until(timeout, asked) && asker.wait_until(timeout, answered)) return true;
    asker.line().list();
    const auto listed = [](const core::RollCall& call) { return call.connections().has_value(); };
    if (!asker.wait_until(timeout, listed)) return false;
    std::vector<std::int64_t> ids;
    for (const Connection& listed_one : *asker.question().connections()) {
      if (listed_one.name == client_name()) ids.push_back(listed_one.id);
    }
    asker.line().kill(ids);
    asker.wait_until(timeout, [](const core::RollCall& call) { return call.killed(); });
    return false;
  }

  // --- who am I? -----------------------------------------------------------------------------------

  /// As it was given.
  [[nodiscard]] const std::string& channel() const noexcept { return tenancy_.channel(); }
  /// 32 hex digits that name this object on the channel.
  [[nodiscard]] const std::string& holder_id() const noexcept { return tenancy_.holder_id(); }

  /// What this object answers to a ping now.
  [[nodiscard]] HolderMode mode() const {
    const auto session = claim().session();
    if (session) return session->inspect([](const auto& participant) { return participant.mode(); });
    return options().mode == LockMode::shared ? HolderMode::shared : HolderMode::pending;
  }

  /// First in line while readers drain, or the exclusive holder.
  [[nodiscard]] bool writer_elected() const {
    const auto session = claim().session();
    return session && session->inspect([](const auto& participant) { return participant.elected(); });
  }

  /// The name of the subscribing connection while on the channel.
  [[nodiscard]] std::string client_name() const { return core::client_name(channel(), holder_id()); }
  /// What portalocker before 4.0 names its connections on this channel.
  [[nodiscard]] std::string legacy_client_name() const { return core::legacy_client_name(channel()); }

  /// The connection: the caller's, or the lock's own while it has one, or null.
  [[nodiscard]] std::shared_ptr<Transport> connection() const { return claim().connection(); }

 private:
  using HeldSession = typename Tenancy<Transport, Election, Reaper, Clock>::HeldSession;
  using Asker = Inquiry<Transport, typename Transport::Line, core::RollCall, Clock>;

  struct Attempt {
    bool held = false;
    Failure failure;
    std::vector<Holder> blockers;
  };

  static AcquireOptions how(LockMode mode, Duration timeout, std::stop_token stop) {
    return {.mode = mode, .timeout = timeout, .fail_when_locked = false, .stop = std::move(stop)};
  }

  bool tries(const AcquireOptions& how) {
    const Attempt attempt = try_acquire(how);
    if (!attempt.held && attempt.failure.code != Errc::busy) throw LockError(attempt.failure);
    return attempt.held;
  }

  Attempt try_acquire(const AcquireOptions& how) {
    check_acquire(channel(), options(), how);
    if (how.stop.stop_requested())
      return {false, {Errc::cancelled, text_of("cancelled before it began")}, {}};
    const std::shared_ptr<HeldSession> session = tenancy_.begin();
    typename HeldSession::Outcome outcome;
    try {
      claim().notice().arm();
      outcome = session->acquire(request(how), how.stop);
    } catch (...) {
      claim().end(false);
      throw;
    }
    const bool held = outcome.result == core::Result::acquired;
    claim().end(held);
    session->tell_news();
    if (options().on_warning) {
      for (const std::string& warning : outcome.warnings) options().on_warning(text_of(warning));
    }
    if (held) return {true, {}, {}};
    auto& report = outcome.report;
    if (outcome.result != core::Result::busy) return {false, explain_failure(channel(), report.failure), {}};
    return {false,
            {Errc::busy, explain_busy(channel(), report.blockers, report.trouble, report.strangers)},
            std::move(report.blockers)};
  }

  [[nodiscard]] core::Request request(const AcquireOptions& how) const {
    core::Request request;
    const Duration timeout = how.timeout.value_or(options().timeout);
    request.mode = how.mode.value_or(options().mode);
    request.once = timeout == Duration::zero();
    request.polite = tenancy_.had_company();
    request.fail_when_locked = how.fail_when_locked.value_or(options().fail_when_locked);
    request.check_interval = how.check_interval.value_or(options().check_interval);
    request.unavailable_timeout = options().unavailable_timeout;
    request.self_check_interval = options().self_check_interval;
    request.fencing = options().fencing;
    request.server = detail::server_of(*connection());
    // One attempt may take as long as a probe, and a moment to look into the silence after it.
    const Duration once = core::saturating_add(Instant{}, options().unavailable_timeout).time_since_epoch();
    request.deadline = core::saturating_add(
        options().clock.now(), request.once ? once + std::min(once / 4, infinite - once) : timeout);
    return request;
  }

  [[nodiscard]] const Options& options() const noexcept { return tenancy_.options(); }
  [[nodiscard]] auto& claim() noexcept { return tenancy_.claim(); }
  [[nodiscard]] const auto& claim() const noexcept { return tenancy_.claim(); }

  [[nodiscard]] std::string text_of(const std::string& what) const { return about(channel(), what); }

  Tenancy<Transport, Election, Reaper, Clock> tenancy_;
};

}  // namespace sublock
