// SPDX-License-Identifier: MIT
#pragma once

// Does a cluster suit the locks that can live in one, those of sublock::RedisClusterLock?

#include "facts.hpp"
#include "finding.hpp"

#include <string>
#include <string_view>

namespace command {

/// A primary without a majority is down, but goes on serving channels if it may.
[[nodiscard]] inline Finding check_channels_when_down(Facts& facts) {
  constexpr std::string_view check = "cut off";
  const Facts::Setting allowed = facts.config("cluster-allow-pubsubshard-when-down");
  const Facts::Setting timeout = facts.config("cluster-node-timeout");
  if (!allowed.value) return could_not_see(check, allowed.why);
  if (!timeout.value) return could_not_see(check, timeout.why);
  const std::string text =
      "a primary that is cut off learns it within one and a half cluster-node-timeout of " + *timeout.value +
      " ms, and holders up to 1.5 s after it";
  if (allowed.value == "no") return {Level::ok, check, text};
  return {Level::note, check, text + "; until they ask, it serves its channels as if nothing were wrong",
          "CONFIG SET cluster-allow-pubsubshard-when-down no"};
}

/// With the whole of a cluster, all its locks are down.
[[nodiscard]] inline Finding check_coverage(Facts& facts) {
  constexpr std::string_view check = "coverage";
  const Facts::Setting whole = facts.config("cluster-require-full-coverage");
  if (!whole.value) return could_not_see(check, whole.why);
  if (whole.value == "no") return {Level::ok, check, "shards live and die by themselves"};
  return {Level::warning, check,
          "the death of one primary takes the whole cluster down until a replica stands in, and all locks "
          "with it",
          "CONFIG SET cluster-require-full-coverage no"};
}

[[nodiscard]] inline Finding check_cluster_version(Facts& facts) {
  constexpr std::string_view check = "shards";
  const auto version = Facts::version_of(facts.info("redis_version").value_or(""));
  if (version >= Facts::Version{7, 0, 0})
    return {Level::ok, check, "it has sharded publish/subscribe, by which sublock::RedisClusterLock lives"};
  return {Level::problem, check, "it has no sharded publish/subscribe, so that no lock can live here",
          "use Redis 7.0 or later"};
}

/// Nothing where there is no cluster.
inline void examine_cluster(Facts& facts, Findings& findings) {
  if (facts.number("cluster_enabled") != 1) return;
  for (const auto look : {check_cluster_version, check_channels_when_down, check_coverage})
    findings.add(look(facts));
}

}  // namespace command
