// SPDX-License-Identifier: MIT
#pragma once

// The policy concepts, each under its two tables: what a model must have, and what it may leave
// out. The sentence behind a requirement is what the compiler prints when it is missing. Laws that no
// concept can state are in tests/laws, one suite for each concept: run your own model through it.

#include <sublock/core/event.hpp>
#include <sublock/core/holder.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {

using core::Candidate;
using core::Connection;
using core::Duration;
using core::Instant;
using core::WallTime;

/// # Clock: how late is it?
///
/// | must         | throws | meaning                                                              |
/// | ------------ | ------ | -------------------------------------------------------------------- |
/// | `now()`      | never  | the present on the steady clock's scale; never goes back; any thread |
/// | copyable     |        | a copy is a handle on the same clock                                 |
///
/// May leave out: a default constructor; the lock is then given a clock in its options. And
/// `WallTime wall() const noexcept`, the time of day, which only leases need: see WallClockPolicy.
/// Not here: waiting. Only a transport can be woken by data, and in simulation only a transport knows
/// that nothing is coming and time may jump.
// clang-format off
template <class T>
concept ClockPolicy = std::copy_constructible<T> && requires(const T& clock) {
  { clock.now() } noexcept -> std::same_as<Instant>;  // a clock needs `Instant now() const noexcept`
};

template <class T>
concept WallClockPolicy = ClockPolicy<T> && requires(const T& clock) {
  { clock.wall() } noexcept -> std::same_as<WallTime>;  // a clock for leases needs `WallTime wall() const noexcept`
};
// clang-format on

/// # Election: which of two pending writers goes first?
///
/// | must           | throws | meaning                                             |
/// | -------------- | ------ | --------------------------------------------------- |
/// | `before(a, b)` | never  | a strict total order on what participants announce  |
///
/// That it is a strict total order, the same in every process, and never changes while a participant
/// is joined is all that keeps two winners apart: an order that depends on time, on a random word or
/// on who asks will let two in. Candidates that differ in id must be ordered one way or the other.
/// May leave out: everything else. Peers in Python know only the lowest id; on a channel shared with
/// them, `LowestIdElection` is the only right one.
// clang-format off
template <class T>
concept ElectionPolicy = std::copy_constructible<T> && requires(const T& election, const Candidate& a, const Candidate& b) {
  { election.before(a, b) } noexcept -> std::same_as<bool>;  // an election needs `bool before(const Candidate&, const Candidate&) const noexcept`
};
// clang-format on

/// What a reaper is shown after a probe to which somebody did not answer.
struct Silence {
  std::string_view stem;  ///< names on this channel are `<stem>-<id>`, and the stem itself before 4.0
  std::span<const std::string> answered;    ///< ids that did answer, sorted; the prober's own among them
  bool legacy_answered = false;             ///< somebody of the old protocol, which has no ids, answered
  std::span<const Connection> connections;  ///< every subscribing connection, as the server lists them
};

/// What a reaper makes of it.
struct Diagnosis {
  /// A connection that is named for this channel and did not answer.
  struct Suspect {
    std::int64_t connection_id = 0;  ///< as CLIENT KILL takes it
    std::string holder_id;           ///< empty for the old protocol

    friend bool operator==(const Suspect&, const Suspect&) = default;
  };

  /// Whose connections may be killed, if they are silent once more.
  std::vector<Suspect> suspects;
};

/// # Reaper: who is dead?
///
/// | must                         | throws | meaning                                              |
/// | ---------------------------- | ------ | ---------------------------------------------------- |
/// | `static constexpr bool asks` |        | whether silence is worth a CLIENT LIST at all        |
/// | `examine(silence)`           | may    | whom to kill if he is silent once more (R12)         |
///
/// Pure: no suspicion is carried from one call to the next. Safety does not rest on it: whom it names is
/// killed only if his connection bears exactly a name of this channel and he was silent twice; whom it
/// leaves out keeps the lock, and costs others time.
/// May leave out: with `asks` false, `examine` is never called, and a silent holder keeps the lock
/// until its connection ends.
// clang-format off
template <class T>
concept ReaperPolicy = std::copy_constructible<T> && requires(const T& reaper, const Silence& silence) {
  { T::asks } -> std::convertible_to<bool>;                // a reaper needs `static constexpr bool asks`
  { reaper.examine(silence) } -> std::same_as<Diagnosis>;  // a reaper needs `Diagnosis examine(const Silence&) const`
};
// clang-format on

/// # Line: one participant's ear, and its share of the connection's mouth
///
/// All verbs are called with the transport's mutex held, never block, never call the listener before
/// they return, and are answered by an event later. On a line that is not open they do nothing.
///
/// | must                        | answered by              | meaning                                      |
/// | --------------------------- | ------------------------ | -------------------------------------------- |
/// | `Line(transport, listener)` |                          | not open yet; the destructor closes, and takes no mutex: the caller holds it |
/// | `open(channel)`             | Opened, Lost             | get an ear and a mouth, both usable, where that channel lives |
/// | `close()`                   | nothing, ever            | drop the ear: to a pool if it has left everything, else with its connection |
/// | `join(channel, response_channel, client_name, rosters)` | Joined, Refused, Lost | R1, in one step, with what `Rosters` asks for |
/// | `listen(channel)`           | Listening, Refused, Lost | R5: in place of the response channel before; on a line that has not joined, uncounted |
/// | `leave(notes)`              | Left, Lost               | unsubscribe, publish the notes, drop the name, in this order; messages may still come until Left, none after |
/// | `ping(channel, response_channel, payload)` | Pinged, Refused | R3                                     |
/// | `ask(channel, response_channel, payload)` | Pinged, Refused, Lost | listen and ping in one step, on a line that hears nothing yet; may be refused where they would not be |
/// | `publish(channel, payload)` | nothing                  | in the order of the calls; a refusal is ignored |
/// | `count(channel)`            | Counted, Refused         |                                              |
/// | `list()`                    | Listed, Refused          | the connections that subscribe to something  |
/// | `kill(ids)`                 | Killed, Refused          | by client id; one that is gone is no error   |
/// | `increment(key)`            | Incremented, Refused     | INCR                                         |
/// | `remind(delay)`             | Reminded                 | once, after so long, whether anybody waits or not where the transport has a thread; takes the place of the reminder before |
/// | `wait(lock, at_most, stop)` |                          | the only verb that blocks, and lets go of the mutex meanwhile, see below |
///
/// `wait` returns once an event has been delivered to this line's listener, a stop is requested or
/// `at_most` is over, and delivers all there is to deliver before it returns. It may be called on a
/// line that is not open, and may return early for no reason.
///
/// Order: events that stem from the ear (Opened, Joined, Listening, Message, Left, Lost) come in the
/// order of that connection; those that stem from the mouth come in the order of that one; nothing
/// orders the two. Lost is told at once and unasked, from the transport's own thread where it has one.
/// After Lost or close() nothing of the former ear, nor of verbs before it, arrives any more. The server
/// executes what a mouth says in the order of the calls; only a publish may be said again, later, where the
/// mouth broke. Whether a fencing token counts rests on that.
///
/// May leave out: `attend(bool)`, by which a line learns that its caller is about to wait again and again,
/// holding the mutex in between, and no longer; see attendance.hpp.
// clang-format off
template <class L, class T>
concept LineOf = std::constructible_from<L, std::shared_ptr<T>, core::Listener&> &&
    requires(L& line, const std::string& text, const core::action::Rosters& rosters,
             const std::vector<std::int64_t>& ids, const std::vector<core::action::Note>& notes,
             std::unique_lock<std::mutex>& lock, Duration at_most, std::stop_token stop) {
  line.open(text);                 // a line needs `open(channel)`
  line.close();                    // a line needs `close()`
  line.join(text, text, text, rosters);  // a line needs `join(channel, response_channel, client_name, rosters)`
  line.listen(text);               // a line needs `listen(channel)`
  line.leave(notes);               // a line needs `leave(notes)`
  line.ping(text, text, text);     // a line needs `ping(channel, response_channel, payload)`
  line.ask(text, text, text);      // a line needs `ask(channel, response_channel, payload)`
  line.publish(text, text);        // a line needs `publish(channel, payload)`
  line.count(text);                // a line needs `count(channel)`
  line.list();                     // a line needs `list()`
  line.kill(ids);                  // a line needs `kill(ids)`
  line.increment(text);            // a line needs `increment(key)`
  line.remind(at_most);            // a line needs `remind(nanoseconds)`
  line.wait(lock, at_most, stop);  // a line needs `wait(unique_lock<mutex>&, nanoseconds, stop_token)`
};
// clang-format on

/// # Transport: how does it travel?
///
/// A transport object is what users call a connection: many locks may share it.
///
/// | must            | throws      | meaning                                                           |
/// | --------------- | ----------- | ----------------------------------------------------------------- |
/// | `Options`       |             | how to build one; default-constructible                           |
/// | `make(options)` | Errc::usage | a connection that has not connected yet; does not block           |
/// | `mutex()`       | never       | guards every participant on this connection                       |
/// | `Line`          |             | see above                                                         |
/// | `stalled()`     | never       | true while the transport has not been able to look after its lines, because the process stood still: nobody may be told that he holds a lock. Needs no mutex. Lines that are open hear Doubted then |
/// | `foreign()`     | never       | true in a process that inherited the object through fork, where nothing of it may be used, its mutex included |
///
/// May leave out: a thread of its own. Then a holder answers only while somebody waits on a line of
/// the same world, as in the in-memory one.
/// Also `server()`, a string by which errors call what it leads to; without it they say "the server".
/// And `static void check_channel(channel)`, which throws LockError(usage) for a channel that can't live there.
// clang-format off
template <class T>
concept TransportPolicy = requires(T& transport, const typename T::Options& options) {
  typename T::Line;                                          // a transport needs `Line`
  requires std::default_initializable<typename T::Options>;  // a transport needs default-constructible `Options`
  { T::make(options) } -> std::same_as<std::shared_ptr<T>>;  // a transport needs `static std::shared_ptr<T> make(const Options&)`
  { transport.mutex() } -> std::same_as<std::mutex&>;        // a transport needs `std::mutex& mutex()`
  { transport.stalled() } noexcept -> std::same_as<bool>;    // a transport needs `bool stalled() const noexcept`
  { transport.foreign() } noexcept -> std::same_as<bool>;    // a transport needs `bool foreign() const noexcept`
  requires LineOf<typename T::Line, T>;                      // a transport's `Line` needs every verb, see LineOf
};
// clang-format on

/// # Desk: one lease's share of the mouth, and an ear only while it waits
///
/// As for a line, verbs are called with the transport's mutex held, never block, never call the listener before
/// they return, do nothing on a desk that is not open, and are answered by an event later; those of the mouth in
/// the order of the calls, and executed in it. A verb whose answer can't be had is Refused with Errc::connect: it
/// may have been executed, and may still be.
///
/// | must                               | answered by       | meaning                                         |
/// | ---------------------------------- | ----------------- | ----------------------------------------------- |
/// | `Desk(transport, listener)`        |                   | as for a line                                   |
/// | `open()`                           | Opened, Lost      | get a mouth; it may break and come back         |
/// | `close()`                          | nothing, ever     |                                                 |
/// | `take(key, value, expire)`         | Keyed, Refused    | SET with NX and PX: never a key without a TTL   |
/// | `extend(key, mark, value, expire)` | Keyed, Refused    | the same where what is stored begins with `mark`, in one step |
/// | `drop(key, mark)`                  | Keyed, Refused    | DEL where what is stored begins with `mark`, in one step |
/// | `look(key)`                        | Looked, Refused   |                                                 |
/// | `hear(key)`                        | Listening, Refused | get an ear, and hear of the key being given back: by `core::lease::release_channel`, and from the server where it tells |
/// | `deafen()`                         | nothing           | give the ear back                               |
/// | `increment`, `publish`, `remind`, `wait` |             | as for a line                                   |
///
/// May leave out: `attend(bool)`, as a line.
// clang-format off
template <class D, class T>
concept DeskOf = std::constructible_from<D, std::shared_ptr<T>, core::Listener&> &&
    requires(D& desk, const std::string& text, std::unique_lock<std::mutex>& lock, Duration time, std::stop_token stop) {
  desk.open();                         // a desk needs `open()`
  desk.close();                        // a desk needs `close()`
  desk.take(text, text, time);         // a desk needs `take(key, value, expire)`
  desk.extend(text, text, text, time); // a desk needs `extend(key, mark, value, expire)`
  desk.drop(text, text);               // a desk needs `drop(key, mark)`
  desk.look(text);                     // a desk needs `look(key)`
  desk.hear(text);                     // a desk needs `hear(key)`
  desk.deafen();                       // a desk needs `deafen()`
  desk.increment(text);                // a desk needs `increment(key)`
  desk.publish(text, text);            // a desk needs `publish(channel, payload)`
  desk.remind(time);                   // a desk needs `remind(nanoseconds)`
  desk.wait(lock, time, stop);         // a desk needs `wait(unique_lock<mutex>&, nanoseconds, stop_token)`
};

/// A transport that leases can use as well: it has a `Desk`.
template <class T>
concept LeaseTransportPolicy = TransportPolicy<T> && requires {
  typename T::Desk;                     // a transport for leases needs `Desk`
  requires DeskOf<typename T::Desk, T>; // a transport's `Desk` needs every verb, see DeskOf
};
// clang-format on

}  // namespace sublock
