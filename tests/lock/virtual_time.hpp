// SPDX-License-Identifier: MIT
#pragma once

// The lock where time and faults are at the test's command: locks and holders, what they cost and what they say.

#include <gtest/gtest.h>
#include <lock/in_memory_worlds.hpp>
#include <lock/lock_fixture.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace sublock::testing {

class VirtualTime : public LockFixture<VirtualWorld> {
 protected:
  /// The defaults of the library, in this world.
  Options options() {
    Options options;
    options.connection = world.reach();
    options.clock = world.clock();
    options.on_warning = [this](std::string_view text) { warnings += std::string(text) + '\n'; };
    return options;
  }

  std::unique_ptr<Lock> lock() { return LockFixture::lock(options()); }

  /// A holder in a process of its own, to which the test may do something.
  struct Holder {
    std::shared_ptr<InMemoryTransport> process;
    std::unique_ptr<Lock> lock;
  };
  Holder holder(LockMode mode = LockMode::exclusive) {
    Holder holder{world.connect(), nullptr};
    holder.lock = std::make_unique<Lock>(holder.process, channel, options());
    holder.lock->acquire({.mode = mode});
    return holder;
  }

  /// What `act` costs the server.
  template <class Act>
  in_memory::Counts cost(Act act) {
    const in_memory::Counts before = world.redis->counts();
    act();
    const in_memory::Counts after = world.redis->counts();
    return {after.requests - before.requests, after.commands - before.commands,
            after.messages - before.messages, after.kills - before.kills};
  }

  /// What the refusal of an acquire says.
  static std::string refusal(auto& lock, const AcquireOptions& how = {}, Errc kind = Errc::busy) {
    try {
      lock.acquire(how);
    } catch (const LockError& error) {
      return error.kind() == kind ? error.what() : "of another kind";
    }
    return "";
  }

  std::string warnings;
};

}  // namespace sublock::testing
