// SPDX-License-Identifier: MIT
#pragma once

// Randomness from the system, and the only place that asks for it.

#include <sublock/core/dice.hpp>

#include <cstdint>
#include <random>

namespace sublock {

/// A seed of 128 random bits. Throws what std::random_device throws.
[[nodiscard]] inline core::Dice::Seed random_seed() {
  std::random_device device;
  const auto word = [&device] {
    return (static_cast<std::uint64_t>(device()) << 32U) ^ static_cast<std::uint64_t>(device());
  };
  return {word(), word()};
}

}  // namespace sublock
