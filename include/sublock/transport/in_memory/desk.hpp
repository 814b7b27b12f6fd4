// SPDX-License-Identifier: MIT
#pragma once

// The in-memory desk: each verb of DeskOf as the Redis commands it stands for. Timing, faults and delivery are in
// world.hpp.

#include <sublock/core/lease/value.hpp>
#include <sublock/transport/in_memory/place.hpp>

#include <memory>
#include <string>
#include <utility>

namespace sublock::in_memory {

/// One lease's share of the process's mouth, and an ear while it waits. See DeskOf for every verb.
class Desk : public Place {
 public:
  Desk(const std::shared_ptr<InMemoryTransport>& transport, core::Listener& listener)
      : Place(transport, listener, true) {}

  void take(const std::string& key, const std::string& value, Duration expire) {
    ask_mouth(
        {.verb = core::Verb::take, .commands = {"SET"}, .run = [=](Server& server, Socket&) -> core::Event {
           return core::event::Keyed{core::Verb::take, server.keys.set_if_absent(key, value, expire)};
         }});
  }

  void extend(const std::string& key, const std::string& mark, const std::string& value, Duration expire) {
    ask_mouth({.verb = core::Verb::extend,
               .commands = {"EVAL"},
               .run = [=](Server& server, Socket&) -> core::Event {
                 const bool ours = server.keys.begins_with(key, mark);
                 if (ours) server.keys.set(key, value, expire);
                 return core::event::Keyed{core::Verb::extend, ours};
               }});
  }

  void drop(const std::string& key, const std::string& mark) {
    ask_mouth(
        {.verb = core::Verb::drop, .commands = {"EVAL"}, .run = [=](Server& server, Socket&) -> core::Event {
           const bool ours = server.keys.begins_with(key, mark);
           if (ours) server.keys.erase(key);
           return core::event::Keyed{core::Verb::drop, ours};
         }});
  }

  void look(const std::string& key) {
    ask_mouth({.verb = core::Verb::look,
               .commands = {"TYPE", "GETRANGE", "PTTL"},
               .run = [=](Server& server, Socket&) -> core::Event { return server.keys.look(key); }});
  }

  void hear(const std::string& key) {
    if (!usable()) return;
    const std::string channel = core::lease::release_channel(key);
    world_->hear(process_, state_,
                 {.verb = core::Verb::listen,
                  .commands = {"SUBSCRIBE"},
                  .run = [=](Server& server, Socket& ear) -> core::Event {
                    server.subscribe(ear, channel);
                    return core::event::Listening{channel};
                  }});
  }

  void deafen() { world_->deafen(state_); }
};

}  // namespace sublock::in_memory
