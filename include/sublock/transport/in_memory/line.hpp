// SPDX-License-Identifier: MIT
#pragma once

// The in-memory line: each verb of LineOf as the Redis commands it stands for. Timing, faults and
// delivery are in world.hpp.

#include <sublock/transport/in_memory/place.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock::in_memory {

/// One participant's ear and its share of the process's mouth. See LineOf for every verb; nothing is
/// said here but what is peculiar to this model.
class Line : public Place {
 public:
  Line(const std::shared_ptr<InMemoryTransport>& transport, core::Listener& listener)
      : Place(transport, listener, false) {}

  void join(const std::string& channel, const std::string& response_channel, const std::string& client_name,
            const core::action::Rosters& rosters = {}) {
    if (!usable()) return;
    Request request{.verb = core::Verb::join};
    const std::string inbox = std::exchange(state_->response_channel, response_channel);
    request.commands.reserve(8);
    if (!inbox.empty()) request.commands.push_back("UNSUBSCRIBE");
    request.commands.insert(request.commands.end(), {"MULTI", "CLIENT SETNAME", "SUBSCRIBE", "SUBSCRIBE"});
    if (!rosters.own.empty()) request.commands.push_back("SUBSCRIBE");
    request.commands.insert(request.commands.end(), {"PUBSUB NUMSUB", "EXEC"});
    request.run = [=](Server& server, Socket& ear) -> core::Event {
      if (!inbox.empty()) server.unsubscribe(ear, inbox);
      // What CLIENT SETNAME takes; a real server says it in these words.
      for (const char byte : client_name) {
        if (byte < '!' || byte > '~') {
          return core::event::Refused{
              core::Verb::join,
              {Errc::usage, "ERR Client names cannot contain spaces, newlines or special characters."}};
        }
      }
      ear.name = client_name;
      server.subscribe(ear, channel);
      server.subscribe(ear, response_channel);
      if (!server.subscribe_in_multi) return core::event::Joined{};
      if (!rosters.own.empty()) server.subscribe(ear, rosters.own);
      if (rosters.other.empty()) return core::event::Joined{server.subscribers(channel)};
      return core::event::Joined{server.subscribers(channel), server.subscribers(rosters.own),
                                 server.subscribers(rosters.other)};
    };
    state_->subscribed = true;
    world_->ask(*state_->ear, state_, std::move(request));
  }

  void listen(const std::string& channel) {
    if (!usable()) return;
    Request request{.verb = core::Verb::listen};
    const std::string former = std::exchange(state_->response_channel, channel);
    if (!former.empty()) request.commands = {"UNSUBSCRIBE"};
    request.commands.push_back("SUBSCRIBE");
    request.run = [=](Server& server, Socket& ear) -> core::Event {
      if (!former.empty()) server.unsubscribe(ear, former);
      server.subscribe(ear, channel);
      return core::event::Listening{channel};
    };
    state_->subscribed = true;
    world_->ask(*state_->ear, state_, std::move(request));
  }

  void leave(const std::vector<core::action::Note>& notes = {}) {
    if (!usable()) return;
    state_->response_channel.clear();
    Request request{.verb = core::Verb::leave, .commands = {"UNSUBSCRIBE"}};
    request.commands.insert(request.commands.end(), notes.size(), "PUBLISH");
    request.commands.emplace_back("CLIENT SETNAME");
    request.run = [=](Server& server, Socket& ear) -> core::Event {
      server.unsubscribe_all(ear);
      for (const core::action::Note& note : notes) server.publish(note.channel, note.payload);
      ear.name.clear();
      return core::event::Left{};
    };
    world_->ask(*state_->ear, state_, std::move(request));
  }

  void ping(const std::string& channel, const std::string& response_channel, const std::string& payload) {
    ask_mouth({.verb = core::Verb::ping,
               .commands = {"MULTI", "PUBSUB NUMSUB", "PUBLISH", "EXEC"},
               .run = [=](Server& server, Socket&) -> core::Event {
                 const std::size_t count = server.subscribers(channel);
                 return core::event::Pinged{response_channel, count, server.publish(channel, payload)};
               }});
  }

  void ask(const std::string& channel, const std::string& response_channel, const std::string& payload) {
    if (!usable()) return;
    state_->response_channel = response_channel;
    state_->subscribed = true;
    world_->ask(*state_->ear, state_,
                {.verb = core::Verb::ask,
                 .commands = {"MULTI", "SUBSCRIBE", "PUBSUB NUMSUB", "PUBLISH", "EXEC"},
                 .run = [=](Server& server, Socket& ear) -> core::Event {
                   if (!server.subscribe_in_multi) {
                     return core::event::Refused{core::Verb::ask, {Errc::protocol, "no SUBSCRIBE in MULTI"}};
                   }
                   server.subscribe(ear, response_channel);
                   const std::size_t count = server.subscribers(channel);
                   return core::event::Pinged{response_channel, count, server.publish(channel, payload)};
                 }});
  }

  void count(const std::string& channel) {
    ask_mouth({.verb = core::Verb::count,
               .commands = {"PUBSUB NUMSUB"},
               .run = [=](Server& server, Socket&) -> core::Event {
                 return core::event::Counted{server.subscribers(channel)};
               }});
  }

  void list() {
    ask_mouth(
        {.verb = core::Verb::list,
         .commands = {"CLIENT LIST"},
         .run = [](Server& server, Socket&) -> core::Event { return core::event::Listed{server.list()}; }});
  }

  void kill(const std::vector<std::int64_t>& ids) {
    ask_mouth({.verb = core::Verb::kill,
               .commands = std::vector<std::string_view>(ids.size(), "CLIENT KILL"),
               .run = [=](Server& server, Socket& mouth) -> core::Event {
                 core::event::Killed killed;
                 for (const std::int64_t id : ids) killed.count += server.kill(id, &mouth) ? 1 : 0;
                 return killed;
               }});
  }
};

}  // namespace sublock::in_memory
