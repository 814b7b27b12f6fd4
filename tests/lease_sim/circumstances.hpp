// SPDX-License-Identifier: MIT
#pragma once

// What may happen in a searched world of leases: how much of it in one search, and each thing by its name.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sublock::lease_sim {

/// The rules of a leaseholder, of its server and of its transport, each of which a search can break.
enum class Rule : std::uint8_t {
  none,
  // of the leaseholder
  count_from_sending,      ///< a confirmation counts from before the command was sent
  mind_the_expiry,         ///< what is confirmed no longer is not claimed
  latest_extension_only,   ///< only the answer to the latest extension confirms it
  believe_refusals,        ///< an extension that was not done confirms nothing
  lose_at_refusal,         ///< and ends the lock
  fresh_mark,              ///< each take has a mark of its own
  prove_what_is_found,     ///< a key that is found to be one's own counts once it has been extended
  prove_the_token,         ///< a token counts once the key has been extended after it was drawn
  token_before_extension,  ///< in this order
  token_of_this_proof,     ///< what was drawn before the present proof is forgotten
  doubt_while_holding,     ///< after the process stood still nothing counts but an extension since
  doubt_while_taking,
  doubt_while_proving,
  look_after_lost_take,  ///< one who doesn't know what became of his take looks before he takes anew
  // of the server's commands
  compare_in_extend,
  compare_in_drop,
  expire_in_take,  ///< in the same step, so that a key without is never seen
  // of the transport
  doubt_first,  ///< who wakes is told so before anybody believes what it says
};

struct Circumstances {
  unsigned players = 2;
  unsigned tries = 1;        ///< attempts of each participant, each by a new leaseholder
  unsigned expire = 2;       ///< in units of time; the interval of extensions is one
  bool fencing = false;      ///< a token is drawn for each hold
  bool cancels = true;       ///< callers may give up at any time, and wait for the good-bye no longer
  bool deadlines = false;    ///< or have a deadline, which comes at any time
  unsigned breaks = 0;       ///< of connections: answers are lost, commands may be executed still, later
  unsigned losses = 0;       ///< of lines: the same, and nothing is told of the commands before
  unsigned refusals = 0;     ///< of commands, by a server that is busy
  unsigned doubts = 0;       ///< for no reason that shows
  unsigned sleeps = 0;       ///< during which a participant's clock stands still
  bool late_doubts = false;  ///< who wakes is told so later, and is not believed until then
  Rule broken = Rule::none;
  bool lean = true;        ///< forget commands that can't make a difference any more
  bool symmetric = true;   ///< worlds that differ in who is who only are one
  bool exact = false;      ///< remember of participants even what they don't look at any more
  bool key_is_his = true;  ///< beside the rest: whoever claims the lock has the key on the server
};

enum class What : std::uint8_t {
  pass,  // a unit of time, for everybody
  acquire,
  read,
  hear,  // that the channel is being listened to
  tick,
  reach_deadline,
  release,
  cancel,
  abandon,
  doubt,
  sleep,
  wake,
  serve,
  serve_former_0,
  serve_former_1,
  serve_former_2,
  refuse,  // for the server is busy
  drop_former_0,
  drop_former_1,
  drop_former_2,
  break_connection,
  lose_line,
};
inline constexpr unsigned whats = 22;

struct Move {
  std::uint8_t who = 0;
  What what = What::pass;
};

/// Which of the former connections it is about; none where it is about none.
constexpr std::optional<std::size_t> former_of(What what) {
  if (what >= What::serve_former_0 && what <= What::serve_former_2) {
    return static_cast<std::size_t>(what) - static_cast<std::size_t>(What::serve_former_0);
  }
  if (what >= What::drop_former_0 && what <= What::drop_former_2) {
    return static_cast<std::size_t>(what) - static_cast<std::size_t>(What::drop_former_0);
  }
  return std::nullopt;
}

/// Neither a fault nor somebody's wish to have the lock no more.
constexpr bool is_progress(What what) {
  switch (what) {
    case What::pass:
    case What::acquire:
    case What::read:
    case What::hear:
    case What::tick:
    case What::wake:
    case What::serve:
    case What::serve_former_0:
    case What::serve_former_1:
    case What::serve_former_2: return true;
    default: return false;
  }
}

enum class Outcome : std::uint8_t { impossible, done, cut };

}  // namespace sublock::lease_sim
