// SPDX-License-Identifier: MIT
#pragma once

// The hub of a transport that talks to one server: an address, a host name, or whatever server the sentinels call the
// primary.

#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/sentinel.hpp>
#include <sublock/transport/hiredis/server.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace sublock::hiredis {

class SoleHub : public Hub {
 public:
  explicit SoleHub(const ConnectionOptions& options, EarSource* source = nullptr)
      : server_(*this, Settings(options), source) {
    if (server_.settings.endpoint.seeds.empty()) return;
    throw LockError({Errc::usage,
                     "the connection URL leads to a cluster, where a lock of one server can't live: use "
                     "sublock::RedisClusterLock of <sublock/redis_cluster_lock.hpp>"});
  }

  [[nodiscard]] std::string name() const override { return "Redis at " + server_.settings.where; }

  void open(LineState& line, std::string_view) override { server_.open(line); }
  void close(LineState& line) override { server_.close(line); }

  [[nodiscard]] bool needs_errand(const LineState& line) const override {
    return server_.needs_addresses(line);
  }
  [[nodiscard]] Errand errand() override {
    return [this]() -> Conclusion {
      return
          [this, answer = look_up(server_.settings)]() mutable { server_.take_addresses(std::move(answer)); };
    };
  }

 private:
  core::Instant tick_servers(core::Instant now) override { return server_.tick(now); }

  Server server_;
};

}  // namespace sublock::hiredis
