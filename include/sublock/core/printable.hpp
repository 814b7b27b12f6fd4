// SPDX-License-Identifier: MIT
#pragma once

// What strangers say of themselves, made fit for one line of a log. Only text in, text out.

#include <string>
#include <string_view>

namespace sublock::core {

/// `text` with control bytes and quotes written as \xNN, so that nobody on a channel can forge a line of
/// somebody else's log. Bytes from 0x80 are left alone: names of hosts and labels are UTF-8.
[[nodiscard]] inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '"' || c == '\\') {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace sublock::core
