// SPDX-License-Identifier: MIT
#pragma once

// `sublock who`: who has a lock and who waits for it, for people and for programs. Looks once and prints.

#include "look.hpp"
#include "people.hpp"
#include "server.hpp"
#include "status.hpp"
#include "words.hpp"

#include <iostream>
#include <string>

namespace command {

inline constexpr const char* who_usage = "Usage: sublock who [OPTIONS] CHANNEL";

inline constexpr const char* who_footer =
    "Exit status:\n"
    "  0    somebody has the lock\n"
    "  1    nobody has\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached\n"
    "  71   the system lacks something, such as memory\n"
    "  75   somebody on the channel does not answer, so nobody can tell\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials, or a permission is missing\n"
    "\n"
    "Other libraries' locks are seen while they are on the channel, and not while they wait.";

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

  const Sight sight = Lookout(server.connection(), channel).look();
  const bool nobody_can_tell = !sight.is_held() && sight.silent > 0;
  if (as_json) {
    nlohmann::json answer{{"channel", channel},
                          {"held", sight.is_held()},
                          {"silent", sight.silent},
                          {"holders", nlohmann::json::array()}};
    if (nobody_can_tell) answer["held"] = nullptr;
    for (const Holder& holder : sight.people) answer["holders"].push_back(json_of(holder));
    std::cout << line_of(answer) << std::endl;
  } else if (!sight.people.empty()) {
    for (const std::string& line : table_of(sight.people)) std::cout << line << '\n';
    std::cout.flush();
  } else if (!nobody_can_tell) {
    std::cout << "nobody has '" << sublock::core::printable(channel) << "'" << std::endl;
  }
  if (!sight.blind.empty()) say("those who wait can't be seen: " + sight.blind);
  if (sight.silent > 0) say(std::to_string(sight.silent) + " on the channel did not answer in time");
  if (nobody_can_tell) return undecided;
  return sight.is_held() ? done : conflict;
}

}  // namespace command
