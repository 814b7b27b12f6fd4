// SPDX-License-Identifier: MIT
#pragma once

// Reproducible words: fresh channel names and jitter for one participant, all from the seed it was
// given. The seed's own randomness is somebody else's business.

#include <sublock/core/holder.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace sublock::core {

/// Two independent splitmix64 streams: 128 bits of seed give 128 bits of name.
class Dice {
 public:
  using Seed = std::array<std::uint64_t, 2>;

  Dice() = default;
  explicit Dice(Seed seed) : state_(seed) {}

  /// 32 lowercase hex digits, never the same twice for one seed.
  [[nodiscard]] std::string fresh_id() {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string id;
    id.reserve(32);
    for (std::uint64_t& state : state_) {
      const std::uint64_t word = next(state);
      for (int shift = 60; shift >= 0; shift -= 4) id += digits[(word >> shift) & 0xf];
    }
    return id;
  }

  /// Dice of their own for somebody else, who must not throw the same.
  [[nodiscard]] Dice split() { return Dice({next(state_[0]), next(state_[1])}); }

  /// `mean`, times 0.5 to 1.5: contenders that start together don't stay together.
  [[nodiscard]] Duration jittered(Duration mean) {
    const double factor = 0.5 + static_cast<double>(next(state_[0]) >> 11U) * 0x1.0p-53;
    const double product = static_cast<double>(mean.count()) * factor;
    return product < static_cast<double>(Duration::max().count())
               ? Duration(static_cast<Duration::rep>(product))
               : Duration::max();
  }

  friend bool operator==(const Dice&, const Dice&) = default;

 private:
  static std::uint64_t next(std::uint64_t& state) {
    std::uint64_t word = state += 0x9e3779b97f4a7c15U;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }

  Seed state_{};
};

}  // namespace sublock::core
