// SPDX-License-Identifier: MIT
#pragma once

// The rule by which somebody takes a majority of locks on servers that know nothing of each other: which one to ask
// for next, whether to wait for it, and when to give up what he has. Pure; no I/O, no thread, no clock.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sublock::core {

/// The seats are asked for in one order, the same for everybody, and nobody waits for one before those that he has:
/// so no two wait for each other, and a minority is held only while there is hope for more. Whoever has enough asks
/// for the rest as well, without waiting, for a seat to spare is a server that may fail.
class Quorum {
 public:
  enum class Move : std::uint8_t {
    wait_for,  ///< ask for `seat()`, and wait until it is free
    try_for,   ///< ask for `seat()`, and don't wait
    hold,      ///< the majority is had
    give_back  ///< it can't be had now: give back all seats, then `start` anew
  };

  /// Throws nothing; of no seats nobody ever has a majority.
  explicit Quorum(std::size_t seats) : seats_(seats, Seat::open) {}

  /// Nothing is held, and everything may be asked for.
  void start() { std::ranges::fill(seats_, Seat::open); }

  [[nodiscard]] Move next() const {
    if (is_had()) return seat() == seats_.size() ? Move::hold : Move::try_for;
    return count(Seat::held) + count(Seat::open) < needed() ? Move::give_back : Move::wait_for;
  }

  /// The first that has not been asked for.
  [[nodiscard]] std::size_t seat() const {
    return static_cast<std::size_t>(std::ranges::find(seats_, Seat::open) - seats_.begin());
  }

  void got(std::size_t seat) { seats_[seat] = Seat::held; }
  /// Its server can't be reached, or somebody else has it and nobody waits.
  void missed(std::size_t seat) { seats_[seat] = Seat::out; }
  void lost(std::size_t seat) { seats_[seat] = Seat::out; }

  /// More than half of them are held.
  [[nodiscard]] bool is_had() const { return count(Seat::held) >= needed(); }
  [[nodiscard]] std::size_t needed() const { return seats_.size() / 2 + 1; }
  [[nodiscard]] bool has(std::size_t seat) const { return seats_[seat] == Seat::held; }

  friend bool operator==(const Quorum&, const Quorum&) = default;
  friend auto operator<=>(const Quorum&, const Quorum&) = default;

 private:
  enum class Seat : std::uint8_t { open, held, out };

  [[nodiscard]] std::size_t count(Seat kind) const {
    return static_cast<std::size_t>(std::ranges::count(seats_, kind));
  }

  std::vector<Seat> seats_;
};

}  // namespace sublock::core
