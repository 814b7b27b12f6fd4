// SPDX-License-Identifier: MIT
#pragma once

// What can go wrong, once: the enum, its category, and the exceptions of the throwing edge. No other
// room invents an error of its own.

#include <sublock/core/holder.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace sublock {

/// Every failure this library reports. Compares equal to the std::errc that names the same thing.
enum class Errc {
  busy = 1,      ///< somebody else has the lock, or nobody could tell in time
  lost,          ///< the lock was held and is gone; others may hold it now
  doubtful,      ///< held, but the process stood still, and whether it still is held is being checked
  not_held,      ///< asked about a lock that this object does not hold
  already_held,  ///< this object already holds the lock, or another thread is acquiring with it
  cancelled,     ///< the stop_token asked to give up
  permission,    ///< the server's user may not run a command or use a channel that a lock needs
  auth,          ///< the server refused the credentials, or wants some
  connect,       ///< the server can't be reached, or stopped answering
  protocol,      ///< the server answered something that no Redis would
  usage,         ///< the call makes no sense: an option, a channel name, a URL, the server's role
};

/// As it may be called in a log, or as a label of a metric.
[[nodiscard]] constexpr std::string_view name_of(Errc code) noexcept {
  switch (code) {
    case Errc::busy: return "busy";
    case Errc::lost: return "lost";
    case Errc::doubtful: return "doubtful";
    case Errc::not_held: return "not_held";
    case Errc::already_held: return "already_held";
    case Errc::cancelled: return "cancelled";
    case Errc::permission: return "permission";
    case Errc::auth: return "auth";
    case Errc::connect: return "connect";
    case Errc::protocol: return "protocol";
    case Errc::usage: return "usage";
  }
  return "unknown";
}

namespace detail {

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "sublock"; }

  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<Errc>(value)) {
      case Errc::busy: return "the lock is held by somebody else";
      case Errc::lost: return "the lock was lost";
      case Errc::doubtful: return "whether the lock is still held is being checked";
      case Errc::not_held: return "the lock is not held";
      case Errc::already_held: return "this lock object is already in use";
      case Errc::cancelled: return "the wait was cancelled";
      case Errc::permission: return "the Redis user lacks a permission";
      case Errc::auth: return "Redis refused the credentials";
      case Errc::connect: return "Redis can't be reached";
      case Errc::protocol: return "the server's answer makes no sense";
      case Errc::usage: return "the call makes no sense";
    }
    return "unknown error";
  }

  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<Errc>(value)) {
      case Errc::busy: return std::errc::resource_unavailable_try_again;
      case Errc::lost: return std::errc::owner_dead;
      case Errc::doubtful: return std::errc::resource_unavailable_try_again;
      case Errc::not_held: return std::errc::operation_not_permitted;
      case Errc::already_held: return std::errc::resource_deadlock_would_occur;
      case Errc::cancelled: return std::errc::operation_canceled;
      case Errc::permission:
      case Errc::auth: return std::errc::permission_denied;
      case Errc::connect: return std::errc::not_connected;
      case Errc::protocol: return std::errc::protocol_error;
      case Errc::usage: return std::errc::invalid_argument;
    }
    return {value, *this};
  }
};

}  // namespace detail

/// The one error category of this library. Thread-safe.
[[nodiscard]] inline const std::error_category& category() noexcept {
  static const detail::Category instance;
  return instance;
}

[[nodiscard]] inline std::error_code make_error_code(Errc value) noexcept {
  return {static_cast<int>(value), category()};
}

/// A failure as a value, on its way to the edge where it may be thrown.
struct Failure {
  Errc code = Errc::busy;  ///< what kind of failure
  std::string text;        ///< what happened, to which channel or server, and what to do; never a secret

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// The base of everything this library throws. `code()` is an Errc, `what()` says what to do next.
class LockError : public std::system_error {
 public:
  /// What happened, as an error_code and a sentence.
  explicit LockError(const Failure& failure)
      : std::system_error(make_error_code(failure.code), failure.text), text_(failure.text) {}

  /// The sentence alone; `code().message()` would only say it again in general.
  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }

  /// `code()` as the enumeration that it is.
  [[nodiscard]] Errc kind() const noexcept { return static_cast<Errc>(code().value()); }

 private:
  std::runtime_error text_;  // which can be copied without throwing, as an exception must be
};

/// The lock could not be had in time; `holders()` is who was in the way, as far as anybody could tell.
class AlreadyLocked : public LockError {
 public:
  /// `holders` may be empty: nobody could tell who.
  AlreadyLocked(const std::string& text, std::vector<Holder> holders)
      : LockError({Errc::busy, text}), holders_(std::move(holders)) {}

  /// Who was in the way at the last look.
  [[nodiscard]] const std::vector<Holder>& holders() const noexcept { return holders_; }

 private:
  std::vector<Holder> holders_;
};

/// The lock was held and is gone.
class LockLost : public LockError {
 public:
  /// A sentence that says why.
  explicit LockLost(const std::string& text) : LockError({Errc::lost, text}) {}
};

}  // namespace sublock

/// @cond for_std
template <>
struct std::is_error_code_enum<sublock::Errc> : std::true_type {};
/// @endcond
