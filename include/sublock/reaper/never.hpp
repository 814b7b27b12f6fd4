// SPDX-License-Identifier: MIT
#pragma once

// The safe null: silence never costs anybody a lock.

#include <sublock/policies.hpp>

namespace sublock {

/// A silent holder keeps the lock until its connection ends. For servers that allow neither CLIENT
/// LIST nor CLIENT KILL, and for people who would rather wait than kill.
struct NeverReap {
  /// Whether the server is asked who is connected.
  static constexpr bool asks = false;

  /// Whom silence makes a suspect.
  [[nodiscard]] Diagnosis examine(const Silence&) const { return {}; }
};

static_assert(ReaperPolicy<NeverReap>);

}  // namespace sublock
