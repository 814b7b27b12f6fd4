// SPDX-License-Identifier: MIT
#pragma once

// Redis, as far as a lease can see it: one key, one counter, and one command at a time, each a whole.

#include "circumstances.hpp"
#include "world.hpp"

#include <stdexcept>

namespace sublock::lease_sim {

class Server {
 public:
  Server(World& world, const Circumstances& how) : world_(world), how_(how) {}

  /// Executes a command of `who`; the answer.
  Code serve(unsigned who, Code command) {
    switch (command.kind) {
      case Kind::take: {
        const bool free = world_.owner == World::nobody;
        if (free) store(who, command.number);
        if (free && how_.broken == Rule::expire_in_take) world_.left = World::for_ever;
        return {Kind::taken, free};
      }
      case Kind::extend: {
        const bool may = is_of(who, command.number) || how_.broken == Rule::compare_in_extend;
        if (may) store(who, command.number);
        return {Kind::extended, may};
      }
      case Kind::drop: {
        const bool there = world_.owner != World::nobody;
        const bool may = is_of(who, command.number) || (there && how_.broken == Rule::compare_in_drop);
        if (may) remove();
        return {Kind::dropped, may};
      }
      case Kind::look:
        if (world_.owner == World::nobody) return {Kind::looked, no_key};
        return {Kind::looked, is_of(who, present) ? own_key : foreign_key};
      case Kind::increment: return {Kind::incremented, ++world_.counter};
      default: throw std::logic_error("no command");
    }
  }

  /// Time passes.
  void age() {
    if (world_.owner == World::nobody || world_.left == World::for_ever) return;
    if (--world_.left == 0) remove();
  }

 private:
  [[nodiscard]] bool is_of(unsigned who, unsigned mark) const {
    return world_.owner == who && world_.mark == mark;
  }

  void store(unsigned who, unsigned mark) {
    world_.owner = static_cast<std::uint8_t>(who);
    world_.mark = static_cast<std::uint8_t>(mark);
    world_.left = static_cast<std::uint8_t>(how_.expire);
  }

  void remove() {
    world_.owner = World::nobody;
    world_.mark = world_.left = 0;
  }

  World& world_;
  const Circumstances& how_;
};

}  // namespace sublock::lease_sim
