// SPDX-License-Identifier: MIT
#pragma once

// One message of each kind that travels, and its bytes.

#include <sublock/core/wire.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace sublock::core {

inline const std::string sample_id = "0123456789abcdef0123456789abcdef";

inline Ping ping_of_ours() {
  return {
      "jobs-00ff", true, {sample_id, 7}, HolderMode::pending, true, true, std::chrono::milliseconds(2500)};
}

inline Holder holder_of_ours() {
  return {.holder_id = sample_id,
          .mode = HolderMode::exclusive,
          .elected = true,
          .sublock = true,
          .host = "web-3",
          .pid = 812,
          .label = "importér",
          .priority = -2,
          .held_for = std::chrono::milliseconds(4200)};
}

inline constexpr std::string_view golden_ping =
    R"({"message":"ping","response_channel":"jobs-00ff","sublock":{"v":1,)"
    R"("id":"0123456789abcdef0123456789abcdef","mode":"pending","waiting":true,"priority":7,"queue":true,)"
    R"("again_ms":2500}})";

inline constexpr std::string_view golden_reply =
    R"({"holder_id":"0123456789abcdef0123456789abcdef","mode":"exclusive","protocol":1,"elected":true,)"
    R"("sublock":{"v":1,"leaving":false,"next":false,"host":"web-3","pid":812,"label":"importér",)"
    R"("since_ms":4200,"priority":-2,"waiting_ms":null,"ear":null}})";

}  // namespace sublock::core
