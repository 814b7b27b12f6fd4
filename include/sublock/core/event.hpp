// SPDX-License-Identifier: MIT
#pragma once

// What may happen to a participant, and what it may ask for in return. Events come from a transport,
// actions go back to it; both are plain values, so that a test can write a conversation down.

#include <sublock/core/holder.hpp>
#include <sublock/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sublock::core {

/// The verbs a server can refuse or leave unanswered, for the error that says which.
enum class Verb { join, listen, leave, ping, ask, count, list, kill, increment, take, extend, drop, look };

/// What a warning is about.
enum class Warning {
  reaped,    ///< whoever kept the lock and did not look after it has been put aside
  stranger,  ///< somebody is there who takes no part
  other,
};

namespace event {

/// The line has an ear and a mouth: both connections are up, authenticated, and to a primary.
struct Opened {
  std::string ear;  ///< the id of the ear, where other lines share it, see shared_ear.hpp; else empty
};

/// The ear is subscribed to the lock channel and to the response channel.
struct Joined {
  /// Subscribers of the lock channel at that very moment, ourselves included (R1). Empty where the
  /// server can't count in the same step; the participant then always probes.
  std::optional<std::size_t> count;
  /// And those of the rosters, where both are named.
  std::size_t own_kind = 0;
  std::size_t other_kind = 0;  ///< the same of the other one
};

/// The ear hears `channel`, in place of the response channel before it.
struct Listening {
  std::string channel;  ///< which
};

/// Something was published on a channel that the ear hears, in the order in which the server sent it.
struct Message {
  std::string_view channel;  ///< on which
  std::string_view payload;  ///< as it came
};

/// The server has delivered our ping.
struct Pinged {
  std::string response_channel;  ///< which ping this is about
  std::size_t count = 0;         ///< subscribers of the lock channel that it reached (R3)
  std::size_t receivers = 0;     ///< what PUBLISH returned: subscribers, and those who listen by pattern
};

/// An answer to Count.
struct Counted {
  std::size_t count = 0;  ///< subscribers of the lock channel
};

/// An answer to List: every connection that subscribes to anything.
struct Listed {
  std::vector<Connection> connections;  ///< in the server's order
};

/// An answer to Kill.
struct Killed {
  std::size_t count = 0;  ///< how many there still were
};

/// An answer to Increment.
struct Incremented {
  std::int64_t value = 0;  ///< of the key, thereafter
};

/// A key was taken, extended or dropped, or was not, since somebody else has it, or nobody any more.
struct Keyed {
  Verb verb = Verb::take;  ///< which of the three
  bool done = false;       ///< or was not
  bool was_stale = false;  ///< taken from one who ended before he gave the key an expiry
};

/// What there is under a key.
struct Looked {
  std::string type;              ///< as TYPE calls it: "string", "list", …; "none" for no such key
  std::string value;             ///< the beginning of a string
  std::optional<Duration> left;  ///< until it expires; empty where it never will
};

/// The time that Remind asked for is over.
struct Reminded {};

/// The process has stood still, or somebody else has reason to doubt that the ear still counts.
struct Doubted {
  std::string why;  ///< for whoever asks
};

/// The unsubscribe is confirmed: nothing more arrives, and nobody counts us any more.
struct Left {};

/// The server refused a verb, or the mouth broke before it answered. The ear is unharmed.
struct Refused {
  Verb verb = Verb::join;  ///< which
  Failure failure;         ///< why
};

/// The ear is gone, or could not be had (then no Opened came before). Final for this line until it is
/// opened again.
struct Lost {
  Failure failure;  ///< why
};

}  // namespace event

using Event =
    std::variant<event::Opened, event::Joined, event::Listening, event::Message, event::Pinged,
                 event::Counted, event::Listed, event::Killed, event::Incremented, event::Keyed,
                 event::Looked, event::Reminded, event::Doubted, event::Left, event::Refused, event::Lost>;

/// Whoever a transport tells of events.
class Listener {
 public:
  /// Called with the transport's mutex held, by the thread that read the connection: the keeper's, or
  /// one inside `wait`. Must not block, and must not call back user code. Never called from inside a
  /// verb: what a verb causes comes later.
  virtual void on_event(const Event& event) = 0;

 protected:
  ~Listener() = default;
};

namespace action {

/// A few words for one channel.
struct Note {
  std::string channel;
  std::string payload;

  friend bool operator==(const Note&, const Note&) = default;
};

/// Get an ear and a mouth, at the server where `channel` lives; empty where there is but one. Answered by Opened
/// or Lost.
struct Open {
  std::string channel = {};

  friend bool operator==(const Open&, const Open&) = default;
};

/// Drop the ear as it is, joined or not.
struct Close {
  friend bool operator==(const Close&, const Close&) = default;
};

/// Channels by which the server knows readers from writers. One is subscribed to besides, empty for none; and
/// both are counted, where the other is not empty.
///
/// A transport may leave them out, and tell of zeros: then everybody is asked. But nobody may ever be on a roster
/// who is not on the lock's channel, for he would stand in for one who is.
struct Rosters {
  std::string own;
  std::string other;

  friend bool operator==(const Rosters&, const Rosters&) = default;
};

/// In one transaction: name the ear, subscribe all channels, count (R1). Answered by Joined.
struct Join {
  std::string channel;
  std::string response_channel;
  std::string client_name;
  Rosters rosters = {};

  friend bool operator==(const Join&, const Join&) = default;
};

/// Hear `channel` in place of the present response channel (R5). Answered by Listening.
struct Listen {
  std::string channel;

  friend bool operator==(const Listen&, const Listen&) = default;
};

/// In one transaction: count the lock channel and publish on it (R3). Answered by Pinged.
struct Ping {
  std::string channel;
  std::string response_channel;
  std::string payload;

  friend bool operator==(const Ping&, const Ping&) = default;
};

/// The same from outside, and hear `response_channel` before, in one transaction. Answered by Pinged. Where it
/// is refused, Listen and Ping may still do, and say why if they don't.
struct Ask {
  std::string channel;
  std::string response_channel;
  std::string payload;

  friend bool operator==(const Ask&, const Ask&) = default;
};

/// Publish; nobody waits for the answer.
struct Publish {
  std::string channel;
  std::string payload;

  friend bool operator==(const Publish&, const Publish&) = default;
};

/// Answered by Counted.
struct Count {
  std::string channel;

  friend bool operator==(const Count&, const Count&) = default;
};

/// Answered by Listed.
struct List {
  friend bool operator==(const List&, const List&) = default;
};

/// Answered by Killed.
struct Kill {
  std::vector<std::int64_t> ids;

  friend bool operator==(const Kill&, const Kill&) = default;
};

/// Add one to a key (INCR). Answered by Incremented.
struct Increment {
  std::string key;

  friend bool operator==(const Increment&, const Increment&) = default;
};

/// Unsubscribe everything, publish the notes and drop the name, in this order and in one write, so that
/// whoever reads a note finds us gone. Answered by Left.
struct Leave {
  std::vector<Note> notes = {};

  friend bool operator==(const Leave&, const Leave&) = default;
};

/// Something an operator should know. Not for the transport.
struct Warn {
  std::string text;
  Warning kind = Warning::other;

  friend bool operator==(const Warn&, const Warn&) = default;
};

}  // namespace action

using Action = std::variant<action::Open, action::Close, action::Join, action::Listen, action::Ping,
                            action::Ask, action::Publish, action::Count, action::List, action::Kill,
                            action::Increment, action::Leave, action::Warn>;

}  // namespace sublock::core
