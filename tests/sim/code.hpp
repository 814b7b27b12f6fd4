// SPDX-License-Identifier: MIT
#pragma once

// Everything that travels in the searched world, in two bytes each: a kind and a small number. What a
// payload says is kept once, elsewhere; here it is only told apart.

#include <array>
#include <cstddef>
#include <cstdint>

namespace sublock::sim {

enum class Kind : std::uint8_t {
  // what a participant is told by its ear
  opened,
  joined,     // of_joined, 0 where the server did not count
  listening,  // to which response channel
  heard,      // a ping: of_ping
  answered,   // a reply on the present response channel: payload
  granted,    // the lock, in answer to the latest question
  checked,    // the latest check of the own ear
  left,
  lost,
  // by its mouth
  pinged,       // subscribers; always about the present response channel
  delivered,    // a grant: subscribers
  counted,      // subscribers
  listed,       // connections, as a set
  killed,       // how many
  incremented,  // `present` if the server counted its ear then, else `past`
  refused,      // verb
  // by its caller, or by its shell: Call
  call,
  // and what it knows by itself: whose question has been followed by another
  outdate,
  // what it asks for
  open,    // or close: `closing`
  join,    // with which response channel: `present` or `past`
  listen,  // to which response channel: in an action, whether it is a `fresh_channel`
  leave,
  ping,     // of_ping
  grant,    // to whom, and whether in answer to his `present` question
  publish,  // to whose present response channel, and payload
  check,
  count,  // of what
  list,
  increment,
  kill,   // connections, as a set
  tally,  // the second half of a join or a ping that the server executes in two steps, which none should
};

enum Call : unsigned { acquire, decide, release, cancel, fire };  // fire, and above: which timer

/// A kind, a number below 1024, and a mark on commands whose sender does not wait for the answer any more.
class Code {
 public:
  static constexpr unsigned number_max = 1023;

  Code() = default;
  constexpr Code(Kind kind, unsigned number = 0)  // NOLINT: a kind is a code
      : bits_(static_cast<std::uint16_t>(static_cast<unsigned>(kind) << 10U | number)) {}

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(bits_ >> 10U & 31U); }
  [[nodiscard]] constexpr unsigned number() const { return bits_ & number_max; }
  [[nodiscard]] constexpr bool marked() const { return (bits_ & mark) != 0; }
  [[nodiscard]] constexpr Code with_mark() const { return raw(static_cast<std::uint16_t>(bits_ | mark)); }

  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }
  static constexpr Code raw(std::uint16_t bits) {
    Code code;
    code.bits_ = bits;
    return code;
  }

  friend constexpr bool operator==(Code, Code) = default;

 private:
  static constexpr std::uint16_t mark = 0x8000;

  std::uint16_t bits_ = 0;
};

/// A response channel is its owner's present one, or it is past: once past it never comes back, and all
/// past ones are alike, for nobody hears them any more.
inline constexpr unsigned present = 0;
inline constexpr unsigned past = 1;

inline constexpr unsigned closing = 1;

inline constexpr unsigned fresh_channel = 0;
inline constexpr unsigned same_channel = 1;

/// What a count is of.
inline constexpr unsigned whole_channel = 0;
constexpr unsigned mark_of(unsigned who) { return who + 1; }
constexpr unsigned marked_by(Code count) { return count.number() - 1; }

/// Subscribers of the lock channel, and for a reader those of each roster.
constexpr unsigned of_joined(unsigned subscribers, unsigned readers = 0, unsigned writers = 0) {
  return writers << 6U | readers << 3U | subscribers;
}
constexpr unsigned joined_count(Code code) { return code.number() & 7U; }
constexpr unsigned joined_readers(Code code) { return code.number() >> 3U & 7U; }
constexpr unsigned joined_writers(Code code) { return code.number() >> 6U; }

/// A ping by its payload, which says who asks, and by whether its response channel is past.
constexpr unsigned of_ping(unsigned payload, unsigned age) { return payload << 1U | age; }
constexpr unsigned ping_payload(Code code) { return code.number() >> 1U; }
constexpr unsigned ping_age(Code code) { return code.number() & 1U; }

constexpr unsigned of_grant(unsigned to, unsigned age) { return to << 1U | age; }
constexpr unsigned grant_to(Code code) { return code.number() >> 1U; }
constexpr unsigned grant_age(Code code) { return code.number() & 1U; }

/// A reply on its way: to whose response channel, and what it says.
inline constexpr unsigned reply_payload_max = Code::number_max >> 2U;
constexpr unsigned of_reply(unsigned payload, unsigned whom) { return payload << 2U | whom; }
constexpr unsigned reply_payload(Code code) { return code.number() >> 2U; }
constexpr unsigned reply_to(Code code) { return code.number() & 3U; }

/// A join that is not complete yet: neither it nor what is behind it can be told.
constexpr bool is_untold(Code code) { return code.kind() == Kind::joined && code.marked(); }

/// First in, first out, and never more than `Capacity`.
template <std::size_t Capacity>
class Queue {
 public:
  static constexpr std::size_t capacity = Capacity;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == Capacity; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Code front() const { return items_[0]; }
  [[nodiscard]] const Code* begin() const { return items_.data(); }
  [[nodiscard]] const Code* end() const { return items_.data() + size_; }

  /// False where there is no room.
  [[nodiscard]] bool push(Code code) {
    if (full()) return false;
    items_[size_++] = code;
    return true;
  }

  void pop() {
    for (std::size_t i = 1; i < size_; ++i) items_[i - 1] = items_[i];
    --size_;
  }

  void replace_front(Code code) { items_[0] = code; }
  void clear() { size_ = 0; }

  /// Keeps what `change` leaves true, after it has changed it.
  void rewrite(auto change) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      Code code = items_[i];
      if (change(code)) items_[kept++] = code;
    }
    size_ = static_cast<std::uint8_t>(kept);
  }

 private:
  std::array<Code, Capacity> items_{};
  std::uint8_t size_ = 0;
};

}  // namespace sublock::sim
