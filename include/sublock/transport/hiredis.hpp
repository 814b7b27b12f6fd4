// SPDX-License-Identifier: MIT
#pragma once

// The transport over a real Redis server, through hiredis. This file and its rooms in hiredis/ are the
// only place for sockets, threads and waiting. One lock that is held costs one socket; one transport
// object, however many locks use it, costs one thread and one command connection.

#include <sublock/policies.hpp>
#include <sublock/transport/hiredis/connection.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/desk.hpp>
#include <sublock/transport/hiredis/line.hpp>
#include <sublock/transport/hiredis/sole_hub.hpp>

#include <memory>
#include <string>
#include <utility>

namespace sublock {

/// A connection to one Redis server, for many locks; see hiredis::Connection for what it does to a process.
class HiredisTransport final : public hiredis::Connection {
 public:
  /// How `make` is told where to connect.
  using Options = ConnectionOptions;
  /// A lock's place on it, see LineOf.
  using Line = hiredis::Line;
  /// A lease's, see DeskOf.
  using Desk = hiredis::Desk;

  /// Throws LockError(usage) for options that make no sense. Neither connects nor blocks.
  [[nodiscard]] static std::shared_ptr<HiredisTransport> make(const Options& options) {
    return std::shared_ptr<HiredisTransport>(new HiredisTransport(options));
  }

 private:
  explicit HiredisTransport(const Options& options)
      : Connection(std::make_shared<hiredis::SoleHub>(options)) {}
};

/// A connection that is known to work: connected, authenticated, and to a primary. Blocks until then, at
/// most for `connect_timeout` and what the resolver takes; throws LockError (usage, auth, connect,
/// protocol) where that can't be had. Any thread.
[[nodiscard]] inline std::shared_ptr<HiredisTransport> connect(const ConnectionOptions& options) {
  auto transport = HiredisTransport::make(options);
  hiredis::prove(transport);
  return transport;
}

/// The same with a URL such as "redis://user:password@host:6379", and defaults for the rest.
[[nodiscard]] inline std::shared_ptr<HiredisTransport> connect(std::string url) {
  return connect(ConnectionOptions{.url = std::move(url)});
}

static_assert(LeaseTransportPolicy<HiredisTransport>);

}  // namespace sublock
