// SPDX-License-Identifier: MIT
#pragma once

// Which worlds are alike: marks are renumbered by age and tokens by rank, what makes no difference any more is
// forgotten, and participants stand in an order of their own.

#include "circumstances.hpp"
#include "world.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sublock::lease_sim {

/// Where each participant stood before.
using Order = std::array<std::uint8_t, players_max>;

class Likeness {
 public:
  Likeness(World& world, const Circumstances& how) : world_(world), how_(how) {}

  /// From now on the present mark of `who` is a past one.
  void renew_mark(unsigned who) {
    each_mark(who, [](std::uint8_t mark) { return static_cast<std::uint8_t>(mark + 1); });
    for (Code& code : world_.players[who].answers) {
      if (code == Code{Kind::looked, own_key}) code.number = foreign_key;
    }
    renumber_marks(who);
  }

  Order normalize() {
    for (unsigned who = 0; who < how_.players; ++who) {
      if (how_.lean) forget_commands(who);
      close_ranks(world_.players[who]);
      renumber_marks(who);
    }
    if (how_.fencing) rank_tokens();
    return how_.symmetric ? sort() : in_order();
  }

 private:
  void each_mark(unsigned who, auto change) {
    Player& one = world_.players[who];
    const auto in = [&](auto& queue) {
      for (Code& code : queue) {
        if (has_mark(code.kind)) code.number = change(code.number);
      }
    };
    in(one.commands);
    for (auto& queue : one.former) in(queue);
    if (world_.owner == who) world_.mark = change(world_.mark);
  }

  void renumber_marks(unsigned who) {
    std::array<bool, 16> used{};
    used[present] = true;
    each_mark(who, [&](std::uint8_t mark) { return used.at(mark) = true, mark; });
    std::array<std::uint8_t, 16> numbers{};
    std::uint8_t count = 0;
    for (std::size_t mark = 0; mark < used.size(); ++mark) {
      if (used[mark]) numbers[mark] = count++;
    }
    each_mark(who, [&](std::uint8_t mark) { return numbers[mark]; });
  }

  /// Of connections that are gone nobody hears an answer. There what asks for nothing else comes to nothing, and
  /// what would change a key that is not there, nor ever will be. A counter may always have been higher.
  void forget_commands(unsigned who) {
    Player& one = world_.players[who];
    const auto takes = [&](const auto& queue, unsigned mark) {
      return std::ranges::any_of(queue,
                                 [&](Code code) { return code.kind == Kind::take && code.number == mark; });
    };
    for (auto& queue : one.former) {
      queue.erase_if([&](Code code) {
        if (code.kind == Kind::look || code.kind == Kind::increment) return true;
        if (code.kind == Kind::take) return false;
        const bool there = world_.owner == who && world_.mark == code.number;
        const auto comes = [&](const auto& other) { return takes(other, code.number); };
        return !there && !comes(one.commands) && std::ranges::none_of(one.former, comes);
      });
    }
  }

  static void close_ranks(Player& one) {
    std::stable_partition(one.former.begin(), one.former.end(),
                          [](const auto& queue) { return !queue.empty(); });
  }

  /// A token not higher than one that was held with is as good as any such.
  void rank_tokens() {
    std::array<bool, 64> used{};
    const auto each = [&](auto change) {
      for (unsigned who = 0; who < how_.players; ++who) {
        Player& one = world_.players[who];
        one.token = change(one.token);
        for (Code& code : one.answers) {
          if (code.kind == Kind::incremented) code.number = change(code.number);
        }
      }
    };
    each([&](std::uint8_t token) { return used.at(token) = true, token; });
    std::array<std::uint8_t, 64> ranks{};
    std::uint8_t rank = world_.highest > 0 ? 1 : 0;
    for (std::size_t token = 1; token < used.size(); ++token) {
      if (used[token]) ranks[token] = token <= world_.highest ? 1 : ++rank;
    }
    each([&](std::uint8_t token) { return ranks[token]; });
    if (world_.highest > 0) world_.highest = 1;
    world_.counter = rank;
  }

  Order sort() {
    std::array<Packer::Buffer, players_max> buffers;
    std::array<std::string_view, players_max> looks;
    Order order = in_order();
    for (unsigned who = 0; who < how_.players; ++who) {
      Packer packer(buffers[who]);
      walk_player(packer, world_.players[who]);
      packer.flag(world_.owner == who);
      looks[who] = packer.packed();
    }
    for (unsigned end = how_.players; end > 1; --end) {
      for (unsigned at = 1; at < end; ++at) {
        if (looks[order[at]] < looks[order[at - 1]]) std::swap(order[at], order[at - 1]);
      }
    }
    if (order == in_order()) return order;
    const auto before = world_.players;
    const unsigned owner = world_.owner;
    for (unsigned who = 0; who < how_.players; ++who) {
      world_.players[who] = before[order[who]];
      if (owner == order[who]) world_.owner = static_cast<std::uint8_t>(who);
    }
    return order;
  }

  static Order in_order() { return {0, 1, 2}; }

  World& world_;
  const Circumstances& how_;
};

}  // namespace sublock::lease_sim
