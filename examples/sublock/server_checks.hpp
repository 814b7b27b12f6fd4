// SPDX-License-Identifier: MIT
#pragma once

// Is this a server for locks? Its kind, its version, its role, and how quickly it answers.

#include "facts.hpp"
#include "finding.hpp"

#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace command {

using Microseconds = std::chrono::duration<double, std::micro>;

/// "83.2 us", "1.24 ms", "1.03 s".
[[nodiscard]] inline std::string fine_span(Microseconds span) {
  std::ostringstream text;
  text << std::setprecision(3);
  if (span.count() < 1e3) {
    text << span.count() << " us";
  } else if (span.count() < 1e6) {
    text << span.count() / 1e3 << " ms";
  } else {
    text << std::fixed << std::setprecision(2) << span.count() / 1e6 << " s";
  }
  return text.str();
}

[[nodiscard]] inline Finding check_kind(const Facts& facts) {
  constexpr std::string_view check = "server";
  if (!facts.why_no_info().empty()) return could_not_see(check, facts.why_no_info());
  // What others than Redis call themselves; each says redis_version too, for the sake of its clients.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> others{
      {{"valkey_version", "Valkey"},
       {"dragonfly_version", "Dragonfly"},
       {"mvcc_depth", "KeyDB"},
       {"garnet_version", "Garnet"},
       {"kvrocks_version", "Kvrocks"}}};
  const std::string redis = facts.info("redis_version").value_or("");
  for (const auto& [field, name] : others) {
    const auto own = facts.info(field);
    if (!own) continue;
    const std::string version = field == "mvcc_depth" ? redis : *own;
    return {Level::note, check, std::string(name) + " " + version + ", with which this lock is not tested",
            "try it there first: sublock bench, and one lock from two terminals"};
  }
  const auto version = Facts::version_of(redis);
  const std::string name = "Redis " + (redis.empty() ? "of an unknown version" : redis);
  if (redis.empty()) return could_not_see(check, "INFO names no version");
  if (version < Facts::Version{2, 8, 12})
    return {Level::problem, check, name + " has no PUBSUB NUMSUB, or no CLIENT KILL by id", "use Redis 7"};
  if (version < Facts::Version{5, 0, 0}) {
    return {
        Level::warning, check,
        name + " can't list subscribers alone, so that nobody may take the lock of a holder that is frozen",
        "use Redis 7"};
  }
  if (version < Facts::Version{6, 0, 0})
    return {Level::note, check, name + " has no HELLO: a cluster is not seen by locks, nor is a sentinel"};
  return {Level::ok, check, name};
}

/// A role in which no lock could be had, in the words in which it would be refused.
[[nodiscard]] inline Finding check_role(const Facts& facts, const Talk& talk) {
  constexpr std::string_view check = "role";
  if (const auto& objection = talk.objection())
    return {Level::problem, check, objection->text,
            "give the URL of a primary outside a cluster; redis+sentinel:// finds it by its sentinels"};
  if (!facts.why_no_info().empty()) return could_not_see(check, facts.why_no_info());
  if (facts.info("role") == "slave")
    return {Level::problem, check, "a replica, which counts its own subscribers only",
            "connect to its primary"};
  if (facts.number("cluster_enabled") == 1) {
    return {Level::problem, check, "a cluster node, which counts its own subscribers only",
            "use sublock::RedisClusterLock, or a server outside a cluster"};
  }
  if (facts.info("role") != "master") return could_not_see(check, "INFO names no role");
  if (!facts.number("cluster_enabled"))
    return could_not_see(check, "a primary; INFO does not tell of clusters");
  const auto replicas = facts.number("connected_slaves").value_or(0);
  if (replicas == 0) return {Level::ok, check, "primary, no cluster"};
  return {Level::note, check,
          "primary, no cluster, replicas: " + std::to_string(replicas) +
              "; after a failover everybody has lost, and is told when the connections break",
          "where something must not be done twice, guard it with a fencing token"};
}

[[nodiscard]] inline Finding check_loading(const Facts& facts) {
  constexpr std::string_view check = "loading";
  if (!facts.why_no_info().empty()) return could_not_see(check, facts.why_no_info());
  const auto loading = facts.number("loading");
  if (!loading) return could_not_see(check, "INFO does not tell");
  if (*loading == 0) return {Level::ok, check, "its data is loaded"};
  return {Level::problem, check, "still loads its data, and serves nobody until then",
          "wait, or look into its log"};
}

/// How long the server takes, against what a lock has the patience for.
[[nodiscard]] inline Finding check_round_trip(Talk& talk) {
  constexpr std::string_view check = "round trip";
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t most = 200;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
  std::vector<Microseconds> spans;
  while (spans.size() < most && (spans.size() < 3 || Clock::now() < end)) {
    const Clock::time_point start = Clock::now();
    const Reply reply = talk.ask({"PING"});
    spans.emplace_back(Clock::now() - start);
    if (is_error(*reply)) return could_not_see(check, std::string(text_of(*reply)));
  }
  std::ranges::sort(spans);
  const Microseconds median = spans[spans.size() / 2];
  const Microseconds worst = spans.back();
  const Microseconds patience = sublock::RedisLock::Options{}.unavailable_timeout;
  const std::string text = "median " + fine_span(median) + ", worst " + fine_span(worst) + " of " +
                           std::to_string(spans.size()) + "; a holder has " + fine_span(patience) +
                           " to answer, twice";
  const std::string remedy =
      "look for what keeps server or network (SLOWLOG GET, LATENCY DOCTOR), or raise "
      "unavailable_timeout";
  if (worst >= patience || median >= patience / 4) return {Level::problem, check, text, remedy};
  if (worst >= patience / 4 || median >= patience / 20) return {Level::warning, check, text, remedy};
  return {Level::ok, check, text};
}

}  // namespace command
