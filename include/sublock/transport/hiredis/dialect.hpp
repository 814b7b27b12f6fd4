// SPDX-License-Identifier: MIT
#pragma once

// The two sets of words in which Redis speaks of channels: those of a whole server, and those of one shard of a
// cluster.

#include <string_view>

namespace sublock::hiredis {

/// Commands, and what a subscriber is told.
struct Dialect {
  std::string_view subscribe;
  std::string_view unsubscribe;
  std::string_view publish;
  std::string_view count;  ///< behind PUBSUB
  std::string_view subscribed;
  std::string_view unsubscribed;
  std::string_view message;
  bool sharded = false;  ///< no subscribing in a transaction, and the server may be the wrong one
};

inline constexpr Dialect whole_server{"SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "NUMSUB",
                                      "subscribe", "unsubscribe", "message"};

/// Since Redis 7.0.
inline constexpr Dialect one_shard{"SSUBSCRIBE", "SUNSUBSCRIBE", "SPUBLISH", "SHARDNUMSUB",
                                   "ssubscribe", "sunsubscribe", "smessage", true};

}  // namespace sublock::hiredis
