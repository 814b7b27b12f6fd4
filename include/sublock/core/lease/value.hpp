// SPDX-License-Identifier: MIT
#pragma once

// What is stored under the key of a lease, and the names beside it. The value is that of Ruby's
// redis_getlock: {"uuid":"<with hyphens>","expire_at":"<seconds since 1970, as a decimal string>"}.

#include <sublock/core/holder.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/record.hpp>

#include <boost/hana/define_struct.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sublock::core::lease {

/// Of a stored value, no more than this is ever fetched; ours is a tenth of it.
inline constexpr std::size_t value_bytes_max = 1024;

/// The record, as it is read: whatever a stranger has stored.
struct Value {
  BOOST_HANA_DEFINE_STRUCT(Value, (std::string, uuid), (record::Tolerant<std::string>, expire_at));
};

/// 32 hex digits as a random UUID (RFC 4122, version 4), with hyphens.
[[nodiscard]] inline std::string uuid_of(std::string_view id) {
  std::string uuid;
  for (std::size_t at = 0; at < id.size(); ++at) {
    if (at == 8 || at == 12 || at == 16 || at == 20) uuid += '-';
    uuid += id[at];
  }
  uuid[14] = '4';
  uuid[19] = "89ab"[static_cast<unsigned char>(uuid[19]) % 4U];
  return uuid;
}

/// What every value of that owner begins with, and nobody else's: by it the server tells whose the key is.
[[nodiscard]] inline std::string mark_of(std::string_view uuid) {
  return std::string(R"({"uuid":")").append(uuid).append(R"(",)");
}

/// The whole value. `expire_at` is for those who have no SET with options; nobody else looks at it.
[[nodiscard]] inline std::string value_of(std::string_view mark, WallTime expire_at) {
  char digits[64];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, expire_at.count(), std::chars_format::fixed, 6).ptr;
  return std::string(mark).append(R"("expire_at":")").append(digits, end).append(R"("})");
}

/// Who stored that, if it is a lock at all.
[[nodiscard]] inline std::optional<Value> decode_value(std::string_view text) {
  return record::decode<Value>(text);
}

/// When that value says it expires; nothing where it doesn't say.
[[nodiscard]] inline std::optional<WallTime> expire_at(std::string_view text) {
  const auto value = decode_value(text);
  if (!value || !value->expire_at) return std::nullopt;
  const std::string& digits = *value->expire_at;
  double seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!whole || !std::isfinite(seconds)) return std::nullopt;
  return WallTime(seconds);
}

/// Where those who wait for a key are told that it was given back. As long as an inbox, for one ACL pattern to
/// cover both; its digits spell words.
[[nodiscard]] inline std::string release_channel(std::string_view key) {
  return std::string(key).append("-7375626c6f636b20697320667265652e");
}

}  // namespace sublock::core::lease
