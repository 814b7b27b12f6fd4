// SPDX-License-Identifier: MIT
#pragma once

// Random choices that repeat: the same seed makes the same ones, on every machine. Nothing here knows what
// is chosen.

#include <sublock/core/dice.hpp>
#include <sublock/policies.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sublock::testing {

/// A splitmix64 stream. The standard's engines would do, its distributions would not: they differ from one
/// library to the next.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t word() {
    std::uint64_t word = state_ += 0x9e3779b97f4a7c15U;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }

  /// 0 to `count` - 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(word() % count); }

  bool percent(unsigned share) { return below(100) < share; }

  Duration between(Duration least, Duration most) {
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Duration(static_cast<Duration::rep>(word() % span));
  }

  template <class T>
  const T& of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

  /// A stream of its own, for somebody who must not disturb this one.
  Chance split() { return Chance(word()); }

 private:
  std::uint64_t state_;
};

/// What happened in a run, boiled down to a number: two runs that took the same way have the same.
class Trace {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte, word >>= 8U) hash_ = (hash_ ^ (word & 0xffU)) * 0x100000001b3U;
  }
  void add(Instant when) { add(static_cast<std::uint64_t>(when.time_since_epoch().count())); }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;  // FNV-1a
};

}  // namespace sublock::testing
