// SPDX-License-Identifier: MIT

// The hiredis transport under the laws of all transports, over a redis-server of this test's own, in the clear and by TLS. What is
// peculiar to it is in the other hiredis tests of this folder.

#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <live/live_world.hpp>
#include <sublock/transport/hiredis.hpp>
#include <support/live_redis.hpp>

namespace sublock::testing {
namespace {

template <class Server>
struct LineWorldOn {
  using Transport = HiredisTransport;

  std::shared_ptr<Transport> connect() { return Transport::make(Server::reach(redis())); }
  std::size_t publish(const std::string& channel, const std::string& payload) {
    const std::lock_guard lock(mutex());
    return std::stoul(redis().command({"PUBLISH", channel, payload}));
  }
  std::size_t subscribers(const std::string& channel) {
    const std::lock_guard lock(mutex());
    return static_cast<std::size_t>(redis().subscribers(channel));
  }
  void kill(std::int64_t id) { ask({"CLIENT", "KILL", "ID", std::to_string(id)}); }
  void close_everything() {
    ask({"CLIENT", "KILL", "TYPE", "pubsub"});
    close_mouths();
  }
  void close_mouths() { ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); }

 private:
  static void ask(const std::vector<std::string>& words) {
    const std::lock_guard lock(mutex());
    redis().command(words);
  }
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  /// One server for all laws: each uses names of its own.
  static support::LiveRedis& redis() {
    static support::LiveRedis server;
    return server;
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, TransportLaws, LineWorldOn<PlainServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LineLaws, LineWorldOn<PlainServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, TransportLaws, LineWorldOn<EncipheredServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, LineLaws, LineWorldOn<EncipheredServer>);

}  // namespace
}  // namespace sublock::testing
