// SPDX-License-Identifier: MIT
#pragma once

// The driver's command line: a verb, one positional word, then flags and key=value words in any order.
// One table says what there is. Nothing here connects, prints or waits.

#include <sublock/options.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace driver {

/// The command line makes no sense; `what()` says which word.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::string channel;
  bool shared = false;
  bool try_once = false;
  bool loop = false;
  bool fencing = false;
  bool say_leaving = false;
  sublock::Duration wait = std::chrono::seconds(5);
  sublock::Duration hold = sublock::Duration::zero();
  std::optional<sublock::Duration> unavailable_timeout;
  std::optional<sublock::Duration> check_interval;
  std::string url;
  std::string user;
  std::string password;
  std::string holder_id;
  std::string label;
  std::string overlap_key;
};

inline constexpr std::string_view usage =
    "sublock-driver lock CHANNEL [shared] [try] [wait=S] [hold=S] [loop] [host=] [port=] [url=] [user=] "
    "[password=] [U=S] [C=S] [id=HEX] [label=] [overlap=KEY] [fencing] [leaving]";

/// A decimal number of seconds, zero or more; what no Duration can hold is `infinite`.
[[nodiscard]] inline sublock::Duration parse_seconds(std::string_view name, const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc::result_out_of_range) seconds = std::strtod(text.c_str(), nullptr);
  if (error == std::errc::invalid_argument || stop != end || std::isnan(seconds) || std::signbit(seconds))
    throw UsageError(std::string(name) + "= takes seconds, zero or more, not '" + text + "'");
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const Nanoseconds exact = std::chrono::duration<double>(seconds);
  if (exact >= Nanoseconds(sublock::infinite)) return sublock::infinite;
  return std::chrono::ceil<sublock::Duration>(exact);
}

[[nodiscard]] inline int parse_port(const std::string& text) {
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || stop != end || port < 1 || port > 65535)
    throw UsageError("port= takes 1 to 65535, not '" + text + "'");
  return port;
}

/// 32 hex digits in either case, returned in lower case as they travel.
[[nodiscard]] inline std::string parse_id(std::string text) {
  const bool hex = text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (text.size() != 32 || !hex) throw UsageError("id= takes 32 hex digits, not '" + text + "'");
  std::ranges::transform(text, text.begin(), [](char c) { return c < 'A' || c > 'F' ? c : char(c + 32); });
  return text;
}

/// What follows the program's name. Throws UsageError.
[[nodiscard]] inline Arguments parse(std::span<const char* const> words) {
  if (words.size() < 2 || words[0] != std::string_view("lock")) throw UsageError(std::string(usage));
  Arguments result;
  result.channel = words[1];

  std::optional<std::string> host;
  std::optional<int> port;
  const std::map<std::string_view, std::function<void()>> flags{
      {"shared", [&] { result.shared = true; }},       {"try", [&] { result.try_once = true; }},
      {"loop", [&] { result.loop = true; }},           {"fencing", [&] { result.fencing = true; }},
      {"leaving", [&] { result.say_leaving = true; }},
  };
  using Setter = std::function<void(std::string)>;
  const std::map<std::string_view, Setter> settings{
      {"wait", [&](const std::string& text) { result.wait = parse_seconds("wait", text); }},
      {"hold", [&](const std::string& text) { result.hold = parse_seconds("hold", text); }},
      {"U", [&](const std::string& text) { result.unavailable_timeout = parse_seconds("U", text); }},
      {"C", [&](const std::string& text) { result.check_interval = parse_seconds("C", text); }},
      {"host", [&](std::string text) { host = std::move(text); }},
      {"port", [&](const std::string& text) { port = parse_port(text); }},
      {"url", [&](std::string text) { result.url = std::move(text); }},
      {"user", [&](std::string text) { result.user = std::move(text); }},
      {"password", [&](std::string text) { result.password = std::move(text); }},
      {"id", [&](std::string text) { result.holder_id = parse_id(std::move(text)); }},
      {"label", [&](std::string text) { result.label = std::move(text); }},
      {"overlap", [&](std::string text) { result.overlap_key = std::move(text); }},
  };

  for (const std::string_view word : words.subspan(2)) {
    const std::size_t equals = word.find('=');
    if (const auto flag = flags.find(word); flag != flags.end()) {
      flag->second();
    } else if (const auto setting = settings.find(word.substr(0, equals));
               equals != std::string_view::npos && setting != settings.end()) {
      setting->second(std::string(word.substr(equals + 1)));
    } else {
      throw UsageError("unknown word '" + std::string(word) + "': " + std::string(usage));
    }
  }

  if (result.try_once) result.wait = sublock::Duration::zero();
  if ((host || port) && !result.url.empty()) throw UsageError("url= stands in place of host= and port=");
  if (result.url.empty()) {
    std::string name = host.value_or("127.0.0.1");
    if (name.find(':') != std::string::npos) name = "[" + name + "]";
    result.url = "redis://" + name + ":" + std::to_string(port.value_or(6379));
  }
  return result;
}

}  // namespace driver
