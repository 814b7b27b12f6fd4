// SPDX-License-Identifier: MIT
#pragma once

// Questions from outside: who is on a channel, what is under a key? Each takes a line or a desk of its own and
// leaves nothing behind. What is asked stands in core/; this is the waiting.

#include <sublock/attendance.hpp>
#include <sublock/core/event.hpp>
#include <sublock/perform.hpp>
#include <sublock/policies.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sublock {

/// `Question` is a state machine, such as core::RollCall, that is asked on a `Line`.
template <class Transport, class Line, class Question, ClockPolicy Clock>
class Inquiry final : private core::Listener {
 public:
  Inquiry(std::shared_ptr<Transport> transport, Clock clock, Question question)
      : transport_(std::move(transport)),
        lock_(transport_->mutex()),
        line_(transport_, static_cast<core::Listener&>(*this)),
        clock_(std::move(clock)),
        question_(std::move(question)) {
    question_.start(actions_);
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;
  ~Inquiry() { line_.close(); }

  /// Waits until `done(question)` or for `at_most`; false in the latter case. Throws what the server or
  /// the connection refuses.
  bool wait_until(Duration at_most, auto done) {
    const Instant limit = core::saturating_add(clock_.now(), at_most);
    for (;;) {
      perform();
      if (done(std::as_const(question_))) return true;
      if (question_.failure()) throw LockError(*question_.failure());
      const Instant now = clock_.now();
      if (now >= limit) return false;
      line_.wait(lock_, limit - now, {});
    }
  }

  Line& line() { return line_; }
  [[nodiscard]] const Question& question() const { return question_; }

 private:
  void on_event(const core::Event& event) override {
    question_.on(event, actions_);
    perform();
  }

  void perform() {
    sublock::perform(actions_, line_, clock_, [](const std::string&) {});
  }

  std::shared_ptr<Transport> transport_;  // outlives the lock on its mutex
  std::unique_lock<std::mutex> lock_;
  Line line_;
  Attendance<Line> attendance_{line_};
  Clock clock_;
  Question question_;
  typename Question::Actions actions_;
};

}  // namespace sublock
