// SPDX-License-Identifier: MIT
#pragma once

// Actions as verbs: the one place where what the core asks for becomes a call on a line.

#include <sublock/core/event.hpp>
#include <sublock/core/lease/action.hpp>
#include <sublock/core/lease/value.hpp>

#include <boost/hana/functional/overload.hpp>

#include <string>
#include <variant>
#include <vector>

namespace sublock {

/// Asks `line` for all of it, in its order, and tells `warn` what is not for a line. A verb never calls back
/// before it returns, so the list does not grow under our feet.
template <class Line>
void perform(std::vector<core::Action>& actions, Line& line, const auto&, auto warn) {
  namespace action = core::action;
  const auto verb = boost::hana::overload(
      [&](const action::Open& open) { line.open(open.channel); }, [&](const action::Close&) { line.close(); },
      [&](const action::Join& join) {
        line.join(join.channel, join.response_channel, join.client_name, join.rosters);
      },
      [&](const action::Listen& listen) { line.listen(listen.channel); },
      [&](const action::Ping& ping) { line.ping(ping.channel, ping.response_channel, ping.payload); },
      [&](const action::Ask& ask) { line.ask(ask.channel, ask.response_channel, ask.payload); },
      [&](const action::Publish& publish) { line.publish(publish.channel, publish.payload); },
      [&](const action::Count& count) { line.count(count.channel); },
      [&](const action::List&) { line.list(); }, [&](const action::Kill& kill) { line.kill(kill.ids); },
      [&](const action::Increment& increment) { line.increment(increment.key); },
      [&](const action::Leave& leave) { line.leave(leave.notes); },
      [&](const action::Warn& warning) { warn(warning.text); });
  for (const core::Action& action : actions) std::visit(verb, action);
  actions.clear();
}

/// The same for leases. By the clock that `clock` has on its wall, whatever is stored says when it expires.
template <class Desk>
void perform(std::vector<core::lease::Action>& actions, Desk& desk, const auto& clock, auto warn) {
  namespace action = core::lease::action;
  const auto value = [&](const std::string& mark, core::Duration expire) {
    return core::lease::value_of(mark, clock.wall() + core::WallTime(expire));
  };
  const auto verb = boost::hana::overload(
      [&](const action::Open&) { desk.open(); }, [&](const action::Close&) { desk.close(); },
      [&](const action::Take& take) { desk.take(take.key, value(take.mark, take.expire), take.expire); },
      [&](const action::Extend& extend) {
        desk.extend(extend.key, extend.mark, value(extend.mark, extend.expire), extend.expire);
      },
      [&](const action::Drop& drop) { desk.drop(drop.key, drop.mark); },
      [&](const action::Look& look) { desk.look(look.key); },
      [&](const action::Hear& hear) { desk.hear(hear.key); }, [&](const action::Deafen&) { desk.deafen(); },
      [&](const action::Increment& increment) { desk.increment(increment.key); },
      [&](const action::Publish& publish) { desk.publish(publish.channel, publish.payload); },
      [&](const action::Warn& warning) { warn(warning.text); });
  for (const core::lease::Action& action : actions) std::visit(verb, action);
  actions.clear();
}

}  // namespace sublock
