// SPDX-License-Identifier: MIT
#pragma once

// Who this process is, for those who wait for it. Asked afresh each time: a fork changes the answer.

#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

namespace sublock {

[[nodiscard]] inline std::int64_t process_id() noexcept { return ::getpid(); }

/// The host's name, or "unknown".
[[nodiscard]] inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace sublock
