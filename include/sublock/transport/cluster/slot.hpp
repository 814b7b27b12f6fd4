// SPDX-License-Identifier: MIT
#pragma once

// Which of a cluster's slots a name belongs to, and which channels a lock may have there. Pure.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <boost/crc.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sublock::cluster {

inline constexpr std::size_t slots = 16'384;

/// What stands between the first brace and the next closing one; empty where nothing does, and then the whole name
/// counts (Redis cluster specification, hash tags).
[[nodiscard]] inline std::string_view hash_tag(std::string_view name) {
  const auto open = name.find('{');
  if (open == std::string_view::npos) return {};
  const auto close = name.find('}', open + 1);
  return close == std::string_view::npos ? std::string_view() : name.substr(open + 1, close - open - 1);
}

/// O(size of the name).
[[nodiscard]] inline std::size_t slot_of(std::string_view name) {
  const std::string_view tag = hash_tag(name);
  const std::string_view hashed = tag.empty() ? name : tag;
  boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;  // known as XMODEM
  crc.process_bytes(hashed.data(), hashed.size());
  return crc.checksum() % slots;
}

/// A lock's channel, its response channels and its fence live in one slot: that takes a hash tag.
/// Throws LockError(usage), with the name to use instead.
inline void check_channel(std::string_view channel) {
  if (!hash_tag(channel).empty()) return;
  const std::string better = '{' + std::string(channel) + '}';
  const std::string advice =
      hash_tag(better).empty() ? "put a part of it into braces" : "write " + hiredis::shown(better);
  throw LockError({Errc::usage, "in a cluster a lock's channels must share a slot, so that '" +
                                    hiredis::shown(channel) + "' needs a hash tag: " + advice});
}

}  // namespace sublock::cluster
