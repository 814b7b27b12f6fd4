// SPDX-License-Identifier: MIT
#pragma once

// The sentences of errors about leases: what happened, to which key, and what to do. Nothing is decided here.

#include <sublock/core/event.hpp>
#include <sublock/core/lease/attempt.hpp>
#include <sublock/explain.hpp>

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {

/// Whom a sentence is about.
[[nodiscard]] inline std::string about_key(std::string_view key) { return "key " + detail::quoted(key); }

/// "the lock on key 'x' was lost by 3f…: the key is gone, or somebody else's; others may hold it now"
[[nodiscard]] inline std::string explain_loss(const core::lease::Identity& self, const std::string& why) {
  return "the lock on " + about_key(self.key) + " was lost by " + self.uuid + ": " + why +
         "; others may hold it now";
}

/// Who holds the key, as far as its value tells.
[[nodiscard]] inline std::vector<Holder> holders_in(const std::optional<core::event::Looked>& blocker) {
  const auto value = blocker ? core::lease::decode_value(blocker->value) : std::nullopt;
  if (!value) return {};
  return {Holder{.holder_id = value->uuid}};
}

/// "the lock on key 'x' could not be had in time: 3f… has it, for another 1400 ms at least unless it is extended"
[[nodiscard]] inline std::string explain_busy_key(std::string_view key,
                                                  const std::optional<core::event::Looked>& blocker,
                                                  const std::string& trouble) {
  std::ostringstream text;
  text << "the lock on " << about_key(key) << " could not be had in time";
  if (blocker) {
    const auto value = core::lease::decode_value(blocker->value);
    text << ": "
         << (value ? core::printable(value->uuid) + " has it" : "something that is no lock is stored there");
    if (blocker->left) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*blocker->left);
      text << ", and " << (value ? "its lease" : "it") << " ends in " << left.count()
           << " ms unless it is extended";
    } else {
      text << ", and the key has no expiry, so it will never be free by itself: find out who left it there, "
              "and "
              "delete it";
    }
  }
  if (!trouble.empty()) text << "; " << trouble;
  if (!blocker && trouble.empty()) text << ": others were quicker; wait longer";
  return text.str();
}

}  // namespace sublock
