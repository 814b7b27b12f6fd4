// SPDX-License-Identifier: MIT
#pragma once

// The transport whose locks share subscriber connections, for servers where connections are dearer than independence.
// Its rooms in shared_ear/ know who hears what on one of them; sockets, threads and waiting are hiredis/'s.

#include <sublock/policies.hpp>
#include <sublock/transport/hiredis/connection.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/line.hpp>
#include <sublock/transport/shared_ear/shared_hub.hpp>

#include <memory>
#include <string>
#include <utility>

namespace sublock {

/// A connection to one Redis server, for many locks; see hiredis::Connection for what it does to a process. All locks
/// that are held, each of another channel, hear by one subscriber connection; of two on one channel, each has another.
/// So ten thousand locks cost two connections and not ten thousand and one. Beside plain locks on the same channels
/// they exclude each other as ever. What is given up for that:
///
/// - One fate: where that connection breaks, or is killed, all its locks are lost at once. A process that is frozen is
///   reaped as one, by whoever first wants one of its locks.
/// - A free lock takes two trips instead of one: a connection that hears something takes no transaction, so whoever has
///   joined always asks. A reader among readers asks, too.
/// - Notes to those who wait go out when the server has confirmed that we have left, one trip later.
/// - Head of line: a flood on one channel holds up what is heard on the others.
/// - Python's portalocker knows nothing of such ears: it takes no lock from them, but can't reap one that is frozen
///   either, and waits until somebody else does. All of sublock that meets on a channel must know them: a release of
///   before would take who is frozen there for a stranger, and his lock for free.
/// - It has no leases, and pools no ears: RedisGetlock needs a HiredisTransport.
///
/// An ear is called `sublock-ear-<id>`, and subscribes to `<channel>-<id>` beside each channel; a user who may not
/// CLIENT SETNAME can't have one.
class SharedEarTransport final : public hiredis::Connection {
 public:
  /// How `make` is told where to connect.
  using Options = ConnectionOptions;
  /// A lock's place on it, see LineOf.
  using Line = hiredis::Line;

  /// Throws LockError(usage) for options that make no sense. Neither connects nor blocks.
  [[nodiscard]] static std::shared_ptr<SharedEarTransport> make(const Options& options) {
    return std::shared_ptr<SharedEarTransport>(new SharedEarTransport(options));
  }

 private:
  explicit SharedEarTransport(const Options& options)
      : Connection(std::make_shared<shared_ear::SharedHub>(options)) {}
};

/// A connection that is known to work, as sublock::connect makes it. Any thread.
[[nodiscard]] inline std::shared_ptr<SharedEarTransport> connect_sharing(const ConnectionOptions& options) {
  auto transport = SharedEarTransport::make(options);
  hiredis::prove(transport);
  return transport;
}

/// The same with a URL such as "redis://user:password@host:6379", and defaults for the rest.
[[nodiscard]] inline std::shared_ptr<SharedEarTransport> connect_sharing(std::string url) {
  return connect_sharing(ConnectionOptions{.url = std::move(url)});
}

static_assert(TransportPolicy<SharedEarTransport>);

}  // namespace sublock
