// SPDX-License-Identifier: MIT
#pragma once

// The searched world as one value: participants by the numbers of their states, the connections between
// them and the server, and what is on its way. Small, copied at every step, and knows no rule of anything.

#include "cast.hpp"
#include "code.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sublock::sim {

/// A subscribing connection as the server sees it.
struct Ear {
  enum class Hears : std::uint8_t { nothing, present_channel, past_channel };

  bool up = false;
  bool counted = false;   // subscribed to the lock channel
  bool unmarked = false;  // no more to the mark that is kept with it
  Hears hears = Hears::nothing;
  std::uint8_t generation = 0;
  Queue<3> in{};  // commands that the server has not executed yet
};

/// A fencing token, and whether its owner's ear was counted when it was drawn.
enum class Drew : std::uint8_t { nothing, as_counted, as_ghost };

/// One participant with its two connections, and with what is left of those it has lost. Nothing orders one
/// connection against another.
struct Player {
  StateId state = 0;
  std::uint8_t tries = 0;  // left
  std::uint8_t asked = 0;  // pings in this try, two being many
  Drew drew = Drew::nothing;
  std::uint8_t timeouts = 0;  // times it may still lose patience
  Ear ear;
  Queue<8> ear_news;  // what the ear has still to tell
  Queue<8> mouth;     // commands that the server has not executed yet
  Queue<6> mouth_news;
  Ear ghost;             // an ear that its owner has lost and the server has not
  Queue<6> ghost_mouth;  // commands that may still arrive from a mouth that broke
};

struct World {
  std::array<Player, players_max> players;
  // faults still to come
  std::uint8_t kills = 0;
  std::uint8_t losses = 0;
  std::uint8_t breaks = 0;
  std::uint8_t faults = 0;  // of all kinds together
};

/// Every byte of `world` in turn, for packing and unpacking.
template <class Archive, class AnyWorld>
void walk(Archive& archive, AnyWorld& world, unsigned players) {
  const auto queue = [&archive](auto& items) { archive.queue(items); };
  const auto ear = [&](auto& one) {
    archive.flags(one);
    queue(one.in);
  };
  for (unsigned who = 0; who < players; ++who) {
    auto& player = world.players[who];
    archive.state(player.state);
    archive.counters(player);
    archive.byte(player.timeouts);
    ear(player.ear);
    ear(player.ghost);
    queue(player.ear_news);
    queue(player.mouth);
    queue(player.mouth_news);
    queue(player.ghost_mouth);
  }
  archive.byte(world.kills);
  archive.byte(world.losses);
  archive.byte(world.breaks);
  archive.byte(world.faults);
}

class Packer {
 public:
  /// More than any world takes.
  using Buffer = std::array<char, 512>;

  explicit Packer(Buffer& out) : start_(out.data()), at_(out.data()) {}

  [[nodiscard]] std::string_view packed() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }

  void byte(std::uint8_t value) { *at_++ = static_cast<char>(value); }
  void counters(const Player& player) {
    byte(static_cast<std::uint8_t>(unsigned{player.tries} << 4U | static_cast<unsigned>(player.drew) << 2U |
                                   player.asked));
  }
  void state(StateId id) {
    for (const unsigned shift : {0U, 8U, 16U}) byte(static_cast<std::uint8_t>(id >> shift));
  }
  void flags(const Ear& ear) {
    byte(static_cast<std::uint8_t>((ear.up ? 1U : 0U) | (ear.counted ? 2U : 0U) |
                                   static_cast<unsigned>(ear.hears) << 2U |
                                   static_cast<unsigned>(ear.generation) << 4U | (ear.unmarked ? 128U : 0U)));
  }
  void queue(const auto& items) {
    static_assert(sizeof(World) < sizeof(Buffer));
    byte(static_cast<std::uint8_t>(items.size()));
    for (const Code code : items) {
      byte(static_cast<std::uint8_t>(code.bits()));
      byte(static_cast<std::uint8_t>(code.bits() >> 8U));
    }
  }

 private:
  const char* start_;
  char* at_;
};

class Unpacker {
 public:
  explicit Unpacker(const char* at) : at_(at) {}

  void byte(std::uint8_t& value) { value = static_cast<std::uint8_t>(next()); }
  void counters(Player& player) {
    const unsigned all = next();
    player.tries = static_cast<std::uint8_t>(all >> 4U);
    player.drew = static_cast<Drew>(all >> 2U & 3U);
    player.asked = static_cast<std::uint8_t>(all & 3U);
  }
  void state(StateId& id) {
    id = 0;
    for (const unsigned shift : {0U, 8U, 16U}) id |= static_cast<StateId>(next()) << shift;
  }
  void flags(Ear& ear) {
    const unsigned bits = next();
    ear.up = (bits & 1U) != 0;
    ear.counted = (bits & 2U) != 0;
    ear.hears = static_cast<Ear::Hears>(bits >> 2U & 3U);
    ear.generation = static_cast<std::uint8_t>(bits >> 4U & 7U);
    ear.unmarked = (bits & 128U) != 0;
  }
  void queue(auto& items) {
    items.clear();
    for (unsigned left = next(); left > 0; --left) {
      const unsigned low = next();
      static_cast<void>(items.push(Code::raw(static_cast<std::uint16_t>(low | next() << 8U))));
    }
  }

 private:
  unsigned next() { return static_cast<unsigned char>(*at_++); }

  const char* at_;
};

}  // namespace sublock::sim
