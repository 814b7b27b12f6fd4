// SPDX-License-Identifier: MIT
#pragma once

// What the laws of transports and lines stand on: a world, and names in it that no other test uses. A world is asked
// for, not a transport, since a law needs a hand in the server as well.
//
// | a world needs              | meaning                                                                  |
// | -------------------------- | ------------------------------------------------------------------------ |
// | `Transport`                | the model under test                                                     |
// | default constructor        | a server that nobody but this test and former ones' remains uses         |
// | `connect()`                | shared_ptr<Transport>: a process of its own                              |
// | `publish(channel, bytes)`  | by a raw client; returns the receivers                                   |
// | `subscribers(channel)`     | as a raw client counts them                                              |
// | `kill(id)`                 | the server closes that connection                                        |
// | `close_everything()`       | the server closes every connection of this world's processes             |
// | `close_mouths()`           | the server closes every one that subscribes to nothing                   |
//
// It may have a static `channel_of(name)`: what a channel that begins with `name` must be called there; and
// `refuses_to_ask`, where to listen and to ping can't be one step; `shares_ears`, where names are not of one channel.

#include <gtest/gtest.h>
#include <unistd.h>
#include <sublock/core/shared_ear.hpp>
#include <sublock/policies.hpp>
#include <support/recorder.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::testing {

namespace event = core::event;

/// A world, and names in it that no other test uses.
template <class World>
class TransportFixture : public ::testing::Test {
 protected:
  using Transport = typename World::Transport;
  using Process = Caller<Transport>;

  TransportFixture() {
    static int tests = 0;
    channel = "laws-" + std::to_string(::getpid()) + '-' + std::to_string(++tests);
    if constexpr (requires { World::channel_of(channel); }) channel = World::channel_of(channel);
  }

  /// A response channel or inbox of our channel.
  [[nodiscard]] std::string response(std::string_view tail) const {
    return channel + '-' + std::string(tail);
  }

  [[nodiscard]] std::string client_name(std::string_view tail) const {
    return channel + "-lock-" + std::string(tail);
  }

  std::unique_ptr<Process> opened(std::shared_ptr<Transport> transport) {
    auto caller = std::make_unique<Process>(std::move(transport));
    EXPECT_TRUE(caller->template answered<event::Opened>([this](auto& line) { line.open(this->channel); }));
    return caller;
  }

  std::unique_ptr<Process> opened() { return opened(world.connect()); }

  /// Open and joined to `channel`, with response channel and client name ending in `tail`.
  std::unique_ptr<Process> joined(std::string_view tail) {
    auto caller = opened();
    EXPECT_TRUE(join(*caller, tail));
    return caller;
  }

  ::testing::AssertionResult join(Process& caller, std::string_view tail) {
    return caller.template answered<event::Joined>(
        [&](auto& line) { line.join(channel, response(tail), client_name(tail), {}); });
  }

  ::testing::AssertionResult leave(Process& caller) {
    return caller.template answered<event::Left>([](auto& line) { line.leave(); });
  }

  /// What the server lists under the names of this test, by client name.
  std::vector<core::Connection> named(Process& caller) {
    EXPECT_TRUE(caller.template answered<event::Listed>([](auto& line) { line.list(); }));
    auto listed = caller.template last<event::Listed>().connections;
    std::erase_if(listed, [&](const auto& connection) {
      const auto ear = core::shared_ear_named(connection.name);
      return !connection.name.starts_with(channel) &&
             (!ear || this->world.subscribers(core::ear_mark(channel, *ear)) == 0);
    });
    std::ranges::sort(listed, {}, &core::Connection::name);
    return listed;
  }

  World world;
  std::string channel;
};

}  // namespace sublock::testing
