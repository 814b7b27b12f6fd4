// SPDX-License-Identifier: MIT

// What a lock costs on the wire, counted between client and server and by the server: round trips, writes
// and commands.

#include <gtest/gtest.h>
#include <sublock/redis_lock.hpp>

#include <support/live_redis.hpp>
#include <support/relay.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {
namespace {

using namespace std::chrono_literals;

/// The names of the commands in a client's bytes, in their order.
std::string names_in(std::string_view bytes) {
  std::string names;
  const auto number = [&] {
    const auto end = bytes.find("\r\n");
    const auto value = std::stoul(std::string(bytes.substr(1, end - 1)));
    bytes.remove_prefix(end + 2);
    return value;
  };
  while (bytes.starts_with('*')) {
    const std::size_t words = number();
    for (std::size_t word = 0; word < words; ++word) {
      const std::size_t size = number();
      const std::string text(bytes.substr(0, size));
      if (word == 0) names += (names.empty() ? "" : ", ") + text;
      if (word == 1 && (names.ends_with("CLIENT") || names.ends_with("PUBSUB"))) names += ' ' + text;
      bytes.remove_prefix(size + 2);
    }
  }
  return names + std::string(bytes);
}

class WireCost : public ::testing::Test {
 protected:
  WireCost() { warm_up(); }

  /// Both connections are there, and the server has been found to take what a lock needs.
  void warm_up() {
    lock.acquire();
    lock.release();
    relay.take();
  }

  /// The commands of one round trip, which was all that there was.
  std::string only_round_trip() {
    const auto traffic = relay.take();
    EXPECT_EQ(traffic.writes_of_client, 1u);
    EXPECT_EQ(traffic.writes_of_server, 1u);
    return names_in(traffic.to_server);
  }

  /// How often the server has executed each command, but for what this test itself asks.
  std::map<std::string, long> executed() {
    std::map<std::string, long> calls;
    std::istringstream lines(server.command({"INFO", "commandstats"}));
    for (std::string line; std::getline(lines, line);) {
      const auto colon = line.find(':');
      if (colon == std::string::npos || line.starts_with("cmdstat_info")) continue;
      calls[line.substr(8, colon - 8)] = std::stol(line.substr(line.find("calls=") + 6));
    }
    return calls;
  }

  support::LiveRedis server;
  support::Relay relay{server.port()};
  std::shared_ptr<HiredisTransport> connection = connect(relay.url());
  RedisLock lock{connection, "wire"};
};

TEST_F(WireCost, AFreeLockIsOneRoundTripToTakeAndOneToGiveBack) {
  const std::size_t connections = relay.connections();
  const auto before = executed();
  lock.acquire();
  EXPECT_EQ(only_round_trip(), "MULTI, CLIENT SETNAME, SUBSCRIBE, SUBSCRIBE, SUBSCRIBE, PUBSUB NUMSUB, EXEC");
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(only_round_trip(), "UNSUBSCRIBE, CLIENT SETNAME");
  EXPECT_EQ(relay.connections(), connections);
  EXPECT_EQ(relay.accepted(), connections);
  auto after = executed();
  for (const auto& [command, calls] : before) after[command] -= calls;
  std::erase_if(after, [](const auto& entry) { return entry.second == 0; });
  EXPECT_EQ(after, (std::map<std::string, long>{{"multi", 1},
                                                {"client|setname", 2},
                                                {"subscribe", 3},
                                                {"pubsub|numsub", 1},
                                                {"exec", 1},
                                                {"unsubscribe", 1}}));
}

TEST_F(WireCost, AReaderCostsTheSameWhetherAloneOrAmongReaders) {
  std::vector<std::unique_ptr<RedisLock>> others;
  for (int i = 0; i < 3; ++i) {
    lock.lock_shared();
    EXPECT_EQ(only_round_trip(),
              "MULTI, CLIENT SETNAME, SUBSCRIBE, SUBSCRIBE, SUBSCRIBE, PUBSUB NUMSUB, EXEC");
    lock.unlock_shared();
    EXPECT_EQ(only_round_trip(), "UNSUBSCRIBE, CLIENT SETNAME");
    others.push_back(
        std::make_unique<RedisLock>("wire", RedisLock::Options{.connection = {.url = server.url()}}));
    others.back()->lock_shared();
  }
}

TEST_F(WireCost, ARefusalIsTwoRoundTripsAndALeave) {
  RedisLock holder("wire", {.connection = {.url = server.url()}});
  holder.acquire();
  EXPECT_FALSE(lock.try_lock());
  const auto traffic = relay.take();
  EXPECT_EQ(traffic.writes_of_client, 3u);
  EXPECT_EQ(names_in(traffic.to_server),
            "MULTI, CLIENT SETNAME, SUBSCRIBE, SUBSCRIBE, SUBSCRIBE, PUBSUB NUMSUB, EXEC, "
            "MULTI, PUBSUB NUMSUB, PUBLISH, EXEC, UNSUBSCRIBE, CLIENT SETNAME");
  EXPECT_TRUE(holder.release());
}

TEST_F(WireCost, AHoldThatNobodyAsksAboutIsSilent) {
  lock.acquire();
  relay.take();
  EXPECT_TRUE(support::throughout(300ms, [&] { return relay.take().to_server.empty(); }));
  EXPECT_TRUE(lock.release());
}

TEST_F(WireCost, AHundredTimesAcquireAndReleaseTakeNoTime) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    lock.acquire();
    ASSERT_TRUE(lock.release());
  }
  EXPECT_LE(std::chrono::steady_clock::now() - start, 100 * 60ms);
}

}  // namespace
}  // namespace sublock
