// SPDX-License-Identifier: MIT
#pragma once

// Suspicion by name: whoever is named for this channel, exactly, and did not answer. Pure; asking and
// killing are done elsewhere.

#include <sublock/core/name.hpp>
#include <sublock/policies.hpp>

#include <algorithm>
#include <string>

namespace sublock {

/// The default: every holder that was asked twice and silent twice is taken for wedged, and killed.
/// O(connections * log(answered)).
struct ClientListReaper {
  /// Whether the server is asked who is connected.
  static constexpr bool asks = true;

  /// Whom silence makes a suspect.
  [[nodiscard]] Diagnosis examine(const Silence& silence) const {
    Diagnosis diagnosis;
    for (const Connection& connection : silence.connections) {
      const auto holder = core::named_holder(silence.stem, connection.name);
      if (!holder) continue;
      // The old protocol has no ids: one such answer may be anybody's, so it clears them all.
      const bool answered =
          holder->empty() ? silence.legacy_answered : std::ranges::binary_search(silence.answered, *holder);
      if (!answered) diagnosis.suspects.push_back({connection.id, std::string(*holder)});
    }
    return diagnosis;
  }
};

static_assert(ReaperPolicy<ClientListReaper>);

}  // namespace sublock
