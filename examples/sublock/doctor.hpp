// SPDX-License-Identifier: MIT
#pragma once

// `sublock doctor`: looks at everything that locks depend on, and names a remedy for what it finds. Here the looks
// are put in their order; what each makes of the server is in its room. Changes nothing.

#include "cluster_checks.hpp"
#include "facts.hpp"
#include "finding.hpp"
#include "look.hpp"
#include "rights_checks.hpp"
#include "server.hpp"
#include "server_checks.hpp"
#include "settings_checks.hpp"
#include "status.hpp"
#include "words.hpp"

#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

namespace command {

inline constexpr const char* doctor_usage = "Usage: sublock doctor [OPTIONS] [CHANNEL]";

inline constexpr const char* doctor_footer =
    "With a CHANNEL it also looks who is on it, and whether this user may use it.\n"
    "\n"
    "Exit status:\n"
    "  0    all is well, or worth a note at most\n"
    "  1    there is a warning\n"
    "  2    there is a problem\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached, or stopped answering\n"
    "  71   the system lacks something, such as memory\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials";

/// Subscribers who don't answer: holders that stand still, or others who have no business there.
[[nodiscard]] inline Finding check_silence(const Sight& sight, const std::string& channel, Talk& talk) {
  constexpr std::string_view check = "channel";
  const auto holding = std::ranges::count_if(sight.people, is_holding);
  std::string text = "'" + sublock::core::printable(channel) + "': " + std::to_string(holding) +
                     " holding, " + std::to_string(std::ranges::count(sight.people, "waiting", doing)) +
                     " waiting";
  if (sight.silent == 0) return {Level::ok, check, text + ", all on it answer"};
  text += "; did not answer within a second: " + std::to_string(sight.silent);
  const Reply list = talk.ask({"CLIENT", "LIST", "TYPE", "pubsub"});
  if (is_error(*list))
    return {Level::warning, check, text + "; could not see who: " + std::string(text_of(*list))};
  std::string frozen;
  std::size_t named = 0;
  for (const auto& connection : sublock::hiredis::parse_client_list(text_of(*list))) {
    const auto id = sublock::core::named_holder(sublock::core::name_stem(channel), connection.name);
    if (!id || std::ranges::count(sight.people, *id, &Holder::holder_id) > 0) continue;
    frozen +=
        (named++ == 0 ? "" : ", ") + std::string(*id) + " (client " + std::to_string(connection.id) + ")";
  }
  if (named > 0) text += "; taking part: " + frozen;
  if (named >= sight.silent) {
    return {Level::warning, check, text,
            "whoever wants the lock disconnects it after two seconds; look what keeps that process"};
  }
  return {Level::warning, check,
          text + "; taking no part, so that everybody waits for them in vain: " +
              std::to_string(sight.silent - named),
          "find who runs SUBSCRIBE on it: CLIENT LIST TYPE pubsub, with sub above 0 and no name of ours"};
}

inline void examine_channel(const sublock::ConnectionOptions& options, const std::string& channel, Talk& talk,
                            Findings& findings) {
  try {
    const Sight sight = Lookout(options, channel).look();
    findings.add(check_silence(sight, channel, talk));
    if (!sight.overheard) return;
    findings.add(
        {Level::warning, "pattern",
         "somebody listens by a pattern that covers the channel, so that no lock is handed over: whoever is "
         "next has to look",
         "find it: CLIENT LIST TYPE pubsub, with psub above 0"});
  } catch (const sublock::LockError& error) {
    if (error.kind() != sublock::Errc::permission) throw;
    findings.add(could_not_see("channel", error.what()));
  }
}

/// All looks, in their order. The status is that of what kept it from going on, if anything did.
inline Status examine(const sublock::ConnectionOptions& options, const std::string& channel,
                      Findings& findings) {
  constexpr std::string_view check = "reach";
  try {
    const auto start = std::chrono::steady_clock::now();
    Talk talk(options);
    const Microseconds took = std::chrono::steady_clock::now() - start;
    findings.add({Level::ok, check, "Redis at " + talk.where() + ", logged in within " + fine_span(took)});
    Facts facts(talk);
    findings.add(check_kind(facts));
    findings.add(check_role(facts, talk));
    examine_cluster(facts, findings);
    findings.add(check_loading(facts));
    findings.add(check_round_trip(talk));
    RightsCheck(options, channel.empty() ? "sublock-doctor" : channel, !channel.empty())(findings);
    for (const auto look :
         {check_buffers, check_clients, check_descriptors, check_client_memory, check_idle_timeout,
          check_keepalive, check_eviction, check_persistence, check_notifications})
      findings.add(look(facts));
    if (!channel.empty() && !talk.objection()) examine_channel(options, channel, talk, findings);
    return done;
  } catch (const sublock::LockError& error) {
    const std::string what = error.what();
    const char* remedy = "check the URL, that the server runs, and what is between here and there";
    if (error.kind() == sublock::Errc::auth)
      remedy = "check user and password; they come by REDIS_URL, REDISCLI_AUTH or --password-file";
    if (what.find("no connection left") != std::string::npos)
      remedy = "raise maxclients, or close what is idle";
    findings.add({Level::problem, check, what, remedy});
    return status_of(error.kind());
  }
}

/// The verb.
inline int doctor(const Words& words) {
  CLI::App app("Looks at a server, its settings and your rights, as far as locks depend on them.",
               "sublock doctor");
  app.footer(doctor_footer);
  Server server;
  std::string channel;
  bool as_json = false;
  app.add_option("CHANNEL", channel, "the lock's name");
  app.add_flag("--json", as_json, "one object on one line, for programs");
  server.add_to(app);
  if (const auto status = parse(app, doctor_usage, words)) return *status;
  const sublock::ConnectionOptions options = server.connection();
  static_cast<void>(sublock::hiredis::endpoint_of(options));  // refuses a bad URL here and now
  if (!channel.empty()) sublock::core::check_channel(channel);

  Findings findings;
  const Status kept = examine(options, channel, findings);
  if (as_json) {
    std::cout << line_of({{"worst", name_of(findings.worst())}, {"checks", findings.json()}}) << std::endl;
  } else {
    findings.print(std::cout);
  }
  if (kept != done) return kept;
  switch (findings.worst()) {
    case Level::ok:
    case Level::note: return done;
    case Level::warning: return warned;
    case Level::problem: break;
  }
  return troubled;
}

}  // namespace command
