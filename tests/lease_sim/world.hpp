// SPDX-License-Identifier: MIT
#pragma once

// The searched world as one value: participants by the numbers of their states, the key, and what is on its way
// between them. Times are what is left of them, tokens are ranks and marks are ages, so that two worlds which
// only differ in the date are the same.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace sublock::lease_sim {

inline constexpr std::size_t players_max = 3;

using StateId = std::uint16_t;

enum class Kind : std::uint8_t {
  // commands; those with a mark have it for a number
  take,
  extend,
  drop,
  look,
  increment,
  // answers
  opened,
  taken,     // 1 where it was done
  extended,  // the same
  dropped,   // the same
  looked,    // Found
  incremented,
  unreachable,  // the Kind of the command
  busy,         // the same
  // what else happens to a participant
  acquire,
  release,
  cancel,
  abandon,
  tick,
  deadline,
  doubted,
  lost,
  listening,
  age,
  // and what else it asks for
  open,
  close,
  hear,
  deafen,
  renew,  // its mark, from here on
};

enum Found : std::uint8_t { no_key, own_key, foreign_key };

/// A mark by its age: the present one, or one of those before, as far as they are to be told apart.
inline constexpr unsigned present = 0;

struct Code {
  Kind kind = Kind::take;
  std::uint8_t number = 0;

  friend constexpr bool operator==(Code, Code) = default;
};

[[nodiscard]] constexpr bool has_mark(Kind kind) {
  return kind == Kind::take || kind == Kind::extend || kind == Kind::drop;
}

/// First in, first out, and never more than `Capacity`.
template <std::size_t Capacity>
class Queue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Code front() const { return items_[0]; }
  [[nodiscard]] Code* begin() { return items_.data(); }
  [[nodiscard]] Code* end() { return items_.data() + size_; }
  [[nodiscard]] const Code* begin() const { return items_.data(); }
  [[nodiscard]] const Code* end() const { return items_.data() + size_; }

  /// False where there is no room.
  [[nodiscard]] bool push(Code code) {
    if (size_ == Capacity) return false;
    items_[size_++] = code;
    return true;
  }
  void pop() { erase(0); }
  void clear() { size_ = 0; }

  void erase_if(auto unwanted) {
    for (std::size_t at = size_; at-- > 0;) {
      if (unwanted(items_[at])) erase(at);
    }
  }

 private:
  void erase(std::size_t at) {
    for (std::size_t i = at + 1; i < size_; ++i) items_[i - 1] = items_[i];
    --size_;
  }

  std::array<Code, Capacity> items_{};
  std::uint8_t size_ = 0;
};

/// One participant with its connection, and with what is left of connections before.
struct Player {
  StateId state = 0;
  std::uint8_t tries = 0;  // left
  std::uint8_t token = 0;  // that it has drawn, if its state has one
  bool open = false;
  bool asleep = false;
  bool stalled = false;  // awake, and not told yet
  bool subscribing = false;
  Queue<10> commands;  // that the server has not executed yet
  Queue<10> answers;
  std::array<Queue<10>, 3> former;  // commands of connections that are gone
};

struct World {
  std::array<Player, players_max> players;
  std::uint8_t owner = nobody;  // of the key
  std::uint8_t mark = 0;
  std::uint8_t left = 0;     // until it expires
  std::uint8_t counter = 0;  // behind the tokens
  std::uint8_t highest = 0;  // token of any hold so far
  // what is still to come
  std::uint8_t breaks = 0;
  std::uint8_t losses = 0;
  std::uint8_t refusals = 0;
  std::uint8_t doubts = 0;
  std::uint8_t sleeps = 0;

  static constexpr std::uint8_t nobody = 255;
  static constexpr std::uint8_t for_ever = 255;
};

/// Every byte of `one` in turn.
template <class Archive, class AnyPlayer>
void walk_player(Archive& archive, AnyPlayer& one) {
  archive.number(one.state);
  for (auto* byte : {&one.tries, &one.token}) archive.byte(*byte);
  for (auto* flag : {&one.open, &one.asleep, &one.stalled, &one.subscribing}) archive.flag(*flag);
  archive.queue(one.commands);
  archive.queue(one.answers);
  for (auto& queue : one.former) archive.queue(queue);
}

template <class Archive, class AnyWorld>
void walk(Archive& archive, AnyWorld& world, unsigned players) {
  for (unsigned who = 0; who < players; ++who) walk_player(archive, world.players[who]);
  for (auto* byte : {&world.owner, &world.mark, &world.left, &world.counter, &world.highest, &world.breaks,
                     &world.losses, &world.refusals, &world.doubts, &world.sleeps}) {
    archive.byte(*byte);
  }
}

class Packer {
 public:
  /// More than any world takes.
  using Buffer = std::array<char, 512>;

  explicit Packer(Buffer& out) : start_(out.data()), at_(out.data()) {}

  [[nodiscard]] std::string_view packed() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }

  void byte(std::uint8_t value) { *at_++ = static_cast<char>(value); }
  void flag(bool value) { byte(value ? 1 : 0); }
  void number(StateId value) {
    byte(static_cast<std::uint8_t>(value));
    byte(static_cast<std::uint8_t>(value >> 8U));
  }
  void queue(const auto& items) {
    static_assert(sizeof(World) < sizeof(Buffer));
    byte(static_cast<std::uint8_t>(items.size()));
    for (const Code code : items) {
      if (code.number > 7) throw std::logic_error("a number too large to be packed");
      byte(static_cast<std::uint8_t>(static_cast<unsigned>(code.kind) << 3U | code.number));
    }
  }

 private:
  const char* start_;
  char* at_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : at_(text.data()) {}

  void byte(std::uint8_t& value) { value = next(); }
  void flag(bool& value) { value = next() != 0; }
  void number(StateId& value) {
    const unsigned low = next();
    value = static_cast<StateId>(low | static_cast<unsigned>(next()) << 8U);
  }
  void queue(auto& items) {
    items.clear();
    for (unsigned left = next(); left > 0; --left) {
      const unsigned bits = next();
      static_cast<void>(items.push({static_cast<Kind>(bits >> 3U), static_cast<std::uint8_t>(bits & 7U)}));
    }
  }

 private:
  std::uint8_t next() { return static_cast<std::uint8_t>(*at_++); }

  const char* at_;
};

}  // namespace sublock::lease_sim
