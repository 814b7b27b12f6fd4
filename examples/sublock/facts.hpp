// SPDX-License-Identifier: MIT
#pragma once

// What a server says of itself: INFO, and its configuration where we may see it. Judges nothing.

#include "talk.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace command {

[[nodiscard]] inline std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

class Facts {
 public:
  explicit Facts(Talk& talk) : talk_(talk) {
    const Reply reply = talk_.ask({"INFO"});
    (is_error(*reply) ? why_no_info_ : info_) = text_of(*reply);
  }

  /// Why INFO says nothing; empty where it does.
  [[nodiscard]] const std::string& why_no_info() const noexcept { return why_no_info_; }

  /// A line of INFO, or nothing.
  [[nodiscard]] std::optional<std::string> info(std::string_view name) const {
    for (std::string_view rest = info_; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
        return std::string(line.substr(name.size() + 1));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const {
    const auto text = info(name);
    return text ? number_in(*text) : std::nullopt;
  }

  struct Setting {
    std::optional<std::string> value;
    std::string why;  ///< where there is no value
  };

  [[nodiscard]] Setting config(std::string_view name) {
    const Reply reply = talk_.ask({"CONFIG", "GET", name});
    if (is_error(*reply)) return {{}, std::string(text_of(*reply))};
    if (!sublock::hiredis::is_array(*reply, 2))
      return {{}, "this server has no setting '" + std::string(name) + "'"};
    return {std::string(text_of(*reply->element[1])), {}};
  }

  /// "7.0.15" as {7, 0, 15}; what is missing is 0.
  using Version = std::array<std::int64_t, 3>;
  [[nodiscard]] static Version version_of(std::string_view text) {
    Version parts{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::int64_t& part : parts) {
      at = std::from_chars(at, end, part).ptr;
      if (at != end) ++at;
    }
    return parts;
  }

 private:
  Talk& talk_;
  std::string info_;
  std::string why_no_info_;
};

}  // namespace command
