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

enum class Verb { lock, key };

struct Arguments {
  Verb verb = Verb::lock;
  std::string name;  ///< of the channel, or the key
  bool shared = false;
  bool try_once = false;
  bool loop = false;
  bool fencing = false;
  bool say_leaving = false;
  sublock::Duration wait = std::chrono::seconds(5);
  sublock::Duration hold = sublock::Duration::zero();
  std::optional<sublock::Duration> unavailable_timeout;
  std::optional<sublock::Duration> check_interval;
  std::optional<sublock::Duration> expire;
  std::optional<sublock::Duration> interval;
  sublock::Duration ask_every = sublock::infinite;
  std::string url;
  std::string user;
  std::string password;
  std::string holder_id;
  std::string label;
  std::string overlap_key;
};

inline constexpr std::string_view usage =
    "sublock-driver lock CHANNEL or key KEY; for both [try] [wait=S] [hold=S] [loop] [host=] [port=] [url=] "
    "[user=] [password=] [U=S] [overlap=KEY] [fencing]; for lock [shared] [C=S] [id=HEX] [label=] [leaving]; "
    "for key [expire=S] [interval=S] [mine=S]";

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
  const auto nearest = std::chrono::round<sublock::Duration>(exact);
  return seconds > 0 ? std::max(nearest, sublock::Duration(1)) : nearest;
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

/// Each word, with its equals sign where it has one, and what it does with what stands behind that.
using Words = std::map<std::string_view, std::function<void(std::string)>>;

[[nodiscard]] inline Words words_for_both(Arguments& into) {
  return {
      {"try", [&](auto) { into.try_once = true; }},
      {"loop", [&](auto) { into.loop = true; }},
      {"fencing", [&](auto) { into.fencing = true; }},
      {"wait=", [&](const std::string& text) { into.wait = parse_seconds("wait", text); }},
      {"hold=", [&](const std::string& text) { into.hold = parse_seconds("hold", text); }},
      {"U=", [&](const std::string& text) { into.unavailable_timeout = parse_seconds("U", text); }},
      {"url=", [&](std::string text) { into.url = std::move(text); }},
      {"user=", [&](std::string text) { into.user = std::move(text); }},
      {"password=", [&](std::string text) { into.password = std::move(text); }},
      {"overlap=", [&](std::string text) { into.overlap_key = std::move(text); }},
  };
}

[[nodiscard]] inline Words words_for_lock(Arguments& into) {
  return {
      {"shared", [&](auto) { into.shared = true; }},
      {"leaving", [&](auto) { into.say_leaving = true; }},
      {"C=", [&](const std::string& text) { into.check_interval = parse_seconds("C", text); }},
      {"id=", [&](std::string text) { into.holder_id = parse_id(std::move(text)); }},
      {"label=", [&](std::string text) { into.label = std::move(text); }},
  };
}

[[nodiscard]] inline Words words_for_key(Arguments& into) {
  return {
      {"expire=", [&](const std::string& text) { into.expire = parse_seconds("expire", text); }},
      {"interval=", [&](const std::string& text) { into.interval = parse_seconds("interval", text); }},
      {"mine=", [&](const std::string& text) { into.ask_every = parse_seconds("mine", text); }},
  };
}

/// What follows the program's name. Throws UsageError.
[[nodiscard]] inline Arguments parse(std::span<const char* const> given) {
  static const std::map<std::string_view, Verb> verbs{{"lock", Verb::lock}, {"key", Verb::key}};
  const auto verb = given.size() < 2 ? verbs.end() : verbs.find(given[0]);
  if (verb == verbs.end()) throw UsageError(std::string(usage));
  Arguments result;
  result.verb = verb->second;
  result.name = given[1];

  std::optional<std::string> host;
  std::optional<int> port;
  Words words = words_for_both(result);
  words.merge(result.verb == Verb::key ? words_for_key(result) : words_for_lock(result));
  words["host="] = [&](std::string text) { host = std::move(text); };
  words["port="] = [&](const std::string& text) { port = parse_port(text); };
  for (const std::string_view word : given.subspan(2)) {
    const std::size_t end = std::min(word.find('='), word.size() - 1) + 1;
    const auto known = words.find(word.substr(0, end));
    if (known == words.end())
      throw UsageError("unknown word '" + std::string(word) + "': " + std::string(usage));
    known->second(std::string(word.substr(end)));
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
