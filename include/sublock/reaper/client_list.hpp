// SPDX-License-Identifier: MIT
#pragma once

// Suspicion by name: whoever is named for this channel, exactly, and did not answer. Pure; asking and
// killing are done elsewhere.

#include <sublock/policies.hpp>

#include <algorithm>
#include <string_view>

namespace sublock {

/// The default. Names must match to the last byte: on channel `a`, a connection of channel `a-lock-b`
/// or a tool that calls itself `a-lock-mytool` is none of ours. O(connections * log(answered)).
struct ClientListReaper {
  static constexpr bool asks = true;

  [[nodiscard]] Diagnosis examine(const Silence& silence) const {
    Diagnosis diagnosis;
    for (const Connection& connection : silence.connections) {
      std::string_view rest = connection.name;
      if (!remove_prefix(rest, silence.name) || !remove_prefix(rest, "-lock")) continue;
      if (rest.empty()) {
        // The old protocol has no ids: one such answer may be anybody's, so it clears them all.
        if (!silence.legacy_answered) diagnosis.suspects.push_back({connection.id, {}});
        continue;
      }
      if (!remove_prefix(rest, "-") || !is_holder_id(rest)) continue;
      if (!std::ranges::binary_search(silence.answered, rest)) {
        diagnosis.suspects.push_back({connection.id, std::string(rest)});
      }
    }
    return diagnosis;
  }

 private:
  static bool remove_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  }

  static bool is_holder_id(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }
};

static_assert(ReaperPolicy<ClientListReaper>);

}  // namespace sublock
