// SPDX-License-Identifier: MIT
#pragma once

// `sublock who`: who is on a channel, for people and for programs. Asks and prints; takes no lock.

#include "status.hpp"
#include "words.hpp"

#include <nlohmann/json.hpp>
#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace command {

inline constexpr const char* who_usage = "Usage: sublock who [OPTIONS] CHANNEL";

inline constexpr const char* who_footer =
    "Exit status:\n"
    "  0    somebody has the lock\n"
    "  1    nobody has\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached\n"
    "  75   somebody on the channel does not answer, so nobody can tell\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials, or a permission is missing\n"
    "\n"
    "Those who wait are seen only in the moments in which they are on the channel.";

/// What one on the channel is doing, as far as its answer tells: peers that don't speak our extension say
/// nothing of how long they have held it, and their readers are there only to hold.
[[nodiscard]] inline std::string_view doing(const sublock::Holder& holder) {
  if (holder.leaving) return "leaving";
  if (holder.mode == sublock::HolderMode::pending) return "waiting";
  const bool trying = holder.sublock && holder.mode == sublock::HolderMode::shared && !holder.held_for;
  return trying ? "waiting" : "holding";
}

/// "4m12s", "3.250s": two units are enough for people.
[[nodiscard]] inline std::string short_span(std::chrono::milliseconds span) {
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

[[nodiscard]] inline nlohmann::json json_of(const sublock::Holder& holder) {
  nlohmann::json result{{"state", doing(holder)},
                        {"mode", name_of(holder.mode)},
                        {"holder_id", holder.holder_id},
                        {"legacy", holder.legacy}};
  if (holder.sublock) {
    result["host"] = holder.host;
    result["pid"] = holder.pid;
    result["label"] = holder.label;
  }
  if (holder.held_for) result["held_for_ms"] = holder.held_for->count();
  return result;
}

/// A table with a line for each, in which every column is as wide as its widest.
inline void print_table(const std::vector<sublock::Holder>& holders) {
  using sublock::core::printable;
  std::vector<Words> rows{{"STATE", "MODE", "FOR", "HOST", "PID", "LABEL", "HOLDER"}};
  for (const sublock::Holder& holder : holders) {
    const auto known = [&holder](std::string text) { return holder.sublock && !text.empty() ? text : "-"; };
    rows.push_back({std::string(doing(holder)), std::string(name_of(holder.mode)),
                    holder.held_for ? short_span(*holder.held_for) : "-", known(printable(holder.host)),
                    known(std::to_string(holder.pid)), known(printable(holder.label)),
                    printable(holder.holder_id)});
  }
  for (const Words& row : rows) {
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      const auto size_of = [column](const Words& any) { return any[column].size(); };
      const std::size_t width = std::ranges::max(rows, {}, size_of)[column].size();
      std::cout << row[column] << std::string(width - row[column].size() + 2, ' ');
    }
    std::cout << row.back() << '\n';
  }
}

/// The verb.
inline int who(const Words& words) {
  CLI::App app("Says who has the lock CHANNEL, since when, and who waits for it.", "sublock who");
  app.footer(who_footer);
  Server server;
  std::string channel;
  bool as_json = false;
  app.add_option("CHANNEL", channel, "the lock's name")->required();
  app.add_flag("--json", as_json, "one object on one line, for programs");
  server.add_to(app);
  if (const auto status = parse(app, who_usage, words)) return *status;

  sublock::RedisLock::Options options;
  options.connection = server.connection();
  sublock::RedisLock lock(channel, std::move(options));
  std::vector<sublock::Holder> holders = lock.probe();
  std::ranges::stable_sort(holders, {}, doing);  // holding, leaving, waiting
  const bool held = std::ranges::any_of(holders, [](const auto& one) { return doing(one) == "holding"; });
  if (as_json) {
    nlohmann::json answer{{"channel", channel}, {"held", held}, {"holders", nlohmann::json::array()}};
    for (const sublock::Holder& holder : holders) answer["holders"].push_back(json_of(holder));
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  } else if (holders.empty()) {
    std::cout << "nobody has '" << sublock::core::printable(channel) << "'" << std::endl;
  } else {
    print_table(holders);
  }
  return held ? done : conflict;
}

}  // namespace command
