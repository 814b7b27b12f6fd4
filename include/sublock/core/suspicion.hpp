// SPDX-License-Identifier: MIT
#pragma once

// Looking into silence (R12): who on the server's list is named for this channel and did not answer, and
// who of those was silent twice. Pure; asking, listing and killing are the participant's moves.

#include <sublock/core/census.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/request.hpp>
#include <sublock/policies.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace sublock::core {

using Suspects = std::vector<Diagnosis::Suspect>;

/// Two connections with our own name: one of them is not ours, and its silence would look like our voice.
[[nodiscard]] inline bool has_twin(const Identity& self, const std::vector<Connection>& connections) {
  return std::ranges::count(connections, client_name(self.channel, self.holder_id), &Connection::name) > 1;
}

/// Everybody who is named for the channel and did not answer. Where this is empty, whoever else is silent
/// is a stranger; whatever a reaper may think.
[[nodiscard]] inline Suspects silent_by_name(const Identity& self, const Census& census,
                                             const std::vector<Connection>& connections) {
  const std::string stem = name_stem(self.channel);
  Suspects silent;
  for (const Connection& connection : connections) {
    const auto holder = named_holder(stem, connection.name);
    if (!holder) continue;
    const bool answered = holder->empty()
                              ? census.legacy_answered()
                              : *holder == self.holder_id || census.has_answered(std::string(*holder));
    if (!answered) silent.push_back({connection.id, std::string(*holder)});
  }
  return silent;
}

/// Those of the silent whom the reaper would kill. It chooses among them, and can't add any.
template <ReaperPolicy Reaper>
[[nodiscard]] Suspects choose_suspects(const Reaper& reaper, const Identity& self, const Census& census,
                                       const std::vector<Connection>& connections, Suspects silent) {
  const std::string stem = name_stem(self.channel);
  const std::vector<std::string> answered = census.answered();
  const Suspects chosen = reaper.examine({stem, answered, census.legacy_answered(), connections}).suspects;
  std::erase_if(silent, [&](const Diagnosis::Suspect& suspect) {
    return std::ranges::find(chosen, suspect.connection_id, &Diagnosis::Suspect::connection_id) ==
           chosen.end();
  });
  return silent;
}

/// Those of the one who are also in the other, with the same connection.
[[nodiscard]] inline Suspects in_both(Suspects suspects, const Suspects& others) {
  std::erase_if(suspects, [&](const Diagnosis::Suspect& suspect) {
    return std::ranges::find(others, suspect) == others.end();
  });
  return suspects;
}

[[nodiscard]] inline std::string describe_silence(const Census& census) {
  return std::to_string(census.missing()) + " of " + std::to_string(census.reached().value_or(0)) +
         " subscribers did not answer in time";
}

[[nodiscard]] inline std::string describe_strangers(const Census& census) {
  return std::to_string(census.strangers()) +
         " subscribers of the channel neither answer nor are named as holders; somebody runs SUBSCRIBE on it";
}

[[nodiscard]] inline std::string describe_kill(const Suspects& suspects) {
  std::string text = "asked twice and silent twice, so their connections were killed:";
  for (const auto& [id, holder] : suspects)
    text += ' ' + (holder.empty() ? "one of the old protocol" : holder);
  return text;
}

}  // namespace sublock::core
