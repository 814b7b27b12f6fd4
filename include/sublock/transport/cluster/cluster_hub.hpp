// SPDX-License-Identifier: MIT
#pragma once

// The hub of a transport that talks to a cluster: each line is led to the primary that owns its channel's slot.

#include <sublock/error.hpp>
#include <sublock/transport/cluster/slot.hpp>
#include <sublock/transport/cluster/slot_map.hpp>
#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/server.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::cluster {

class ClusterHub final : public hiredis::Hub {
 public:
  explicit ClusterHub(const ConnectionOptions& options)
      : settings_(options, endpoint_of_cluster(options), hiredis::one_shard),
        nodes_(settings_.endpoint.seeds) {}

  [[nodiscard]] std::string name() const override { return "Redis at " + settings_.where; }

  void open(hiredis::LineState& line, std::string_view channel) override {
    line.server = nullptr;
    admit(line);
    line.slot = slot_of(channel);
    if (!must_ask_) lead(line);
  }

  void close(hiredis::LineState& line) override { line.server ? line.server->close(line) : dismiss(line); }

  [[nodiscard]] bool needs_errand(const hiredis::LineState& line) const override {
    return line.open && line.server == nullptr;
  }
  [[nodiscard]] Errand errand() override {
    // Whoever was asked last may be the one who is behind the times.
    if (!nodes_.empty()) std::rotate(nodes_.begin(), nodes_.begin() + 1, nodes_.end());
    std::vector<Host> whom = nodes_;
    for (const Host& seed : settings_.endpoint.seeds)
      if (std::ranges::find(whom, seed) == whom.end()) whom.push_back(seed);
    return [this, whom = std::move(whom)]() -> Conclusion {
      return [this, answer = find_owners(settings_, whom)]() mutable { take(std::move(answer)); };
    };
  }

 private:
  static hiredis::Endpoint endpoint_of_cluster(const ConnectionOptions& options) {
    hiredis::Endpoint endpoint = hiredis::endpoint_of(options);
    if (!endpoint.sentinels.empty() || (endpoint.seeds.empty() && endpoint.host.empty()) ||
        endpoint.database != 0) {
      throw LockError(
          {Errc::usage,
           "a cluster is reached by redis+cluster://[user[:password]@]host[:port],..., and has no "
           "database but 0"});
    }
    if (endpoint.seeds.empty()) endpoint.seeds.push_back({endpoint.host, endpoint.port});
    endpoint.host.clear();
    return endpoint;
  }

  void on_trouble() override { must_ask_ = true; }

  void take(std::variant<SlotMap, Failure> answer) {
    if (auto* map = std::get_if<SlotMap>(&answer)) {
      map_ = std::move(*map);
      if (!map_.nodes.empty()) nodes_ = map_.nodes;
      must_ask_ = false;
    }
    const auto all = lines();
    for (hiredis::LineState* line : all) {
      if (!needs_errand(*line)) continue;
      if (const auto* failure = std::get_if<Failure>(&answer)) {
        lose(*line, *failure);
      } else {
        lead(*line);
      }
    }
  }

  void lead(hiredis::LineState& line) {
    const Range* const range = map_.find(line.slot);
    if (range != nullptr && !range->addresses.empty()) return server_of(*range).open(line);
    must_ask_ = true;
    const std::string slot = std::to_string(line.slot);
    lose(line, {Errc::connect,
                range == nullptr
                    ? "nobody in the Redis cluster owns slot " + slot + " just now"
                    : "the owner of slot " + slot + ", " + range->owner.shown() + ", can't be looked up"});
  }

  hiredis::Server& server_of(const Range& range) {
    const Host& host = range.owner;
    auto& server = servers_[host.shown()];
    if (!server) {
      hiredis::Endpoint endpoint = settings_.endpoint;
      endpoint.seeds.clear();
      endpoint.host = host.name;
      endpoint.port = host.port;
      server = std::make_unique<hiredis::Server>(
          *this, hiredis::Settings(settings_.options, std::move(endpoint), hiredis::one_shard));
    }
    server->take_addresses(range.addresses);
    return *server;
  }

  core::Instant tick_servers(core::Instant now) override {
    core::Instant next = core::Instant::max();
    for (const auto& entry : servers_) next = std::min(next, entry.second->tick(now));
    return next;
  }

  const hiredis::Settings settings_;
  SlotMap map_;
  std::vector<Host> nodes_;  // whom to ask
  bool must_ask_ = true;     // before a line is led anywhere
  std::unordered_map<std::string, std::unique_ptr<hiredis::Server>> servers_;
};

}  // namespace sublock::cluster
