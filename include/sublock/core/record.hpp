// SPDX-License-Identifier: MIT
#pragma once

// Any record with a Hana field list, to JSON and back: the one walk that encode, decode and print share.
// Knows JSON and its limits, and no record of the protocol by name.
//
// Reading never throws on what a stranger wrote, never recurses into it and keeps only what a field asks
// for: nlohmann's parser is a loop, and the callback drops all else on the way.

#include <sublock/core/printable.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/core/to.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/unpack.hpp>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sublock::core::record {

/// Longer messages are ignored. A ping on the longest legal channel, 65,536 control characters of six
/// bytes each once escaped, stays below.
inline constexpr std::size_t message_bytes_max = 512UL * 1024;

/// Deeper messages are ignored; ours are three deep.
inline constexpr int depth_max = 16;

/// Of a longer list the rest is forgotten.
inline constexpr std::size_t list_max = 64;

/// Keeps the order in which a record names its fields.
using Json = nlohmann::ordered_json;

/// A field that may hold anything: what doesn't fit is as if it were missing. (A std::optional may only be
/// missing or null: anything else must fit.)
template <class T>
struct Tolerant : std::optional<T> {
  using std::optional<T>::optional;
};

template <class T>
concept Record = boost::hana::Struct<T>::value;

/// An enum that `parse_name` and `name_of`, found beside it, turn into a word and back.
template <class T>
concept Word = std::is_enum_v<T>;

/// Calls `visit(name, member pointer as a function)` for each field in order, until one returns false.
template <Record R, class Visit>
constexpr bool every_field(Visit visit) {
  return boost::hana::unpack(boost::hana::accessors<R>(), [&](const auto&... field) {
    return (visit(std::string_view(boost::hana::to<const char*>(boost::hana::first(field))),
                  boost::hana::second(field)) &&
            ...);
  });
}

/// Whether some record inside `R`, or `R` itself, has a field of that name.
template <class T>
[[nodiscard]] bool knows(std::string_view key) {
  if constexpr (Record<T>) {
    return !every_field<T>([&](std::string_view name, const auto& get) {
      return name != key && !knows<std::remove_cvref_t<decltype(get(std::declval<T&>()))>>(key);
    });
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    return knows<typename T::value_type>(key);
  } else {
    return false;
  }
}

template <class T>
[[nodiscard]] Json to_json(const T& value) {
  if constexpr (Record<T>) {
    Json object = Json::object();
    every_field<T>([&](std::string_view name, const auto& get) {
      object[std::string(name)] = to_json(get(value));
      return true;
    });
    return object;
  } else if constexpr (Word<T>) {
    return std::string(name_of(value));
  } else if constexpr (requires { value.has_value(); }) {
    return value ? to_json(*value) : Json(nullptr);
  } else {
    return value;
  }
}

/// Whether `json` fits `value`, which is then set.
template <class T>
[[nodiscard]] bool from_json(const Json& json, T& value);

template <class T>
[[nodiscard]] bool from_json(const Json& json, Tolerant<T>& value) {
  if (T inner{}; from_json(json, inner)) value.emplace(std::move(inner));
  return true;
}

template <class T>
[[nodiscard]] bool from_json(const Json& json, std::optional<T>& value) {
  if (json.is_null()) return true;
  T inner{};
  if (!from_json(json, inner)) return false;
  value.emplace(std::move(inner));
  return true;
}

template <class T>
[[nodiscard]] bool from_json(const Json& json, std::vector<T>& value) {
  if (!json.is_array()) return false;
  for (std::size_t i = 0; i < json.size() && i < list_max; ++i) {
    if (!from_json(json[i], value.emplace_back())) return false;
  }
  return true;
}

template <class T>
bool from_json(const Json& json, T& value) {
  if constexpr (Record<T>) {
    if (!json.is_object()) return false;
    return every_field<T>([&](std::string_view name, const auto& get) {
      const auto found = json.find(std::string(name));
      static const Json missing;
      return from_json(found == json.end() ? missing : *found, get(value));
    });
  } else if constexpr (Word<T>) {
    if (!json.is_string()) return false;
    return parse_name(std::string_view(*json.template get_ptr<const std::string*>()), value);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return false;
    value = *json.template get_ptr<const bool*>();
    return true;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return false;
    value = *json.template get_ptr<const std::string*>();
    return true;
  } else {
    static_assert(std::is_same_v<T, std::int64_t>,
                  "a field is a bool, an int64, a string, a word or a record");
    if (!json.is_number_integer()) return false;  // true and 1.0 are not 1 here, as they are in Python
    if (json.is_number_unsigned() && *json.template get_ptr<const std::uint64_t*>() >
                                         std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return false;
    }
    value = *json.template get_ptr<const std::int64_t*>();
    return true;
  }
}

/// The JSON text of `value`. Bytes that are not UTF-8 come out as U+FFFD.
template <Record R>
[[nodiscard]] std::string encode(const R& value) {
  return to_json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The record that `text` is, or nothing: for what is no JSON object and nothing but one, too long, too
/// deep, not UTF-8, or lacks a field. Of equal keys the last one counts; unknown keys are ignored.
template <Record R>
[[nodiscard]] std::optional<R> decode(std::string_view text) {
  // nlohmann skips a byte order mark and takes a NUL for the end; Python's json refuses both.
  if (text.size() > message_bytes_max || text.starts_with('\xef') || text.find('\0') != text.npos) {
    return std::nullopt;
  }
  bool fits = true;
  const auto keep = [&fits](int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::array_start:
        if (depth == 0) fits = false;
        [[fallthrough]];
      case Json::parse_event_t::object_start: return fits = fits && depth < depth_max;
      case Json::parse_event_t::key: return fits && knows<R>(*parsed.get_ptr<const std::string*>());
      default: return true;
    }
  };
  const Json json = Json::parse(text.begin(), text.end(), keep, false);
  R value{};
  if (!fits || !from_json(json, value)) return std::nullopt;
  return value;
}

/// `{message: "ping", sublock: {v: 1, …}}`, for tests and logs.
template <class T>
void print(std::ostream& out, const T& value) {
  if constexpr (Record<T>) {
    const char* separator = "{";
    every_field<T>([&](std::string_view name, const auto& get) {
      out << separator << name << ": ";
      print(out, get(value));
      separator = ", ";
      return true;
    });
    out << '}';
  } else if constexpr (Word<T>) {
    out << name_of(value);
  } else if constexpr (requires { value.has_value(); }) {
    if (value) {
      print(out, *value);
    } else {
      out << '-';
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    out << '"' << printable(value) << '"';
  } else if constexpr (requires { value.begin(); }) {
    const char* separator = "[";
    for (const auto& item : value) {
      out << separator;
      print(out, item);
      separator = ", ";
    }
    out << (value.empty() ? "[]" : "]");
  } else if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else {
    out << value;
  }
}

}  // namespace sublock::core::record
