// SPDX-License-Identifier: MIT
#pragma once

// The text that CLIENT LIST answers with, read line by line. Pure; never throws on what a server sends
// but for lack of memory.

#include <sublock/core/holder.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sublock::hiredis {

/// One Connection for each line that has a numeric `id`; the fields may come in any order, unknown ones
/// are skipped, and so are lines that make no sense. O(size).
[[nodiscard]] inline std::vector<core::Connection> parse_client_list(std::string_view text) {
  std::vector<core::Connection> connections;
  const auto cut = [](std::string_view& rest, char separator) {
    const auto end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return piece;
  };
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    core::Connection connection;
    bool has_id = false;
    while (!line.empty()) {
      std::string_view value = cut(line, ' ');
      const std::string_view field = cut(value, '=');  // the value keeps any further '='
      if (field == "id") {
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, connection.id);
        has_id = error == std::errc() && stop == end && connection.id >= 0;
      } else if (field == "name") {
        connection.name = std::string(value);
      }
    }
    if (has_id) connections.push_back(std::move(connection));
  }
  return connections;
}

}  // namespace sublock::hiredis
