// SPDX-License-Identifier: MIT
#pragma once

// Questions to a channel from outside: who is there, and is anybody? Each takes a line of its own and
// leaves nothing behind. The protocol of asking is in core/roll_call.hpp; this is the waiting.

#include <sublock/attendance.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/printable.hpp>
#include <sublock/core/roll_call.hpp>
#include <sublock/perform.hpp>
#include <sublock/policies.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock {

template <TransportPolicy Transport, ClockPolicy Clock>
class Inquiry final : private core::Listener {
 public:
  Inquiry(std::shared_ptr<Transport> transport, Clock clock, core::RollCall roll_call)
      : transport_(std::move(transport)),
        lock_(transport_->mutex()),
        line_(transport_, static_cast<core::Listener&>(*this)),
        clock_(std::move(clock)),
        roll_call_(std::move(roll_call)) {
    core::RollCall::start(actions_);
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;
  ~Inquiry() { line_.close(); }

  /// Waits until `done(roll_call)` or for `at_most`; false in the latter case. Throws what the server or
  /// the connection refuses.
  bool wait_until(Duration at_most, auto done) {
    const Instant limit = core::saturating_add(clock_.now(), at_most);
    for (;;) {
      perform();
      if (done(std::as_const(roll_call_))) return true;
      if (roll_call_.failure()) throw LockError(*roll_call_.failure());
      const Instant now = clock_.now();
      if (now >= limit) return false;
      line_.wait(lock_, limit - now, {});
    }
  }

  typename Transport::Line& line() { return line_; }
  [[nodiscard]] const core::RollCall& roll_call() const { return roll_call_; }

 private:
  void on_event(const core::Event& event) override {
    roll_call_.on(event, actions_);
    perform();
  }

  void perform() {
    sublock::perform(actions_, line_, clock_, [](const std::string&) {});
  }

  std::shared_ptr<Transport> transport_;  // outlives the lock on its mutex
  std::unique_lock<std::mutex> lock_;
  typename Transport::Line line_;
  Attendance<typename Transport::Line> attendance_{line_};
  Clock clock_;
  core::RollCall roll_call_;
  std::vector<core::Action> actions_;
};

}  // namespace sublock
