// SPDX-License-Identifier: MIT
#pragma once

// What a line and a desk of the in-memory transport have in common: a place in a process, and the verbs that both
// know. Timing, faults and delivery are in world.hpp.

#include <sublock/transport/in_memory/world.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace sublock {

class InMemoryTransport;

namespace in_memory {

/// See LineOf and DeskOf for every verb. Between open() and Opened it is not open yet.
class Place {
 public:
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void open(std::string_view = {}) { world_->open(process_, state_); }
  void close() { world_->close(process_, state_); }

  void publish(const std::string& channel, const std::string& payload) {
    if (!usable()) return;
    world_->send_up(world_->mouth_of(process_),
                    {.commands = {"PUBLISH"}, .run = [=](Server& server, Socket&) {
                       server.publish(channel, payload);
                       return std::optional<core::Event>();
                     }});
  }

  void increment(const std::string& key) {
    ask_mouth({.verb = core::Verb::increment,
               .commands = {"INCR"},
               .run = [=](Server& server, Socket&) -> core::Event {
                 return core::event::Incremented{server.keys.increment(key)};
               }});
  }

  void remind(Duration delay) {
    if (usable()) world_->remind(state_, delay);
  }

  /// Pumps deliveries for every line of the world, and passes the time as the world's pacing has it.
  /// `at_most` holds in a wedged or crashed process too, where nothing is delivered.
  void wait(std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
    const std::shared_ptr<LineState> state = state_;
    world_->wait(lock, state, at_most, stop);
  }

 protected:
  Place(const std::shared_ptr<InMemoryTransport>& transport, core::Listener& listener, bool deaf);

  ~Place() {
    close();
    state_->listener = nullptr;
    if (--process_->lines == 0 && process_->orphaned) world_->end(*process_);
  }

  [[nodiscard]] bool usable() const { return state_->is_open && !process_->crashed; }

  void ask_mouth(Request request) {
    if (usable()) world_->ask(world_->mouth_of(process_), state_, std::move(request));
  }

  std::shared_ptr<World> world_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<LineState> state_ = std::make_shared<LineState>();
};

}  // namespace in_memory
}  // namespace sublock
