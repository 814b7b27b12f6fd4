// SPDX-License-Identifier: MIT
#pragma once

// How one who takes part is shown: in a table for people, as JSON for programs. Asks nobody.

#include "words.hpp"

#include <nlohmann/json.hpp>
#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace command {

using sublock::Holder;
using Milliseconds = std::chrono::milliseconds;

/// What one on the channel is doing, as far as its answer tells: peers that don't speak our extension say
/// nothing of how long they have held it, and their readers are there only to hold.
[[nodiscard]] inline std::string_view doing(const Holder& holder) {
  if (holder.leaving) return "leaving";
  if (holder.mode == sublock::HolderMode::pending) return "waiting";
  const bool trying = holder.sublock && holder.mode == sublock::HolderMode::shared && !holder.held_for;
  return trying ? "waiting" : "holding";
}

[[nodiscard]] inline bool is_holding(const Holder& holder) { return doing(holder) == "holding"; }

/// How it has the lock, or wants it.
[[nodiscard]] inline std::string_view wish(const Holder& holder) {
  return holder.mode == sublock::HolderMode::shared ? "shared" : "exclusive";
}

/// "4m12s", "3.250s": two units are enough for people.
[[nodiscard]] inline std::string short_span(Milliseconds span) {
  using namespace std::chrono;
  std::ostringstream text;
  const auto two = [&text](auto more, char unit, auto less, char smaller) {
    text << more << unit << std::setw(2) << std::setfill('0') << less << smaller;
    return text.str();
  };
  if (span < minutes(1)) {
    text << span.count() / 1000 << '.' << std::setw(3) << std::setfill('0') << span.count() % 1000 << 's';
    return text.str();
  }
  const auto whole = floor<seconds>(span);
  if (span < hours(1)) return two(floor<minutes>(whole).count(), 'm', (whole % minutes(1)).count(), 's');
  if (span < days(1))
    return two(floor<hours>(whole).count(), 'h', floor<minutes>(whole % hours(1)).count(), 'm');
  return two(floor<days>(whole).count(), 'd', floor<hours>(whole % days(1)).count(), 'h');
}

/// Who it is, without what it is doing.
inline void name_in(nlohmann::json& json, const Holder& holder) {
  json["holder_id"] = holder.holder_id;
  json["legacy"] = holder.legacy;
  if (!holder.sublock) return;
  json["host"] = holder.host;
  json["pid"] = holder.pid;
  json["label"] = holder.label;
}

[[nodiscard]] inline nlohmann::json json_of(const Holder& holder) {
  nlohmann::json result{{"state", doing(holder)}, {"mode", name_of(holder.mode)}};
  name_in(result, holder);
  if (holder.held_for) result["held_for_ms"] = holder.held_for->count();
  if (holder.waiting_for) result["waiting_for_ms"] = holder.waiting_for->count();
  return result;
}

/// On one line, whatever bytes a label may have.
[[nodiscard]] inline std::string line_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Host, process, label and id; a dash for what is not known.
[[nodiscard]] inline Words name_of_one(const Holder& holder) {
  using sublock::core::printable;
  const auto known = [&holder](std::string text) { return holder.sublock && !text.empty() ? text : "-"; };
  return {known(printable(holder.host)), known(std::to_string(holder.pid)), known(printable(holder.label)),
          printable(holder.holder_id)};
}

/// One character each, as far as a terminal is concerned: bytes that go on with a character are none.
[[nodiscard]] inline std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// Lines in which every column is as wide as its widest.
[[nodiscard]] inline Words aligned(const std::vector<Words>& rows) {
  Words lines;
  for (const Words& row : rows) {
    std::string line;
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      std::size_t width = 0;
      for (const Words& any : rows) width = std::max(width, width_of(any.at(column)));
      line += row[column] + std::string(width - width_of(row[column]) + 2, ' ');
    }
    lines.push_back(line + row.back());
  }
  return lines;
}

/// A heading, and a line for each.
[[nodiscard]] inline Words table_of(const std::vector<Holder>& holders) {
  std::vector<Words> rows{{"STATE", "MODE", "FOR", "HOST", "PID", "LABEL", "HOLDER"}};
  for (const Holder& holder : holders) {
    const auto span = holder.held_for ? holder.held_for : holder.waiting_for;
    Words row{std::string(doing(holder)), std::string(name_of(holder.mode)), span ? short_span(*span) : "-"};
    for (std::string& word : name_of_one(holder)) row.push_back(std::move(word));
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

}  // namespace command
