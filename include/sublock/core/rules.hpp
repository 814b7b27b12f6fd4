// SPDX-License-Identifier: MIT
#pragma once

// The protocol's rules as switches, so that a test can break one and watch the search find what it
// guards. Everything that ships leaves all of them on.

namespace sublock::core {

struct Rules {
  bool count_in_join = true;           ///< R1: without it, a join's count is believed whenever it was taken
  bool hold_before_answering = true;   ///< R2: without it, a count of one still answers one ping as pending
  bool count_in_ping = true;           ///< R3: without it, the ping's reach is what the join counted
  bool complete_answers_only = true;   ///< R4: without it, answers that came in time are all there are
  bool fresh_response_channel = true;  ///< R5: without it, all probes of a try share one
  bool pinger_is_candidate = true;     ///< R6
  bool first_in_order_claims = true;   ///< R7: without it, any complete probe without an owner claims
  bool answer_while_leaving = true;    ///< R8
  bool readers_are_shared = true;      ///< R9: without it, a reader that hasn't got it yet says pending
  bool grant_yields = true;           ///< R10: without it, a grant is taken whoever comes before in the order
  bool loss_is_final = true;          ///< R11: without it, a holder that lost its ear goes on
  bool kill_only_asked_twice = true;  ///< R12: without it, one silence is enough
  bool shared_ears_count = true;      ///< R12: without it, whoever hears by a shared ear is a stranger
  bool token_needs_proof = true;      ///< without it, a token counts that was drawn after the lock was lost
};

/// The rules that locks with this election keep: all. A test that wants to see one broken specializes this
/// for an election of its own; nobody else should.
template <class Election>
inline constexpr Rules rules_of{};

}  // namespace sublock::core
