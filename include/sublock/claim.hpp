// SPDX-License-Identifier: MIT
#pragma once

// Who uses a lock object just now, on which connection and in which process: the claim of one attempt at
// a time, and of the hold after it. What is done with the claim is not known here.

#include <sublock/error.hpp>
#include <sublock/loss_notice.hpp>
#include <sublock/process_info.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sublock {

/// All members may be called from any thread, but for the constructor and the destructor.
template <class Transport, class HeldSession>
class Claim {
 public:
  /// `subject` begins every sentence about the lock. `given` is the caller's connection, or null for one of
  /// the lock's own.
  Claim(std::string subject, std::shared_ptr<Transport> given, LossNotice::Callback on_lost)
      : subject_(std::move(subject)),
        given_(given != nullptr),
        notice_(std::move(on_lost)),
        connection_(std::move(given)) {}

  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (inherited()) notice_.abandon_in_child();
  }

  /// Claims the object for an attempt, gives it a connection, built by `make` where it has none, and the session
  /// that `start(connection)` returns. Throws Errc::already_held, and Errc::usage in a child that inherited the
  /// object in use, or its connection.
  std::shared_ptr<HeldSession> begin(auto make, auto start) {
    if (inherited()) throw LockError({Errc::usage, about(inherited_text)});
    std::shared_ptr<HeldSession> lost;  // ends its life outside the gate
    const std::lock_guard gate(gate_);
    if (use_ == Use::busy || (use_ == Use::held && !notice_.lost())) {
      throw LockError({Errc::already_held, about("this object has it already, or is just getting it; "
                                                 "release it first, or use another object")});
    }
    if (use_ == Use::held && !given_) connection_.reset();
    lost = std::exchange(session_, nullptr);
    if (connection_ && connection_->foreign()) throw LockError({Errc::usage, about(inherited_text)});
    if (!connection_) connection_ = make();
    session_ = start(connection_);
    user_pid_ = process_id();
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

  /// Whether the lock may be called held, and if not, why not.
  [[nodiscard]] Errc standing() const {
    if (inherited()) return Errc::not_held;
    std::shared_ptr<HeldSession> session;
    {
      const std::lock_guard gate(gate_);
      if (use_ != Use::held || notice_.lost()) return Errc::not_held;
      session = session_;
    }
    return session->doubtful() ? Errc::doubtful : Errc{};
  }

  /// Returns if it is held, else throws why it is not; `in_doubt` says why nobody knows.
  void ensure_held(const char* in_doubt) const {
    if (inherited()) throw LockLost(about("the lock stayed with the parent process of a fork"));
    if (const auto error = notice_.error()) throw *error;
    const Errc state = standing();
    if (state == Errc{}) return;
    if (state == Errc::doubtful) throw LockError({Errc::doubtful, about(in_doubt)});
    throw LockError({Errc::not_held, about("the lock is not held: acquire it first")});
  }

  /// A child of a fork sees the object as it was in the parent, which goes on using it.
  [[nodiscard]] bool inherited() const noexcept {
    const std::int64_t user = user_pid_;
    return user != 0 && user != process_id();
  }

  [[nodiscard]] bool lost() const noexcept { return notice_.lost() || inherited(); }
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

  /// The connection, or one of its own for a question, built by `make`.
  [[nodiscard]] std::shared_ptr<Transport> connection_to_ask(auto make) const {
    auto connection = this->connection();
    if (connection && connection->foreign()) throw LockError({Errc::usage, about(inherited_text)});
    return connection ? connection : make();
  }

  [[nodiscard]] std::string about(const std::string& what) const { return subject_ + ": " + what; }

  /// For what the owner of this object keeps beside; never held while anything blocks.
  [[nodiscard]] std::mutex& gate() const noexcept { return gate_; }

 private:
  enum class Use { free, busy, held };

  static constexpr const char* inherited_text =
      "this object or its connection belongs to the parent process of a fork; make a new one here";

  const std::string subject_;
  const bool given_;
  LossNotice notice_;
  std::atomic<std::int64_t> user_pid_ = 0;  // the process in which it is in use
  mutable std::mutex gate_;                 // guards what follows; never held while anything blocks
  std::shared_ptr<Transport> connection_;
  std::shared_ptr<HeldSession> session_;
  Use use_ = Use::free;
};

}  // namespace sublock
