// SPDX-License-Identifier: MIT
#pragma once

// What may happen in a searched world: how much of it in one search, and each thing by its name.

#include <cstdint>

namespace sublock::sim {

struct Circumstances {
  static constexpr unsigned endless = 255;

  unsigned tries = 1;           ///< of each participant; one is used up by each join
  unsigned timeouts = endless;  ///< how often each may lose patience, with reason or without
  unsigned kills = 0;           ///< ears that the server drops, which their owners learn later
  unsigned losses = 0;          ///< ears that their owners lose, which the server learns later
  unsigned breaks = 0;  ///< mouths that break: of what is in flight, the server executes the start, or not
  unsigned faults = endless;  ///< how many of these four in all
  bool recounts = true;       ///< whether anybody counts again while he waits
  bool cancels = true;        ///< callers may give up at any time
  bool deadlines = false;     ///< or have a deadline, which comes at any time
  bool fencing = false;       ///< writers draw a token before they hold
  bool self_checks = false;   ///< holders ask now and then whether they still hear themselves
  bool join_counts = true;    ///< false: the server can't count in the step that subscribes
  bool join_in_pieces =
      false;                 ///< it can't even subscribe in one: to the lock's channel, and then to the other
  unsigned shared_ears = 0;  ///< who hears by an ear that is for other locks too, as a set
  bool stranger = false;     ///< somebody ran SUBSCRIBE by hand, and never answers
  bool may_look = true;      ///< the server lists and kills
  bool resets = false;       ///< an ear that is gone may take with it what it had still to tell
  unsigned backlog = 1;      ///< nobody asks anew while more of his questions are unread than that
  bool count_questions = false;
  bool lean = true;     ///< leave out what makes no difference as long as all rules are kept, see Scene
  bool reduced = true;  ///< and, of what comes to the same in any order, all orders but one, see Stage

  // Faults of a transport.
  bool join_in_two_steps = false;  ///< counts first, and subscribes then
  bool join_guesses = false;       ///< takes itself for the first without having counted
  bool marks_come_late = false;    ///< has a shared ear join the channel before it is marked there
  bool one_ear_for_all = false;    ///< has all of them hear by the same one
  bool ping_in_two_steps = false;  ///< publishes first, and counts then
};

enum class What : std::uint8_t {
  acquire,
  hear_ear,
  hear_loss,  // at once: what the ear had still to tell is gone with it
  hear_mouth,
  decide,
  fire_deadline,
  fire_patience,
  fire_recount,
  fire_again,
  release,
  cancel,
  serve_ear,
  serve_mouth,
  serve_ghost_ear,
  serve_ghost_mouth,
  close_ghost_ear,   // the server notices
  drop_ghost_mouth,  // the rest of it never arrives
  kill_ear,
  lose_ear,
  break_mouth,
  break_mouth_unheard,  // and the answers that were on their way are gone too
};
inline constexpr unsigned whats = 21;

struct Move {
  std::uint8_t who = 0;
  What what = What::acquire;
};

/// One of the faults of which there are only so many in all: impatience, and what breaks a connection.
constexpr bool is_fault(What what) {
  return what == What::fire_patience || what == What::kill_ear || what == What::lose_ear ||
         what == What::break_mouth || what == What::break_mouth_unheard;
}

/// Neither a fault nor somebody's wish to have the lock no more.
constexpr bool is_progress(What what) {
  switch (what) {
    case What::fire_deadline:
    case What::cancel:
    case What::drop_ghost_mouth:
    case What::kill_ear:
    case What::lose_ear:
    case What::break_mouth:
    case What::break_mouth_unheard: return false;
    default: return true;
  }
}

/// By the participant himself, or his caller, in his own time.
constexpr bool is_own(What what) { return what <= What::cancel; }

/// By the server, not by the participant.
constexpr bool is_served(What what) {
  return what == What::serve_ear || what == What::serve_mouth || what == What::serve_ghost_ear ||
         what == What::serve_ghost_mouth;
}

/// Happens by itself, given time: neither a timer nor a caller's wish.
constexpr bool is_delivery(What what) {
  return is_served(what) || what == What::hear_ear || what == What::hear_mouth || what == What::decide;
}

enum class Outcome : std::uint8_t {
  impossible,
  done,
  postponed,  // not while so many questions are unread
  cut,        // beyond what a world has room for
};

}  // namespace sublock::sim
