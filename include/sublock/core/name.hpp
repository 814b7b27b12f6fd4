// SPDX-License-Identifier: MIT
#pragma once

// Names: which channels, ids and labels are legal, and what an ear calls itself while it has joined.

#include <sublock/error.hpp>

#include <boost/locale/utf.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sublock::core {

inline constexpr std::size_t channel_bytes_max = 65'536;
inline constexpr std::size_t label_bytes_max = 256;
inline constexpr std::size_t own_id_digits = 32;

namespace detail {

/// Where `text` stops being UTF-8: the offset of the first sequence that is none.
[[nodiscard]] inline std::optional<std::size_t> utf8_flaw(std::string_view text) {
  namespace utf = boost::locale::utf;
  for (auto at = text.begin(); at != text.end();) {
    const auto start = at;
    const auto point = utf::utf_traits<char>::decode(at, text.end());
    if (point == utf::illegal || point == utf::incomplete) {
      return static_cast<std::size_t>(start - text.begin());
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline std::string hex(unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

inline void check_utf8(std::string_view what, std::string_view text) {
  if (const auto flaw = utf8_flaw(text)) {
    throw LockError({Errc::usage, std::string(what) + " must be UTF-8: byte " +
                                      hex(static_cast<unsigned char>(text[*flaw])) + " at offset " +
                                      std::to_string(*flaw) + " is not"});
  }
}

/// Own lines: Boost's two encoders (Beast's is private, Serialization's reads past an odd end) lack the url
/// alphabet, and nlohmann has none.
[[nodiscard]] inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  out.reserve(bytes.size() / 3 * 4 + 3);
  unsigned pending = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8U | static_cast<unsigned char>(c)) & 0xfffU;
    for (bits += 8; bits >= 6; bits -= 6) out += alphabet[pending >> (bits - 6) & 63U];
  }
  if (bits > 0) out += alphabet[pending << (6 - bits) & 63U];
  return out;
}

}  // namespace detail

/// Whether a lock may be named that: any UTF-8 of 1 to 65,536 bytes, NUL and line ends included. Not other
/// bytes: JSON could not carry them in a ping.
/// @throws LockError (Errc::usage) naming the first bad byte and its offset
inline void check_channel(std::string_view channel) {
  if (channel.empty()) throw LockError({Errc::usage, "a channel needs a name"});
  if (channel.size() > channel_bytes_max) {
    throw LockError({Errc::usage, "a channel name has at most " + std::to_string(channel_bytes_max) +
                                      " bytes, not " + std::to_string(channel.size())});
  }
  detail::check_utf8("a channel name", channel);
}

/// Whether a participant of ours could have that id.
[[nodiscard]] inline bool is_holder_id(std::string_view id) noexcept {
  return id.size() == own_id_digits && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Whether a participant of ours may have that id.
/// @throws LockError (Errc::usage)
inline void check_holder_id(std::string_view id) {
  if (is_holder_id(id)) return;
  const auto bad = std::find_if_not(id.begin(), id.end(),
                                    [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  std::string text = "a holder id has 32 lowercase hex digits, not ";
  if (bad == id.end()) {
    text += std::to_string(id.size());
  } else {
    text += "byte " + detail::hex(static_cast<unsigned char>(*bad)) + " at offset " +
            std::to_string(bad - id.begin());
  }
  throw LockError({Errc::usage, text});
}

/// Whether a lock may carry that label: UTF-8 of at most 256 bytes.
/// @throws LockError (Errc::usage)
inline void check_label(std::string_view label) {
  if (label.size() > label_bytes_max) {
    throw LockError({Errc::usage, "a label has at most " + std::to_string(label_bytes_max) + " bytes, not " +
                                      std::to_string(label.size())});
  }
  detail::check_utf8("a label", label);
}

/// What the names of all ears on `channel` begin with: `<channel>-lock`, as portalocker's, where Redis accepts
/// that (bytes 0x21 to 0x7e), else `~<its base64url>~lock`, which no other channel's ears are called.
[[nodiscard]] inline std::string name_stem(std::string_view channel) {
  const bool plain = std::all_of(channel.begin(), channel.end(), [](char c) { return c >= '!' && c <= '~'; });
  return plain ? std::string(channel) + "-lock" : '~' + detail::base64url(channel) + "~lock";
}

/// What an ear calls itself while it has joined.
[[nodiscard]] inline std::string client_name(std::string_view channel, std::string_view holder_id) {
  return name_stem(channel).append("-").append(holder_id);
}

/// What portalocker before 4.0 called its only connection.
[[nodiscard]] inline std::string legacy_client_name(std::string_view channel) { return name_stem(channel); }

/// Where one who waits outside is told that the lock can be had; always the same, so that a line of waiters
/// that is passed on does not go stale.
[[nodiscard]] inline std::string inbox(std::string_view channel, std::string_view holder_id) {
  return std::string(channel).append("-").append(holder_id);
}

/// What every reader, or every writer, subscribes to beside the channel itself, so that the server can tell
/// whether others than readers are there. As long as a response channel, for one ACL pattern to cover all; its
/// digits spell words, so that nobody's lock is called that.
[[nodiscard]] inline std::string roster(std::string_view channel, LockMode mode) {
  const bool reads = mode == LockMode::shared;
  return std::string(channel).append(reads ? "-7375626c6f636b20726561646572732e"
                                           : "-7375626c6f636b20777269746572732e");
}

/// The key that counts the fencing tokens of a channel.
[[nodiscard]] inline std::string fence_key(std::string_view channel) {
  return std::string(channel).append("-fence");
}

/// Whose ear on the channel with that stem is called `name`: a holder id, empty for the old protocol, which has
/// none. Nothing where the name is not exactly one of this channel's: on channel `a`, an ear of channel
/// `a-lock-b` or a tool that calls itself `a-lock-mytool` is none of ours.
[[nodiscard]] inline std::optional<std::string_view> named_holder(std::string_view stem,
                                                                  std::string_view name) {
  if (!name.starts_with(stem)) return std::nullopt;
  std::string_view rest = name.substr(stem.size());
  if (rest.empty()) return rest;
  if (rest.front() != '-') return std::nullopt;
  rest.remove_prefix(1);
  return is_holder_id(rest) ? std::optional(rest) : std::nullopt;
}

}  // namespace sublock::core
