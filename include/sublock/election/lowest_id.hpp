// SPDX-License-Identifier: MIT
#pragma once

// The election that every portalocker peer holds too: the lowest holder id, byte by byte.

#include <sublock/policies.hpp>

namespace sublock {

/// The smallest id wins, whatever the priorities. The only order that Python peers share.
struct LowestIdElection {
  /// A strict order of ids.
  [[nodiscard]] bool before(const Candidate& a, const Candidate& b) const noexcept {
    return a.holder_id < b.holder_id;
  }
};

static_assert(ElectionPolicy<LowestIdElection>);

}  // namespace sublock
