// SPDX-License-Identifier: MIT
#pragma once

// The bytes of the protocol: which records travel, and what the core makes of them. The only room that
// knows them; no rule of the protocol is decided here, except that what can't be read is taken for the
// worst it could mean.

#include <sublock/core/holder.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/record.hpp>

#include <boost/hana/define_struct.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::core {

inline constexpr std::int64_t protocol_version = 1;   ///< portalocker's, in a reply
inline constexpr std::int64_t extension_version = 1;  ///< of our `sublock` object
inline constexpr std::size_t holder_id_bytes_max = 256;
inline constexpr std::size_t text_bytes_max = 256;  ///< of a host or a label; the rest is cut off
inline constexpr std::chrono::milliseconds usual_interval{
    250};  ///< of one who does not say how often he asks

/// Why a hint came: the lock may be free now, or the receiver is first in line.
enum class HintKind { wake, next };

[[nodiscard]] constexpr std::string_view name_of(HintKind kind) noexcept {
  switch (kind) {
    case HintKind::wake: return "wake";
    case HintKind::next: return "next";
  }
  return "unknown";
}

[[nodiscard]] constexpr bool parse_name(std::string_view name, HintKind& kind) noexcept {
  kind = name == "wake" ? HintKind::wake : HintKind::next;
  return name == name_of(kind);
}

[[nodiscard]] constexpr bool parse_name(std::string_view name, HolderMode& mode) noexcept {
  for (const auto known : {HolderMode::exclusive, HolderMode::pending, HolderMode::shared}) {
    if (name == name_of(known)) {
      mode = known;
      return true;
    }
  }
  return false;
}

/// One field list for each record. A std::optional may be missing or null, a Tolerant may be anything,
/// the rest must be there; a `sublock` object that doesn't fit is as if absent, whatever it claims.
namespace wire {

using record::Tolerant;

struct PingExtension {
  BOOST_HANA_DEFINE_STRUCT(PingExtension,                            //
                           (std::int64_t, v),                        //
                           (std::string, id),                        //
                           (HolderMode, mode),                       //
                           (bool, waiting),                          //
                           (std::optional<std::int64_t>, priority),  //
                           (std::optional<bool>, queue),             //
                           (std::optional<std::int64_t>, again_ms));
};

struct Ping {
  BOOST_HANA_DEFINE_STRUCT(Ping,                              //
                           (Tolerant<std::string>, message),  //
                           (std::string, response_channel),   //
                           (Tolerant<PingExtension>, sublock));
};

struct ReplyExtension {
  BOOST_HANA_DEFINE_STRUCT(ReplyExtension,                             //
                           (std::int64_t, v),                          //
                           (bool, leaving),                            //
                           (bool, next),                               //
                           (std::string, host),                        //
                           (std::int64_t, pid),                        //
                           (std::string, label),                       //
                           (std::optional<std::int64_t>, since_ms),    //
                           (std::optional<std::int64_t>, priority),    //
                           (std::optional<std::int64_t>, waiting_ms),  //
                           (std::optional<std::string>, ear));
};

struct Reply {
  BOOST_HANA_DEFINE_STRUCT(Reply,                      //
                           (std::string, holder_id),   //
                           (HolderMode, mode),         //
                           (std::int64_t, protocol),   //
                           (Tolerant<bool>, elected),  //
                           (Tolerant<ReplyExtension>, sublock));
};

struct HintBody {
  BOOST_HANA_DEFINE_STRUCT(HintBody,           //
                           (std::int64_t, v),  //
                           (HintKind, hint),   //
                           (std::vector<std::string>, queue));
};

struct Hint {
  BOOST_HANA_DEFINE_STRUCT(Hint, (HintBody, sublock));
};

struct GrantBody {
  BOOST_HANA_DEFINE_STRUCT(GrantBody,             //
                           (std::int64_t, v),     //
                           (std::string, to),     //
                           (std::string, nonce),  //
                           (std::vector<std::string>, queue));
};

struct Grant {
  BOOST_HANA_DEFINE_STRUCT(Grant,                            //
                           (std::string, message),           //
                           (std::string, response_channel),  //
                           (GrantBody, sublock));
};

struct CheckBody {
  BOOST_HANA_DEFINE_STRUCT(CheckBody,          //
                           (std::int64_t, v),  //
                           (std::string, nonce));
};

struct Check {
  BOOST_HANA_DEFINE_STRUCT(Check,                            //
                           (std::string, message),           //
                           (std::string, response_channel),  //
                           (CheckBody, sublock));
};

template <record::Record R>
std::ostream& operator<<(std::ostream& out, const R& value) {
  record::print(out, value);
  return out;
}

}  // namespace wire

/// A ping, as far as it is safe to believe it.
struct Ping {
  std::string response_channel{};
  bool sublock = false;  ///< the sender speaks our extension, so that the fields below mean something
  Candidate from{};
  HolderMode mode = HolderMode::pending;  ///< pending or shared
  bool waiting = false;                   ///< not joined, so no candidate
  bool queue = false;                     ///< will wait for the lock, and wants to be told when it can be had
  std::chrono::milliseconds interval = usual_interval;  ///< how often he asks while he waits

  /// From one who looks on, and wants nothing.
  [[nodiscard]] bool is_roll_call() const noexcept { return sublock && waiting && !queue; }

  friend bool operator==(const Ping&, const Ping&) = default;
};

/// What a holder tells one waiter, on its inbox, or one who stands, on its response channel.
struct Hint {
  HintKind kind = HintKind::wake;
  std::vector<std::string> queue{};

  friend bool operator==(const Hint&, const Hint&) = default;
};

/// What a releasing holder tells its successor, on the lock channel.
struct Grant {
  std::string to;     ///< the successor's holder id
  std::string nonce;  ///< the response channel of the ping that it answers
  std::vector<std::string> queue{};

  friend bool operator==(const Grant&, const Grant&) = default;
};

/// A ping of ours: the `sublock` object is always there.
[[nodiscard]] inline std::string encode(const Ping& ping) {
  wire::Ping out{};
  out.message.emplace("ping");
  out.response_channel = ping.response_channel;
  out.sublock.emplace(wire::PingExtension{extension_version, ping.from.holder_id, ping.mode, ping.waiting,
                                          ping.from.priority, ping.queue, ping.interval.count()});
  return record::encode(out);
}

/// The answer of a participant of ours; `elected` is always sent.
[[nodiscard]] inline std::string encode_reply(const Holder& holder) {
  wire::Reply out{};
  out.holder_id = holder.holder_id;
  out.mode = holder.mode;
  out.protocol = protocol_version;
  out.elected.emplace(holder.elected.value_or(holder.mode == HolderMode::exclusive));
  wire::ReplyExtension extension{};
  extension.v = extension_version;
  extension.leaving = holder.leaving;
  extension.next = holder.next;
  extension.host = holder.host;
  extension.pid = holder.pid;
  extension.label = holder.label;
  if (holder.held_for) extension.since_ms = holder.held_for->count();
  extension.priority = holder.priority;
  if (holder.waiting_for) extension.waiting_ms = holder.waiting_for->count();
  if (!holder.ear.empty()) extension.ear = holder.ear;
  out.sublock.emplace(std::move(extension));
  return record::encode(out);
}

[[nodiscard]] inline std::string encode(const Hint& hint) {
  return record::encode(wire::Hint{{extension_version, hint.kind, hint.queue}});
}

/// What a holder publishes on the lock channel to hear whether it still hears. Nobody answers it.
[[nodiscard]] inline std::string encode_check(const std::string& nonce) {
  return record::encode(wire::Check{"check", "", {extension_version, nonce}});
}

/// Its response channel is there, and empty: old holders read that key without looking.
[[nodiscard]] inline std::string encode(const Grant& grant) {
  return record::encode(wire::Grant{"grant", "", {extension_version, grant.to, grant.nonce, grant.queue}});
}

namespace detail {

/// The start of `text`, cut where a UTF-8 sequence ends.
[[nodiscard]] inline std::string clipped(std::string text) {
  if (text.size() <= text_bytes_max) return text;
  std::size_t end = text_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  text.resize(end);
  return text;
}

[[nodiscard]] inline bool is_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= holder_id_bytes_max;
}

/// How often somebody may ask, out of what he says: at least once in an hour.
[[nodiscard]] constexpr std::chrono::milliseconds clamped_interval(std::int64_t milliseconds) noexcept {
  constexpr std::int64_t longest = std::chrono::milliseconds(std::chrono::hours(1)).count();
  return std::chrono::milliseconds(std::clamp<std::int64_t>(milliseconds, 1, longest));
}

/// Nanoseconds since any event must fit a Duration, or adding them up would overflow.
[[nodiscard]] inline bool is_age(std::int64_t milliseconds) noexcept {
  return milliseconds >= 0 &&
         milliseconds <= std::chrono::floor<std::chrono::milliseconds>(Duration::max()).count();
}

}  // namespace detail

/// The ping that `payload` is; nothing where it must be ignored: no JSON object, no response channel, or an
/// empty one, as in a grant. A `sublock` object that makes no sense is as if absent: an unknown sender may
/// be about to claim.
[[nodiscard]] inline std::optional<Ping> decode_ping(std::string_view payload) {
  auto in = record::decode<wire::Ping>(payload);
  if (!in || in->response_channel.empty()) return std::nullopt;
  Ping ping;
  ping.response_channel = std::move(in->response_channel);
  if (const auto& extension = in->sublock; extension && extension->v == extension_version &&
                                           detail::is_id(extension->id) &&
                                           extension->mode != HolderMode::exclusive) {
    ping.sublock = true;
    ping.from = {extension->id, extension->priority.value_or(0)};
    ping.mode = extension->mode;
    ping.waiting = extension->waiting;
    ping.queue = extension->queue.value_or(false);
    if (extension->again_ms) ping.interval = detail::clamped_interval(*extension->again_ms);
  }
  return ping;
}

/// The answer that `payload` is. Whatever is not clearly one of protocol 1 stands for a legacy exclusive
/// holder without an id: a lock that can't be read is not free. For the same reason a `sublock` object that
/// makes no sense is as if absent, and `leaving` is believed only of one who claims nothing else.
[[nodiscard]] inline Holder decode_reply(std::string_view payload) {
  Holder holder;
  auto in = record::decode<wire::Reply>(payload);
  if (!in || in->protocol != protocol_version || !detail::is_id(in->holder_id)) {
    holder.legacy = true;
    return holder;
  }
  holder.holder_id = std::move(in->holder_id);
  holder.mode = in->mode;
  holder.elected = in->elected;
  if (auto& extension = in->sublock; extension && extension->v == extension_version &&
                                     detail::is_age(extension->since_ms.value_or(0)) &&
                                     detail::is_age(extension->waiting_ms.value_or(0))) {
    holder.sublock = true;
    holder.leaving =
        extension->leaving && holder.mode == HolderMode::pending && !holder.elected.value_or(false);
    holder.next = extension->next;
    holder.host = detail::clipped(std::move(extension->host));
    holder.pid = extension->pid;
    holder.label = detail::clipped(std::move(extension->label));
    holder.priority = extension->priority.value_or(0);
    if (extension->ear && is_holder_id(*extension->ear)) holder.ear = std::move(*extension->ear);
    if (extension->since_ms) holder.held_for = std::chrono::milliseconds(*extension->since_ms);
    if (extension->waiting_ms) holder.waiting_for = std::chrono::milliseconds(*extension->waiting_ms);
  }
  return holder;
}

[[nodiscard]] inline std::optional<Hint> decode_hint(std::string_view payload) {
  auto in = record::decode<wire::Hint>(payload);
  if (!in || in->sublock.v != extension_version) return std::nullopt;
  return Hint{in->sublock.hint, std::move(in->sublock.queue)};
}

[[nodiscard]] inline std::optional<Grant> decode_grant(std::string_view payload) {
  auto in = record::decode<wire::Grant>(payload);
  if (!in || in->message != "grant" || !in->response_channel.empty()) return std::nullopt;
  auto& body = in->sublock;
  if (body.v != extension_version || !detail::is_id(body.to) || body.nonce.empty()) return std::nullopt;
  return Grant{std::move(body.to), std::move(body.nonce), std::move(body.queue)};
}

/// The nonce of a check.
[[nodiscard]] inline std::optional<std::string> decode_check(std::string_view payload) {
  auto in = record::decode<wire::Check>(payload);
  if (!in || in->message != "check" || in->sublock.v != extension_version) return std::nullopt;
  return std::move(in->sublock.nonce);
}

}  // namespace sublock::core
