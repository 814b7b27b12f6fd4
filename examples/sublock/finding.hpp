// SPDX-License-Identifier: MIT
#pragma once

// What `sublock doctor` finds, one finding for each thing it looks at, and how that is told. Looks at nothing.

#include "people.hpp"
#include "words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace command {

/// In the order of their weight. Whatever could not be seen is a note, and never well.
enum class Level { ok, note, warning, problem };

[[nodiscard]] constexpr std::string_view name_of(Level level) noexcept {
  switch (level) {
    case Level::ok: return "ok";
    case Level::note: return "note";
    case Level::warning: return "warning";
    case Level::problem: return "problem";
  }
  return "unknown";
}

struct Finding {
  Level level = Level::ok;
  std::string_view check;  ///< what was looked at; the same in every version
  std::string text;
  std::string remedy = {};
};

/// `why` may be a server's error, which may show all the words that it does not know.
[[nodiscard]] inline Finding could_not_see(std::string_view check, std::string why) {
  why.resize(std::min(why.find(", with args beginning"), why.size()));
  return {Level::note, check, "could not see: " + why};
}

class Findings {
 public:
  void add(Finding finding) { all_.push_back(std::move(finding)); }

  [[nodiscard]] Level worst() const {
    Level worst = Level::ok;
    for (const Finding& one : all_) worst = std::max(worst, one.level);
    return worst;
  }

  /// A line for each, and its remedy below.
  void print(std::ostream& out) const {
    std::vector<Words> rows;
    for (const Finding& one : all_)
      rows.push_back({std::string(name_of(one.level)), std::string(one.check), one.text});
    const Words lines = aligned(rows);
    for (std::size_t at = 0; at < all_.size(); ++at) {
      out << lines[at] << '\n';
      const std::size_t indent = width_of(lines[at]) - width_of(all_[at].text);
      if (!all_[at].remedy.empty()) out << std::string(indent, ' ') << "-> " << all_[at].remedy << '\n';
    }
    out.flush();
  }

  [[nodiscard]] nlohmann::json json() const {
    nlohmann::json result = nlohmann::json::array();
    for (const Finding& one : all_) {
      nlohmann::json entry{{"level", name_of(one.level)}, {"check", one.check}, {"text", one.text}};
      if (!one.remedy.empty()) entry["remedy"] = one.remedy;
      result.push_back(std::move(entry));
    }
    return result;
  }

 private:
  std::vector<Finding> all_;
};

}  // namespace command
