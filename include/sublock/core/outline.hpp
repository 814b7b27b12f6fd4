// SPDX-License-Identifier: MIT
#pragma once

// What a JSON text says where somebody asks for it, and nothing else: a flat list that nlohmann's parser
// fills. Knows the limits of what is read at all, and no record.
//
// Reading never throws on what a stranger wrote, never recurses into it and keeps only what is asked for: the
// parser is a loop, and all else is dropped on the way.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::core::record {

/// Deeper messages are ignored; ours are three deep.
inline constexpr int depth_max = 16;

/// Of a longer list the rest is forgotten.
inline constexpr std::size_t list_max = 64;

/// Filled by `sax_parse`, whose names the members below bear; it stops where one of them returns false.
class Outline {
 public:
  /// A record's name for a key of the text; empty for one that it does not ask for.
  using Known = std::string_view (*)(std::string_view key);

  enum class Kind : std::uint8_t { null, boolean, integer, text, list, record, other };

  struct Entry {
    int depth;
    Kind kind;
    std::string_view key;  ///< empty in a list
    std::int64_t number = 0;
    std::string text{};
  };

  /// A value, and behind it all that comes after: first what is inside it, known by its greater depth. Empty
  /// for none.
  using Node = std::span<Entry>;

  explicit Outline(Known known) : known_(known) { entries_.reserve(16); }

  [[nodiscard]] Node root() { return entries_; }

  /// What `record` says under that key; of several, the last.
  [[nodiscard]] static Node field(Node record, std::string_view key) {
    Node found;
    const int depth = record.front().depth + 1;
    for (std::size_t at = 1; at < record.size() && record[at].depth >= depth; ++at) {
      if (record[at].depth == depth && record[at].key == key) found = record.subspan(at);
    }
    return found;
  }

  /// Calls `visit` for each item in order, until one returns false.
  static bool every_item(Node list, auto visit) {
    for (std::size_t at = 1; at < list.size() && list[at].depth > list.front().depth; ++at) {
      if (!visit(list.subspan(at))) return false;
    }
    return true;
  }

  bool null() { return put(Kind::null); }
  bool boolean(bool value) { return put(Kind::boolean, value ? 1 : 0); }
  bool number_integer(std::int64_t value) { return put(Kind::integer, value); }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return fits ? number_integer(static_cast<std::int64_t>(value)) : put(Kind::other);
  }
  bool number_float(double, const std::string&) { return put(Kind::other); }
  bool string(const std::string& value) { return put(Kind::text, 0, value); }
  bool binary(const std::vector<std::uint8_t>&) { return false; }  // there is none in a text
  bool key(const std::string& key) {
    key_ = known_(key);
    return true;
  }
  bool start_object(std::size_t) { return begin(Kind::record); }
  bool start_array(std::size_t) { return entries_.empty() ? false : begin(Kind::list); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t, const std::string&, const std::exception&) { return false; }

 private:
  [[nodiscard]] bool is_asked_for() {
    if (dropped_from_) return false;
    return in_list_ ? items_left_ > 0 : depth_ == 0 || !key_.empty();
  }

  bool put(Kind kind, std::int64_t number = 0, std::string_view text = {}) {
    if (!is_asked_for()) return true;
    entries_.push_back({depth_, kind, in_list_ ? std::string_view() : key_, number, std::string(text)});
    if (in_list_) --items_left_;
    return true;
  }

  /// Nobody asks for what is inside an item of a list.
  bool begin(Kind kind) {
    if (depth_ == depth_max) return false;
    const bool keeps = is_asked_for() && !in_list_;
    put(in_list_ ? Kind::other : kind);
    if (keeps) {
      in_list_ = kind == Kind::list;
      items_left_ = list_max;
    } else if (!dropped_from_) {
      dropped_from_ = depth_;
    }
    ++depth_;
    return true;
  }

  bool end() {
    --depth_;
    if (dropped_from_ == depth_) {
      dropped_from_.reset();
    } else if (!dropped_from_) {
      in_list_ = false;
    }
    return true;
  }

  Known known_;
  std::vector<Entry> entries_;
  std::string_view key_;
  int depth_ = 0;
  std::optional<int> dropped_from_;  // the depth of a value nothing of which is kept, while we are inside it
  bool in_list_ = false;             // directly, in one that is kept
  std::size_t items_left_ = 0;       // to be kept of it
};

}  // namespace sublock::core::record
