// SPDX-License-Identifier: MIT
#pragma once

// From a connection to a listener: the one way by which events are told, at once or later, and the
// record of a line that it needs for that.

#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/poller.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::hiredis {

class Ear;
class Mouth;
class Server;

/// A line, as the transport knows it. Needs the transport's mutex.
struct LineState : std::enable_shared_from_this<LineState> {
  explicit LineState(core::Listener& whom) : listener(whom) {}

  core::Listener& listener;
  std::shared_ptr<Ear> ear;          // null while not open, or while there is no address to connect to
  Server* server = nullptr;          // to which it is, or was last, led; outlives it
  std::size_t slot = 0;              // of its channel, in a cluster
  std::string channel;               // where ears are shared, by others of other channels
  bool deaf = false;                 // a desk's: an ear is not needed to be open
  bool open = false;                 // from open() to close() or until the ear is lost
  bool announced = false;            // Opened is told or on its way
  bool usable = false;               // Opened has been told
  bool lost = false;                 // a Lost is on its way
  std::uint64_t epoch = 0;           // grows with each close() and each loss: older events are stale
  std::uint64_t told = 0;            // events, ever
  std::vector<std::string> to_hear;  // of a desk, once its ear is there
  core::Instant reminder = core::Instant::max();
  std::vector<Sleeper*> sleepers;
};

/// Needs the transport's mutex.
class Delivery {
 public:
  explicit Delivery(Poller& poller) : poller_(poller) {}

  /// Tells the listener now: only while a turn is being processed, never from inside a verb.
  void now(LineState& line, const core::Event& event) {
    ++line.told;
    for (Sleeper* sleeper : line.sleepers) sleeper->wake();
    line.listener.on_event(event);
  }

  /// Tells it in the next turn, which is not far: somebody is woken for it where nobody is busy. Stale
  /// by then if the line has been closed in between.
  void later(LineState& line, const core::Event& event) {
    with_next_turn(line, event);
    if (!poller_.busy()) poller_.wake();
  }

  /// Tells it in the next turn, whoever takes it: for what is of no use to a line unless it waits.
  void with_next_turn(LineState& line, const core::Event& event) {
    posts_.push_back({line.weak_from_this(), line.epoch, event});
  }

  [[nodiscard]] bool pending() const noexcept { return !posts_.empty(); }

  void deliver_pending() {
    for (std::size_t left = posts_.size(); left > 0; --left) {
      const Posted posted = std::move(posts_.front());
      posts_.pop_front();
      const auto line = posted.line.lock();
      if (!line || line->epoch != posted.epoch) continue;
      if (std::holds_alternative<core::event::Opened>(posted.event)) line->usable = true;
      if (std::holds_alternative<core::event::Lost>(posted.event)) line->lost = false;
      now(*line, posted.event);
    }
  }

 private:
  struct Posted {
    std::weak_ptr<LineState> line;
    std::uint64_t epoch;
    core::Event event;
  };

  Poller& poller_;
  std::deque<Posted> posts_;
};

}  // namespace sublock::hiredis
