// SPDX-License-Identifier: MIT
#pragma once

// A listener that writes down what it is told, and a caller: one line of any transport with a recorder,
// and a bounded way to wait for what one expects. Knows no transport by name.

#include <gtest/gtest.h>
#include <sublock/policies.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::testing {

/// A Message that owns its bytes.
struct Text {
  std::string channel;
  std::string payload;

  friend bool operator==(const Text&, const Text&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Text& text) {
    return out << '"' << text.payload << "\" on \"" << text.channel << '"';
  }
};

/// Guarded by the mutex of the transport that tells it.
class Recorder final : public core::Listener {
 public:
  /// Every event by name, messages with their payload, refusals with their verb's number.
  std::vector<std::string> order;

  template <class T>
  [[nodiscard]] const std::vector<T>& all() const {
    return std::get<std::vector<T>>(events_);
  }

  template <class T>
  [[nodiscard]] std::size_t count() const {
    return all<T>().size();
  }

  template <class T>
  [[nodiscard]] T last() const {
    if (all<T>().empty()) throw std::logic_error("there was no such event");
    return all<T>().back();
  }

  void on_event(const core::Event& event) override {
    std::visit([this](const auto& what) { record(what); }, event);
  }

 private:
  void record(const core::event::Message& message) {
    order.push_back("Message " + std::string(message.payload));
    std::get<std::vector<Text>>(events_).push_back(
        {std::string(message.channel), std::string(message.payload)});
  }

  template <class T>
  void record(const T& event) {
    order.push_back(name_of(event));
    std::get<std::vector<T>>(events_).push_back(event);
  }

  static std::string name_of(const core::event::Opened&) { return "Opened"; }
  static std::string name_of(const core::event::Joined&) { return "Joined"; }
  static std::string name_of(const core::event::Listening&) { return "Listening"; }
  static std::string name_of(const core::event::Pinged&) { return "Pinged"; }
  static std::string name_of(const core::event::Counted&) { return "Counted"; }
  static std::string name_of(const core::event::Incremented&) { return "Incremented"; }
  static std::string name_of(const core::event::Keyed& keyed) { return keyed.done ? "Keyed" : "Not keyed"; }
  static std::string name_of(const core::event::Looked&) { return "Looked"; }
  static std::string name_of(const core::event::Reminded&) { return "Reminded"; }
  static std::string name_of(const core::event::Doubted&) { return "Doubted"; }
  static std::string name_of(const core::event::Listed&) { return "Listed"; }
  static std::string name_of(const core::event::Killed&) { return "Killed"; }
  static std::string name_of(const core::event::Left&) { return "Left"; }
  static std::string name_of(const core::event::Lost&) { return "Lost"; }
  static std::string name_of(const core::event::Refused& refused) {
    return "Refused " + std::to_string(static_cast<int>(refused.verb));
  }

  std::tuple<
      std::vector<core::event::Opened>, std::vector<core::event::Joined>, std::vector<core::event::Listening>,
      std::vector<Text>, std::vector<core::event::Pinged>, std::vector<core::event::Counted>,
      std::vector<core::event::Incremented>, std::vector<core::event::Keyed>,
      std::vector<core::event::Looked>, std::vector<core::event::Reminded>, std::vector<core::event::Doubted>,
      std::vector<core::event::Listed>, std::vector<core::event::Killed>, std::vector<core::event::Left>,
      std::vector<core::event::Refused>, std::vector<core::event::Lost>>
      events_;
};

/// How long a test waits for what must come. Only a failing test takes that long.
inline constexpr auto patience = std::chrono::seconds(10);
/// How long one wait lasts, so that a condition which no event announces is seen too.
inline constexpr auto glance = std::chrono::milliseconds(10);

/// One participant's side of a conversation: takes the transport's mutex where it is needed, so the
/// test doesn't hold it.
template <TransportPolicy Transport, class Line = typename Transport::Line>
class Caller {
 public:
  explicit Caller(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {
    const std::lock_guard lock(transport_->mutex());
    line_.emplace(transport_, recorder_);
  }

  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  ~Caller() { destroy(); }

  /// Destroys the line; the recorder remains.
  void destroy() {
    const std::lock_guard lock(transport_->mutex());
    line_.reset();
  }

  /// Runs `speak(line)` with the mutex held.
  template <class Speak>
  Caller& say(Speak speak) {
    const std::lock_guard lock(transport_->mutex());
    speak(*line_);
    return *this;
  }

  /// What `look(recorder)` returns, a copy, with the mutex held.
  template <class Look>
  auto heard(Look look) const {
    const std::lock_guard lock(transport_->mutex());
    return look(recorder_);
  }

  [[nodiscard]] std::vector<std::string> order() const {
    return heard([](const Recorder& recorder) { return recorder.order; });
  }

  template <class T>
  [[nodiscard]] T last() const {
    return heard([](const Recorder& recorder) { return recorder.last<T>(); });
  }

  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    return heard([](const Recorder& recorder) { return std::vector<T>(recorder.all<T>()); });
  }

  void wait(Duration at_most, std::stop_token stop = {}) {
    std::unique_lock lock(transport_->mutex());
    line_->wait(lock, at_most, std::move(stop));
  }

  /// Waits until `condition()`, evaluated without the mutex, is true.
  template <class Condition>
  ::testing::AssertionResult eventually(Condition condition) {
    // Virtual time passes in no time, real time with few waits: give up only where both were enough.
    const auto start = std::chrono::steady_clock::now();
    for (int waits = 0; !condition(); ++waits) {
      if (waits > patience / glance && std::chrono::steady_clock::now() - start > patience) {
        auto result = ::testing::AssertionFailure() << "it never came; this line heard:";
        for (const std::string& event : order()) result << " [" << event << ']';
        return result;
      }
      wait(glance);
    }
    return ::testing::AssertionSuccess();
  }

  /// Waits until at least `count` events of a kind have come, counted from the beginning.
  template <class T>
  ::testing::AssertionResult hears(std::size_t count = 1) {
    return eventually([&] { return all<T>().size() >= count; });
  }

  /// Waits for one more event of a kind than there was before `speak`.
  template <class T, class Speak>
  ::testing::AssertionResult answered(Speak speak) {
    const std::size_t before = all<T>().size();
    say(speak);
    return hears<T>(before + 1);
  }

 private:
  std::shared_ptr<Transport> transport_;
  Recorder recorder_;
  std::optional<Line> line_;
};

}  // namespace sublock::testing
