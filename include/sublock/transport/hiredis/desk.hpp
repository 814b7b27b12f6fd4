// SPDX-License-Identifier: MIT
#pragma once

// What a lease sees of a connection over sockets.

#include <sublock/core/lease/value.hpp>
#include <sublock/transport/hiredis/line.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace sublock::hiredis {

/// One lease's share of the mouth, and an ear while it waits. Everything needs the transport's mutex.
class Desk : public Place {
 public:
  Desk(std::shared_ptr<Connection> connection, core::Listener& listener)
      : Place(std::move(connection), listener, true) {}

  void take(const std::string& key, const std::string& value, core::Duration expire) {
    exchange(core::Verb::take, {.key = key, .value = value, .expire = in_milliseconds(expire)});
  }

  void extend(const std::string& key, const std::string& mark, const std::string& value,
              core::Duration expire) {
    exchange(core::Verb::extend, {key, mark, value, in_milliseconds(expire)});
  }

  void drop(const std::string& key, const std::string& mark) {
    exchange(core::Verb::drop, {.key = key, .mark = mark});
  }

  void look(const std::string& key) { exchange(core::Verb::look, {.key = key}); }

  /// From the server, too, where its notify-keyspace-events has K and g, x or e.
  void hear(const std::string& key) {
    if (!usable()) return;
    const std::string database = std::to_string(state().server->settings.endpoint.database);
    state().server->hear(state(),
                         {core::lease::release_channel(key), "__keyspace@" + database + "__:" + key});
  }

  void deafen() {
    if (usable()) state().server->deafen(state());
  }

 private:
  static std::chrono::milliseconds in_milliseconds(core::Duration span) {
    return std::chrono::ceil<std::chrono::milliseconds>(span);
  }

  void exchange(core::Verb verb, KeyClaim claim) {
    if (usable()) say(Request::about({verb, std::move(claim), state().server->mouth->is_old()}));
  }
};

}  // namespace sublock::hiredis
