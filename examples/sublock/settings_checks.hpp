// SPDX-License-Identifier: MIT
#pragma once

// Do the server's settings suit locks? Buffers, clients, idle connections, memory, disk. Each says which kind of
// lock it is about, where it is not about all.

#include "facts.hpp"
#include "finding.hpp"

#include <sys/resource.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

namespace command {

/// "client-output-buffer-limit" is four words for each class of clients: its name, a hard limit, a soft limit,
/// and the seconds for which that may be passed.
[[nodiscard]] inline Finding check_buffers(Facts& facts) {
  constexpr std::string_view check = "buffers";
  constexpr std::int64_t plenty = 1 << 20;
  const Facts::Setting limits = facts.config("client-output-buffer-limit");
  if (!limits.value) return could_not_see(check, limits.why);
  std::istringstream words(*limits.value);
  std::string name;
  std::int64_t hard = 0;
  std::int64_t soft = 0;
  std::int64_t seconds = 0;
  while (words >> name >> hard >> soft >> seconds) {
    if (name != "pubsub") continue;
    const std::string text = "a subscriber may have " + std::to_string(hard) + " bytes waiting, or " +
                             std::to_string(soft) + " for " + std::to_string(seconds) +
                             " s, before it is disconnected (0: no limit)";
    const bool narrow = (hard > 0 && hard < plenty) || (soft > 0 && soft < plenty / 4);
    if (!narrow) return {Level::ok, check, text};
    return {Level::warning, check, text + ": a holder that many ask at once could lose its lock by that",
            "CONFIG SET client-output-buffer-limit \"pubsub 33554432 8388608 60\", Redis' default"};
  }
  return could_not_see(check, "no limit is named for pubsub");
}

[[nodiscard]] inline Finding check_clients(Facts& facts) {
  constexpr std::string_view check = "clients";
  const auto now = facts.number("connected_clients");
  auto most = facts.number("maxclients");  // told by INFO since 6.0
  if (!most) {
    const Facts::Setting setting = facts.config("maxclients");
    if (!setting.value) return could_not_see(check, setting.why);
    most = number_in(*setting.value);
  }
  if (!now || !most) return could_not_see(check, facts.why_no_info());
  const std::string text =
      std::to_string(*now) + " of " + std::to_string(*most) +
      " connections are in use; each lock that is held or waited for needs one, and each "
      "process one more";
  if (*now * 10 < *most * 8) return {Level::ok, check, text};
  return {*now * 100 < *most * 95 ? Level::warning : Level::problem, check, text, "raise maxclients"};
}

/// The same on this side: what a process started from here may have.
[[nodiscard]] inline Finding check_descriptors(Facts& facts) {
  constexpr std::string_view check = "descriptors";
  constexpr rlim_t few = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return could_not_see(check, std::strerror(errno));
  const auto most = facts.number("maxclients");
  const std::string text = "a process may have " + std::to_string(limit.rlim_cur) + " open here (up to " +
                           std::to_string(limit.rlim_max) + "), one for each lock and some besides";
  if (limit.rlim_cur >= few) return {Level::ok, check, text};
  return {Level::note, check, text,
          most ? "ulimit -n, up to the server's maxclients of " + std::to_string(*most) : "ulimit -n"};
}

/// Since Redis 7.0 clients may have a budget; whoever is disconnected for its sake loses his lock.
[[nodiscard]] inline Finding check_client_memory(Facts& facts) {
  constexpr std::string_view check = "client memory";
  const Facts::Setting most = facts.config("maxmemory-clients");
  const auto version = Facts::version_of(facts.info("redis_version").value_or("7"));
  if (version < Facts::Version{7, 0, 0})
    return {Level::ok, check, "clients are not disconnected for the memory of all before Redis 7"};
  if (!most.value) return could_not_see(check, most.why);
  if (most.value == "0") return {Level::ok, check, "clients are not disconnected for the memory of all"};
  return {Level::note, check,
          "maxmemory-clients is " + *most.value + ": holders may be disconnected when others use much",
          "CONFIG SET maxmemory-clients 0"};
}

/// Subscribers are exempt, and the other connection is asked for signs of life more often than this.
[[nodiscard]] inline Finding check_idle_timeout(Facts& facts) {
  constexpr std::string_view check = "idle timeout";
  constexpr std::int64_t sign_of_life = 15;  // seconds: the default interval, and half of it to spare
  const Facts::Setting timeout = facts.config("timeout");
  if (!timeout.value) return could_not_see(check, timeout.why);
  const std::int64_t seconds = number_in(*timeout.value).value_or(0);
  if (seconds == 0) return {Level::ok, check, "idle connections are left alone"};
  const std::string text = "idle connections are closed after " + *timeout.value + " s, subscribers excepted";
  if (seconds >= sign_of_life) return {Level::ok, check, text};
  return {Level::note, check, text + ": the command connection comes and goes, which costs time, but no lock",
          "CONFIG SET timeout 0, or a health_check_interval below it"};
}

[[nodiscard]] inline Finding check_keepalive(Facts& facts) {
  constexpr std::string_view check = "keepalive";
  const Facts::Setting interval = facts.config("tcp-keepalive");
  if (!interval.value) return could_not_see(check, interval.why);
  if (interval.value != "0")
    return {Level::ok, check, "the server probes silent connections after " + *interval.value + " s"};
  return {
      Level::warning, check,
      "tcp-keepalive is 0: the subscription of a machine that has vanished stays until others ask it in vain",
      "CONFIG SET tcp-keepalive 60"};
}

[[nodiscard]] inline Finding check_eviction(Facts& facts) {
  constexpr std::string_view check = "eviction";
  const Facts::Setting policy = facts.config("maxmemory-policy");
  const Facts::Setting most = facts.config("maxmemory");
  if (!policy.value || !most.value) return could_not_see(check, policy.value ? most.why : policy.why);
  const std::string text = "maxmemory " + *most.value + ", " + *policy.value;
  if (policy.value == "noeviction") return {Level::ok, check, text + ": no key is thrown away"};
  const bool fencing = policy.value->starts_with("allkeys");
  const std::string what =
      fencing ? "keys of RedisGetlock and counters of fencing tokens" : "keys of RedisGetlock, which expire,";
  const std::string remedy = "CONFIG SET maxmemory-policy noeviction, or a server of their own for locks";
  if (most.value == "0")
    return {Level::note, check, text + ": with a limit, " + what + " could be thrown away", remedy};
  return {Level::warning, check, text + ": " + what + " may be thrown away, and then there are two owners",
          remedy};
}

[[nodiscard]] inline Finding check_persistence(Facts& facts) {
  constexpr std::string_view check = "persistence";
  const Facts::Setting log = facts.config("appendonly");
  if (!log.value) return could_not_see(check, log.why);
  const std::string whom = "RedisLock needs none; for fencing tokens and RedisGetlock: ";
  if (log.value == "yes") {
    const std::string sync = facts.config("appendfsync").value.value_or("");
    if (sync == "always") return {Level::ok, check, whom + "every write is on disk before it is answered"};
    return {Level::note, check, whom + "appendfsync " + sync + ", so that a crash may forget the last writes",
            "CONFIG SET appendfsync always"};
  }
  const std::string snapshots = facts.config("save").value.value_or("");
  return {Level::note, check,
          whom + (snapshots.empty() ? "nothing is kept, so that tokens begin at 1 after a restart"
                                    : "snapshots only, so that a crash forgets what came after the last one"),
          "CONFIG SET appendonly yes"};
}

[[nodiscard]] inline Finding check_notifications(Facts& facts) {
  constexpr std::string_view check = "notifications";
  const Facts::Setting events = facts.config("notify-keyspace-events");
  if (!events.value) return could_not_see(check, events.why);
  const auto has = [&](std::string_view any) {
    return events.value->find_first_of(any) != std::string::npos;
  };
  const bool all = has("A") || (has("g") && has("x"));
  if (has("K") && all) return {Level::ok, check, "who waits for a RedisGetlock is told when its key ends"};
  return {Level::note, check,
          "notify-keyspace-events is '" + *events.value +
              "': who waits for a RedisGetlock whose owner has died looks each half second",
          "CONFIG SET notify-keyspace-events Kgx, if that is too slow"};
}

}  // namespace command
