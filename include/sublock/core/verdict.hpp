// SPDX-License-Identifier: MIT
#pragma once

// The decision: what a complete census, and the pings heard since, mean for the one who asked (R6, R7,
// R9). Pure functions; what follows from a verdict is the participant's business.

#include <sublock/core/census.hpp>
#include <sublock/core/holder.hpp>
#include <sublock/policies.hpp>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace sublock::core {

/// What may one do, having asked everybody?
enum class Verdict : std::uint8_t {
  hold,       ///< the lock is ours
  give_way,   ///< somebody else has it, or comes before us
  stand,      ///< first in line: stay joined until the readers have drained
  ask_again,  ///< somebody pinged us whose place in the order we can't know: ask at once
  ask_later,  ///< somebody before us will make room for us, or take it: ask again in a moment
  ask_twice,  ///< an answer may lag behind what its sender does: give it time, then ask once more
};

[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::hold: return "hold";
    case Verdict::give_way: return "give_way";
    case Verdict::stand: return "stand";
    case Verdict::ask_again: return "ask_again";
    case Verdict::ask_later: return "ask_later";
    case Verdict::ask_twice: return "ask_twice";
  }
  return "unknown";
}

inline std::ostream& operator<<(std::ostream& out, Verdict verdict) { return out << name_of(verdict); }

/// Writers that have pinged us since our own latest ping: we have told them `pending`, and they may act
/// on that, so they stand for election as if they had answered (R6).
struct HeardPings {
  /// More are not kept: one unknown writer stands for all of them.
  static constexpr std::size_t writers_max = 1024;

  std::vector<Candidate> writers;
  bool unknown_writer = false;  ///< one of portalocker's, which does not say who pings

  void note(const Candidate& writer) {
    if (std::ranges::find(writers, writer) != writers.end()) return;
    writers.size() < writers_max ? writers.push_back(writer) : note_unknown();
  }

  void note_unknown() { unknown_writer = true; }

  friend bool operator==(const HeardPings&, const HeardPings&) = default;
};

/// The writer who asks, and how far he has come.
struct WriterStanding {
  Candidate self;
  bool elected = false;       ///< already stands first in line
  bool looked_twice = false;  ///< has already given slow peers the time to catch up
};

namespace detail {

[[nodiscard]] inline bool is_candidate(const Holder& answer) {
  return answer.mode == HolderMode::pending && !answer.leaving;
}

/// portalocker 4.0 and 4.1 promote themselves a moment before their answers say so.
[[nodiscard]] inline bool may_lag(const Holder& answer) {
  return is_candidate(answer) && !answer.sublock && !answer.elected;
}

}  // namespace detail

/// Whether anybody says that he owns the lock alone. Needs no complete census: that one answer is enough
/// to know that the lock can't be had.
[[nodiscard]] inline bool names_an_owner(const Census& census) {
  return census.any_of([](const Holder& answer) { return answer.mode == HolderMode::exclusive; });
}

/// Whether it is no use to go in: somebody owns the lock, or stands first in line.
[[nodiscard]] inline bool is_taken(const Census& census) {
  return names_an_owner(census) ||
         census.any_of([](const Holder& answer) { return answer.elected.value_or(false); });
}

/// Whether somebody has it, or is about to take it.
[[nodiscard]] inline bool is_contended(const Census& census) {
  return is_taken(census) || census.any_of(detail::is_candidate);
}

/// Whether somebody else comes first: a writer before us in the order, or one who stands already. One
/// such answer is enough too, for giving way is always safe. O(answers + heard pings).
template <ElectionPolicy Election>
[[nodiscard]] bool names_a_first(const Election& election, const WriterStanding& writer, const Census& census,
                                 const HeardPings& heard) {
  const auto is_before_me = [&](const Candidate& other) { return election.before(other, writer.self); };
  return census.any_of([&](const Holder& answer) {
    const bool before_me = is_before_me({answer.holder_id, answer.priority});
    return answer.elected.value_or(false) ? before_me || !writer.elected
                                          : before_me && detail::is_candidate(answer);
  }) || std::ranges::any_of(heard.writers, is_before_me);
}

/// For a complete census without an owner.
template <ElectionPolicy Election>
[[nodiscard]] Verdict judge_writer(const Election& election, const WriterStanding& writer,
                                   const Census& census, const HeardPings& heard) {
  if (names_a_first(election, writer, census, heard)) {
    // One who stands keeps his place: who comes before him without standing will see that, and leave.
    const bool rival_stands = census.any_of([&](const Holder& answer) {
      return answer.elected.value_or(false) &&
             election.before({answer.holder_id, answer.priority}, writer.self);
    });
    return writer.elected && !rival_stands ? Verdict::ask_later : Verdict::give_way;
  }
  if (census.any_of([](const Holder& answer) { return answer.mode == HolderMode::shared; })) {
    return Verdict::stand;
  }
  if (heard.unknown_writer) return Verdict::ask_again;
  if (!writer.looked_twice && census.any_of(detail::may_lag)) return Verdict::ask_twice;
  return Verdict::hold;
}

/// Whether one whom the owner would hand the lock to must let others go first: a second owner, and writers
/// before him, or of whom he can't tell, to whom he has said `pending` since he last asked. Those may find out
/// by themselves that the lock is free, for the owner may be gone before he answers them, or a grant come late.
template <ElectionPolicy Election>
[[nodiscard]] bool is_preceded(const Election& election, const Candidate& self, const Census& census,
                               const HeardPings& heard) {
  const auto is_before = [&](const Candidate& other) { return election.before(other, self); };
  const auto may_claim = [&](const Holder& answer) {
    const bool stands = answer.elected.value_or(true);
    return detail::is_candidate(answer) && (stands || is_before({answer.holder_id, answer.priority}));
  };
  const auto owns = [](const auto& entry) { return entry.second.mode == HolderMode::exclusive; };
  return heard.unknown_writer || std::ranges::any_of(heard.writers, is_before) || census.any_of(may_claim) ||
         std::ranges::count_if(census.answers(), owns) > 1;
}

/// For a complete census without an owner: a reader joins readers, and lets every writer go first.
[[nodiscard]] inline Verdict judge_reader(const Census& census) {
  return census.any_of(detail::is_candidate) ? Verdict::give_way : Verdict::hold;
}

}  // namespace sublock::core
