// SPDX-License-Identifier: MIT
#pragma once

// Who uses a lock object just now, on which connection and in which process: the claim of one attempt at
// a time, and of the hold after it. What is done with the claim is not known here.

#include <sublock/core/name.hpp>
#include <sublock/core/roll_call.hpp>
#include <sublock/entropy.hpp>
#include <sublock/explain.hpp>
#include <sublock/loss_notice.hpp>
#include <sublock/options.hpp>
#include <sublock/process_info.hpp>
#include <sublock/session.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sublock {

/// All members may be called from any thread, but for the constructor and the destructor.
template <TransportPolicy Transport, ElectionPolicy Election, ReaperPolicy Reaper, ClockPolicy Clock>
class Tenancy {
 public:
  using HeldSession = Session<Transport, Election, Reaper, Clock>;
  using Options = LockOptions<Transport, Election, Reaper, Clock>;

  /// `given` is the caller's connection, or null for one of the lock's own.
  Tenancy(std::shared_ptr<Transport> given, std::string channel, Options options)
      : channel_(std::move(channel)),
        options_(std::move(options)),
        given_(given != nullptr),
        notice_(options_.on_lost),
        connection_(std::move(given)) {
    check_options(channel_, options_);
    identity_ = fresh_identity();
  }

  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;
  ~Tenancy() {
    if (inherited()) notice_.abandon_in_child();
  }

  /// Claims the object for an attempt, and gives it a connection and an identity. Throws Errc::already_held,
  /// and Errc::usage in a child that inherited the object in use, or its connection.
  std::shared_ptr<HeldSession> begin() {
    if (inherited()) throw LockError({Errc::usage, about(channel_, inherited_text)});
    std::shared_ptr<HeldSession> lost;  // ends its life outside the gate
    const std::lock_guard gate(gate_);
    if (use_ == Use::busy || (use_ == Use::held && !notice_.lost())) {
      throw LockError({Errc::already_held, about(channel_,
                                                 "this object has it already, or is just getting it; "
                                                 "release it first, or use another object")});
    }
    if (use_ == Use::held && !given_) connection_.reset();
    lost = std::exchange(session_, nullptr);
    if (connection_ && connection_->foreign())
      throw LockError({Errc::usage, about(channel_, inherited_text)});
    if (identity_.pid != process_id()) {
      dice_ = core::Dice(seed());  // a forked child must not throw what its parent throws
      identity_ = fresh_identity();
    }
    if (!connection_) connection_ = Transport::make(options_.connection);
    session_ = std::make_shared<HeldSession>(
        connection_,
        typename HeldSession::Participant(identity_, dice_.split(), options_.election, options_.reaper),
        options_.clock, notice_);
    user_pid_ = identity_.pid;
    use_ = Use::busy;
    return session_;
  }

  /// What is held, to be released; null where nothing is, or where somebody else releases it already.
  std::shared_ptr<HeldSession> take_back() noexcept {
    if (inherited()) return nullptr;
    const std::lock_guard gate(gate_);
    if (use_ != Use::held) return nullptr;
    use_ = Use::busy;
    return session_;
  }

  /// The attempt has led to a hold, or it is over, or the hold is; what only it needed ends outside the gate.
  void end(bool held) {
    std::shared_ptr<HeldSession> session;
    std::shared_ptr<Transport> connection;
    const std::lock_guard gate(gate_);
    use_ = held ? Use::held : Use::free;
    if (held) return;
    session = std::exchange(session_, nullptr);
    if (!given_) connection = std::exchange(connection_, nullptr);
    user_pid_ = 0;
  }

  /// Somebody waited for the lock when it was last given back.
  [[nodiscard]] bool had_company() const noexcept { return had_company_; }
  void had_company(bool had) noexcept { had_company_ = had; }

  /// Whether the lock may be called held, and if not, why not.
  [[nodiscard]] Errc standing() const {
    if (inherited()) return Errc::not_held;
    std::shared_ptr<HeldSession> session;
    {
      const std::lock_guard gate(gate_);
      if (use_ != Use::held || notice_.lost()) return Errc::not_held;
      session = session_;
    }
    const bool doubtful = session->transport()->stalled() ||
                          session->inspect([](const auto& participant) { return participant.doubtful(); });
    return doubtful ? Errc::doubtful : Errc{};
  }

  /// A child of a fork sees the object as it was in the parent, which goes on using it.
  [[nodiscard]] bool inherited() const noexcept {
    const std::int64_t user = user_pid_;
    return user != 0 && user != process_id();
  }

  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& holder_id() const noexcept { return identity_.holder_id; }
  [[nodiscard]] LossNotice& notice() noexcept { return notice_; }
  [[nodiscard]] const LossNotice& notice() const noexcept { return notice_; }

  [[nodiscard]] std::shared_ptr<HeldSession> session() const {
    const std::lock_guard gate(gate_);
    return session_;
  }

  [[nodiscard]] std::shared_ptr<Transport> connection() const {
    const std::lock_guard gate(gate_);
    return connection_;
  }

  /// The connection, or one of its own for a question.
  [[nodiscard]] std::shared_ptr<Transport> connection_to_ask() const {
    auto connection = this->connection();
    if (connection && connection->foreign()) throw LockError({Errc::usage, about(channel_, inherited_text)});
    return connection ? connection : Transport::make(options_.connection);
  }

  [[nodiscard]] core::RollCall roll_call() {
    const std::lock_guard gate(gate_);
    const std::string response_channel = channel_ + '-' + dice_.fresh_id();
    return {channel_, response_channel, {holder_id(), options_.priority}};
  }

 private:
  enum class Use { free, busy, held };

  static constexpr const char* inherited_text =
      "this object or its connection belongs to the parent process of a fork; make a new one here";

  [[nodiscard]] core::Identity fresh_identity() {
    return {channel_,       options_.holder_id.empty() ? dice_.fresh_id() : options_.holder_id,
            host_name(),    process_id(),
            options_.label, options_.priority};
  }

  [[nodiscard]] core::Dice::Seed seed() const {
    return options_.entropy ? options_.entropy() : random_seed();
  }

  const std::string channel_;
  const Options options_;
  const bool given_;
  core::Dice dice_{seed()};  // seeded once: asking the system can cost more than a round trip
  core::Identity identity_;
  LossNotice notice_;
  std::atomic<std::int64_t> user_pid_ = 0;  // the process in which it is in use
  std::atomic<bool> had_company_ = false;
  mutable std::mutex gate_;  // guards what follows; never held while anything blocks
  std::shared_ptr<Transport> connection_;
  std::shared_ptr<HeldSession> session_;
  Use use_ = Use::free;
};

}  // namespace sublock
