// SPDX-License-Identifier: MIT
#pragma once

// What the driver prints: one line for each event, complete and at once, whoever reads along.

#include <sublock/error.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

#include <unistd.h>

namespace driver {

/// Anything but printable ASCII as \xNN, so that a line stays one line in every reader's encoding.
[[nodiscard]] inline std::string printable(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
  }
  return result;
}

/// "12345.678901 WORD text", stamped with CLOCK_MONOTONIC seconds, in one write.
inline void report(std::string_view word, std::string_view text = {}) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char stamp[48];
  std::snprintf(stamp, sizeof stamp, "%lld.%06ld ", static_cast<long long>(now.tv_sec), now.tv_nsec / 1000);
  std::string line = stamp;
  line += word;
  if (!text.empty()) line.append(1, ' ').append(printable(text));
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;  // nobody reads any more
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// The word for a kind of failure. Wrong use of the lock object is `usage` as well.
[[nodiscard]] constexpr std::string_view word_for(sublock::Errc kind) noexcept {
  using enum sublock::Errc;
  switch (kind) {
    case busy: return "busy";
    case lost:
    case doubtful: return "lost";
    case cancelled: return "cancelled";
    case permission: return "permission";
    case auth: return "auth";
    case connect: return "connect";
    case protocol: return "protocol";
    case not_held:
    case already_held:
    case usage: return "usage";
  }
  return "protocol";
}

inline void report_failure(sublock::Errc kind, std::string_view text) {
  report("FAILED", std::string(word_for(kind)) + " " + std::string(text));
}

}  // namespace driver
