// SPDX-License-Identifier: MIT
#pragma once

// A look at a key from outside: what is there, whoever put it there. Takes a desk of its own, for one question.

#include <sublock/attendance.hpp>
#include <sublock/core/event.hpp>
#include <sublock/explain_lease.hpp>
#include <sublock/policies.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sublock {

template <LeaseTransportPolicy Transport, ClockPolicy Clock>
class KeyInquiry final : private core::Listener {
 public:
  KeyInquiry(std::shared_ptr<Transport> transport, Clock clock, std::string key)
      : transport_(std::move(transport)),
        lock_(transport_->mutex()),
        desk_(transport_, static_cast<core::Listener&>(*this)),
        clock_(std::move(clock)),
        key_(std::move(key)) {
    desk_.open();
  }
  KeyInquiry(const KeyInquiry&) = delete;
  KeyInquiry& operator=(const KeyInquiry&) = delete;
  ~KeyInquiry() { desk_.close(); }

  /// Throws what the server or the connection refuses, Errc::connect where there is no answer within `at_most`.
  [[nodiscard]] core::event::Looked look(Duration at_most) {
    const Instant limit = core::saturating_add(clock_.now(), at_most);
    while (!found_ && !failure_) {
      const Instant now = clock_.now();
      if (now >= limit) {
        failure_ = {Errc::connect, detail::server_of(*transport_) + " did not answer in time"};
      } else {
        desk_.wait(lock_, limit - now, {});
      }
    }
    if (found_) return *found_;
    throw LockError({failure_->code, about_key(key_) + ": " + failure_->text});
  }

 private:
  void on_event(const core::Event& event) override {
    if (std::holds_alternative<core::event::Opened>(event)) desk_.look(key_);
    if (const auto* found = std::get_if<core::event::Looked>(&event)) found_ = *found;
    if (const auto* refused = std::get_if<core::event::Refused>(&event)) failure_ = refused->failure;
    if (const auto* lost = std::get_if<core::event::Lost>(&event)) failure_ = lost->failure;
  }

  std::shared_ptr<Transport> transport_;  // outlives the lock on its mutex
  std::unique_lock<std::mutex> lock_;
  typename Transport::Desk desk_;
  Attendance<typename Transport::Desk> attendance_{desk_};
  Clock clock_;
  std::string key_;
  std::optional<core::event::Looked> found_;
  std::optional<Failure> failure_;
};

}  // namespace sublock
