// SPDX-License-Identifier: MIT
#pragma once

// The transport over a Redis Cluster, by sharded publish/subscribe. Its rooms in cluster/ know slots and who owns them;
// sockets, threads and waiting are hiredis/'s.

#include <sublock/policies.hpp>
#include <sublock/transport/cluster/cluster_hub.hpp>
#include <sublock/transport/cluster/slot.hpp>
#include <sublock/transport/hiredis/connection.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/line.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace sublock {

/// A connection to a Redis Cluster, 7.0 or later, for many locks; see hiredis::Connection for what it does to a
/// process. A lock lives at the primary that owns its channel's slot, and there alone: channels spread over the
/// shards, and what a cluster can bear grows with them.
///
/// - A channel needs a hash tag, "{jobs}" say, so that all that belongs to its lock shares a slot.
/// - Taking a free lock costs two trips instead of one: a shard takes no subscription in a transaction, so whoever
///   has joined always asks.
/// - A failover, the migration of the slot, and a primary that sees the cluster down are losses for who holds a lock
///   there; who waits goes on at the new owner.
/// - Two can hold a lock for a while where two nodes take themselves for the owner of its slot. When a slot migrates,
///   or a replica is promoted by hand, that lasts as long as the word of it takes to reach the owner before. When a
///   primary is cut off together with holders, until it notices, which takes up to one and a half
///   `cluster-node-timeout`, and they learn it within `cluster_check_interval` after that, if
///   `cluster-allow-pubsubshard-when-down` is "no" or they ask as this transport does.
/// - Nobody in Python is there: portalocker knows nothing of shards.
/// - It has no leases: RedisGetlock needs one server.
class ClusterTransport final : public hiredis::Connection {
 public:
  /// How `make` is told where to connect. The URL is `redis+cluster://host:port,host:port,…`, some of the nodes; the
  /// others are found by them.
  using Options = ConnectionOptions;
  /// A lock's place on it, see LineOf.
  using Line = hiredis::Line;

  /// Throws LockError(usage) for options that make no sense. Neither connects nor blocks.
  [[nodiscard]] static std::shared_ptr<ClusterTransport> make(const Options& options) {
    return std::shared_ptr<ClusterTransport>(new ClusterTransport(options));
  }

  /// Throws LockError(usage) for a channel without a hash tag.
  static void check_channel(std::string_view channel) { cluster::check_channel(channel); }

 private:
  explicit ClusterTransport(const Options& options)
      : Connection(std::make_shared<cluster::ClusterHub>(options)) {}
};

/// A connection that is known to work: the cluster has been asked who owns what, and the primary of one slot has taken
/// us. Blocks until then, at most for twice `connect_timeout` and what the resolver takes; throws LockError (usage, auth,
/// connect, protocol) where that can't be had. Any thread.
[[nodiscard]] inline std::shared_ptr<ClusterTransport> connect_cluster(const ConnectionOptions& options) {
  auto transport = ClusterTransport::make(options);
  hiredis::prove(transport, "{sublock}");
  return transport;
}

/// The same with a URL such as "redis+cluster://10.0.0.1:6379,10.0.0.2:6379", and defaults for the rest.
[[nodiscard]] inline std::shared_ptr<ClusterTransport> connect_cluster(std::string url) {
  return connect_cluster(ConnectionOptions{.url = std::move(url)});
}

static_assert(TransportPolicy<ClusterTransport>);

}  // namespace sublock
