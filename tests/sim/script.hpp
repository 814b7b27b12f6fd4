// SPDX-License-Identifier: MIT
#pragma once

// Codes into events and actions into codes: what is said in the searched world, in the very bytes that would
// travel. Payloads are kept here, once each.
//
// A participant's present response channel is written `@` in payloads, whatever its digits are; other
// people's channels look like no channel that dice would throw.

#include "code.hpp"

#include <sublock/core/event.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/shared_ear.hpp>
#include <sublock/core/wire.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::sim {

inline constexpr std::string_view lock_channel = "L";
/// The connection of somebody who ran SUBSCRIBE by hand.
inline constexpr unsigned stranger = 1U << 9U;

/// Connections are numbered by their owner and by how many he has had before.
constexpr unsigned connection_bit(unsigned who, unsigned generation, unsigned players) {
  return 1U << (generation * players + who);
}

[[nodiscard]] inline std::string replaced(std::string text, std::string_view what, std::string_view with) {
  if (what.empty()) return text;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// 32 digits, in the order of the players: the first is elected first.
[[nodiscard]] inline std::string holder_id(unsigned who) {
  return std::string(31, '0') + static_cast<char>('0' + who);
}

[[nodiscard]] inline unsigned player_of(std::string_view id) {
  return static_cast<unsigned>(id.back() - '0');
}

/// Of the shared ear by which somebody hears, where he does.
[[nodiscard]] inline std::string ear_id(unsigned who) {
  return "ea" + std::string(29, '0') + static_cast<char>('0' + who);
}

/// What a participant has named last, each in its way.
struct Names {
  std::string channel;  // its present response channel
  std::string check;    // the nonce of its latest check
  std::string grant;    // the nonce of the grant that it has given
};

/// An event together with the bytes that it refers to.
struct Told {
  std::string channel;
  std::string payload;
  core::Event event;
};

class Script {
 public:
  explicit Script(unsigned players, unsigned shared_ears = 0)
      : players_(players), shared_ears_(shared_ears) {}

  [[nodiscard]] bool shares(unsigned who) const { return (shared_ears_ >> who & 1U) != 0; }

  /// As others know it.
  static std::string foreign_channel(unsigned who, unsigned age) {
    return std::string(lock_channel) + (age == present ? "-present-" : "-past-") + std::to_string(who);
  }

  [[nodiscard]] const std::string& payload(unsigned number) const { return payloads_[number].text; }
  [[nodiscard]] unsigned pinger(Code ping) const { return payloads_[ping_payload(ping)].sender; }
  [[nodiscard]] bool pinged_by_writer(Code ping) const { return payloads_[ping_payload(ping)].writes; }

  /// What `happening` is to `who`, who has named `names`.
  void tell(Told& told, unsigned who, Code happening, const Names& names) const {
    const std::string& own = names.channel;
    namespace event = core::event;
    const auto set_message = [&told](std::string_view channel, std::string payload) {
      told.channel = channel;
      told.payload = std::move(payload);
      told.event = event::Message{told.channel, told.payload};
    };
    const unsigned number = happening.number();
    switch (happening.kind()) {
      case Kind::opened: told.event = event::Opened{shares(who) ? ear_id(who) : ""}; return;
      case Kind::joined:
        told.event = number == 0 ? event::Joined{}
                                 : event::Joined{std::size_t{joined_count(happening)},
                                                 joined_readers(happening), joined_writers(happening)};
        return;
      case Kind::listening:
        told.event = event::Listening{number == present ? own : foreign_channel(who, past)};
        return;
      case Kind::heard: {
        const unsigned from = pinger(happening);
        const unsigned age = ping_age(happening);
        return set_message(lock_channel,
                           replaced(payload(ping_payload(happening)), "@", channel_of(from, age, who, own)));
      }
      case Kind::answered: return set_message(own, payload(number));
      case Kind::granted: return set_message(lock_channel, encode(core::Grant{holder_id(who), own, {}}));
      case Kind::checked: return set_message(lock_channel, core::encode_check(names.check));
      case Kind::delivered: told.event = event::Pinged{names.grant, number, number}; return;
      case Kind::left: told.event = event::Left{}; return;
      case Kind::lost: told.event = event::Lost{{Errc::connect, "the ear is gone"}}; return;
      case Kind::pinged: told.event = event::Pinged{own, number, number}; return;
      case Kind::counted: told.event = event::Counted{number}; return;
      case Kind::listed: told.event = event::Listed{connections(number)}; return;
      case Kind::killed: told.event = event::Killed{number}; return;
      case Kind::incremented: told.event = event::Incremented{1}; return;
      case Kind::refused:
        told.event = event::Refused{static_cast<core::Verb>(number), {Errc::connect, "the mouth is gone"}};
        return;
      default: throw std::logic_error("no event has that code");
    }
  }

  /// What `action` of `who`, who was told `happening`, is in this world; `names` follow suit. Nothing for
  /// what makes no difference to anybody.
  ///
  /// Nobody here listens outside: whatever one who waits may hear there leads to one more try, which he may
  /// begin at any time here. So his questions are not asked, and he gets no hints.
  std::optional<Code> code_of(const core::Action& action, unsigned who, Code happening, Names& names) {
    namespace action_ = core::action;
    std::string& own = names.channel;
    if (const auto* join = std::get_if<action_::Join>(&action)) {
      own = join->response_channel;
      return Code(Kind::join, present);
    }
    if (const auto* listen = std::get_if<action_::Listen>(&action)) {
      const bool same = std::exchange(own, listen->channel) == listen->channel;
      return Code(Kind::listen, same ? same_channel : fresh_channel);
    }
    if (const auto* ping = std::get_if<action_::Ping>(&action)) {
      if (const auto grant = core::decode_grant(ping->payload)) {
        const unsigned to = player_of(grant->to);
        names.grant = grant->nonce;
        return Code(Kind::grant, of_grant(to, grant->nonce == foreign_channel(to, present) ? present : past));
      }
      if (core::decode_ping(ping->payload)->waiting) return std::nullopt;
      return Code(Kind::ping, of_ping(number_of(replaced(ping->payload, own, "@"), who), present));
    }
    if (const auto* publish = std::get_if<action_::Publish>(&action)) {
      if (publish->channel == lock_channel) {
        names.check = core::decode_check(publish->payload).value();
        return Code(Kind::check);
      }
      // Participants answer at once or never: what they publish goes to the channel in hand.
      if (happening.kind() != Kind::heard) throw std::logic_error("an answer to no question");
      const unsigned to = pinger(happening);
      const unsigned age = ping_age(happening);
      if (publish->channel != channel_of(to, age, who, own)) throw std::logic_error("an answer to another");
      if (age == past) return std::nullopt;  // nobody hears it
      return Code(Kind::publish, of_reply(number_of(publish->payload, who), to));
    }
    if (const auto* kill = std::get_if<action_::Kill>(&action)) {
      unsigned set = 0;
      for (const std::int64_t id : kill->ids) set |= 1U << static_cast<unsigned>(id);
      return Code(Kind::kill, set);
    }
    if (std::holds_alternative<action_::Open>(action)) return Code(Kind::open);
    if (std::holds_alternative<action_::Close>(action)) return Code(Kind::open, closing);
    if (std::holds_alternative<action_::Leave>(action)) return Code(Kind::leave);
    if (const auto* count = std::get_if<action_::Count>(&action)) return Code(Kind::count, place(*count));
    if (std::holds_alternative<action_::List>(action)) return Code(Kind::list);
    if (std::holds_alternative<action_::Increment>(action)) return Code(Kind::increment);
    if (std::holds_alternative<action_::Warn>(action)) return std::nullopt;
    throw std::logic_error("no code stands for that action");
  }

 private:
  struct Payload {
    std::string text;
    unsigned sender = 0;
    bool writes = false;  // a ping that says so
  };

  static std::string channel_of(unsigned whose, unsigned age, unsigned who, const std::string& own) {
    return whose == who && age == present ? own : foreign_channel(whose, age);
  }

  [[nodiscard]] std::vector<core::Connection> connections(unsigned set) const {
    std::vector<core::Connection> list;
    for (unsigned number = 0; 1U << number <= stranger; ++number) {
      const unsigned bit = 1U << number;
      if ((set & bit) == 0) continue;
      const unsigned who = number % players_;
      const std::string name =
          shares(who) ? core::shared_ear_name(ear_id(who)) : core::client_name(lock_channel, holder_id(who));
      list.push_back({number, bit == stranger ? "redis-cli" : name});
    }
    return list;
  }

  /// What is counted: the lock's channel, or the mark of a shared ear.
  [[nodiscard]] unsigned place(const core::action::Count& count) const {
    if (count.channel == lock_channel) return whole_channel;
    for (unsigned who = 0; who < players_; ++who) {
      if (count.channel == core::ear_mark(lock_channel, ear_id(who))) return mark_of(who);
    }
    throw std::logic_error("a count of what is not there");
  }

  unsigned number_of(const std::string& text, unsigned sender) {
    const auto [place, is_new] = numbers_.try_emplace(text, static_cast<unsigned>(payloads_.size()));
    if (is_new) {
      if (payloads_.size() > reply_payload_max) throw std::logic_error("more payloads than numbers");
      const auto ping = core::decode_ping(text);
      payloads_.push_back({text, sender, ping && ping->mode == HolderMode::pending});
    }
    return place->second;
  }

  unsigned players_;
  unsigned shared_ears_;
  std::vector<Payload> payloads_;
  std::map<std::string, unsigned> numbers_;
};

}  // namespace sublock::sim
