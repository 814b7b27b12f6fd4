// SPDX-License-Identifier: MIT
#pragma once

// Any record with a Hana field list, to JSON and back: the one walk that encode, decode and print share.
// Knows no record of the protocol by name. What strangers wrote is read by way of an outline.

#include <sublock/core/outline.hpp>
#include <sublock/core/printable.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/locale/utf.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

using Json = nlohmann::json;

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

namespace detail {

/// All that there is to know of Hana's accessors is in their types: nothing of a tuple is compiled.
template <class Accessors>
struct Fields;

template <class... Name, class... Member>
struct Fields<boost::hana::tuple<boost::hana::pair<Name, Member>...>> {
  static constexpr bool every(auto& visit) {
    return (visit(std::string_view(Name::c_str()), Member()) && ...);
  }
};

}  // namespace detail

/// Calls `visit(name, member pointer as a function)` for each field in order, until one returns false.
template <Record R, class Visit>
constexpr bool every_field(Visit visit) {
  return detail::Fields<decltype(boost::hana::accessors<R>())>::every(visit);
}

/// The field of that name in `T` or in a record inside it, by a name that lasts; empty where there is none.
template <class T>
[[nodiscard]] std::string_view field_named(std::string_view key) {
  std::string_view found;
  if constexpr (Record<T>) {
    every_field<T>([&](std::string_view name, const auto& get) {
      found = name == key ? name : field_named<std::remove_cvref_t<decltype(get(std::declval<T&>()))>>(key);
      return found.empty();
    });
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    found = field_named<typename T::value_type>(key);
  }
  return found;
}

/// Appends the character that `text` begins with, escaped where JSON wants it; returns how many bytes it has.
inline std::size_t write_character(std::string& out, std::string_view text) {
  namespace utf = boost::locale::utf;
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x20) {
    out.append("\\u00").append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    return 1;
  }
  if (byte == '"' || byte == '\\') {
    out.append(1, '\\').append(1, text.front());
    return 1;
  }
  const char* end = text.data();
  const auto point = utf::utf_traits<char>::decode(end, text.data() + text.size());
  if (point == utf::illegal || point == utf::incomplete) {
    out += "\ufffd";
    return 1;
  }
  const auto size = static_cast<std::size_t>(end - text.data());
  out += text.substr(0, size);
  return size;
}

/// Appends a JSON string. Bytes that are not UTF-8 come out as U+FFFD.
inline void write_text(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  out += '"';
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(write_character(out, text));
  }
  out += '"';
}

/// Appends the JSON text of `value`, without a document in between: answering is what a holder does all day.
template <class T>
void write(std::string& out, const T& value) {
  if constexpr (Record<T>) {
    char separator = '{';
    every_field<T>([&](std::string_view name, const auto& get) {
      out.append(1, std::exchange(separator, ',')).append(1, '"').append(name).append("\":");
      write(out, get(value));
      return true;
    });
    out += '}';
  } else if constexpr (Word<T>) {
    write_text(out, name_of(value));
  } else if constexpr (requires { value.has_value(); }) {
    if (value) {
      write(out, *value);
    } else {
      out += "null";
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    write_text(out, value);
  } else if constexpr (requires { value.begin(); }) {
    char separator = '[';
    for (const auto& item : value) {
      out += std::exchange(separator, ',');
      write(out, item);
    }
    out += value.empty() ? "[]" : "]";
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else {
    out += std::to_string(value);
  }
}

/// The JSON text of `value`.
template <Record R>
[[nodiscard]] std::string encode(const R& value) {
  std::string text;
  text.reserve(256);
  write(text, value);
  return text;
}

/// Whether `node` fits `value`, which is then set. What a node says is taken out of it.
template <class T>
[[nodiscard]] bool take(Outline::Node node, T& value);

template <class T>
[[nodiscard]] bool take(Outline::Node node, Tolerant<T>& value) {
  if (T inner{}; take(node, inner)) value.emplace(std::move(inner));
  return true;
}

template <class T>
[[nodiscard]] bool take(Outline::Node node, std::optional<T>& value) {
  if (node.empty() || node.front().kind == Outline::Kind::null) return true;
  T inner{};
  if (!take(node, inner)) return false;
  value.emplace(std::move(inner));
  return true;
}

template <class T>
bool take(Outline::Node node, T& value) {
  using Kind = Outline::Kind;
  const auto is = [node](Kind kind) { return !node.empty() && node.front().kind == kind; };
  if constexpr (Record<T>) {
    return is(Kind::record) && every_field<T>([&](std::string_view name, const auto& get) {
             return take(Outline::field(node, name), get(value));
           });
  } else if constexpr (Word<T>) {
    return is(Kind::text) && parse_name(std::string_view(node.front().text), value);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = is(Kind::boolean) && node.front().number != 0;
    return is(Kind::boolean);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (is(Kind::text)) value = std::move(node.front().text);
    return is(Kind::text);
  } else if constexpr (requires { value.emplace_back(); }) {
    return is(Kind::list) &&
           Outline::every_item(node, [&](Outline::Node item) { return take(item, value.emplace_back()); });
  } else {
    static_assert(std::is_same_v<T, std::int64_t>,
                  "a field is a bool, an int64, a string, a word, a list or a record");
    if (is(Kind::integer)) value = node.front().number;
    return is(Kind::integer);  // true and 1.0 are not 1 here, as they are in Python
  }
}

/// The record that `text` is, or nothing: for what is no JSON object and nothing but one, too long, too
/// deep, not UTF-8, or lacks a field. Of equal keys the last one counts; unknown keys are ignored.
template <Record R>
[[nodiscard]] std::optional<R> decode(std::string_view text) {
  // nlohmann skips a byte order mark and takes a NUL for the end; Python's json refuses both.
  if (text.size() > message_bytes_max || text.starts_with('\xef') || text.find('\0') != text.npos) {
    return std::nullopt;
  }
  Outline outline(&field_named<R>);
  R value{};
  if (!Json::sax_parse(text.begin(), text.end(), &outline) || !take(outline.root(), value))
    return std::nullopt;
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
