// SPDX-License-Identifier: MIT

// The bad network and the fake peer, before they are trusted.

#include "support/eventually.hpp"
#include "support/fake_peer.hpp"
#include "support/fault_proxy.hpp"
#include "support/live_redis.hpp"
#include "support/resp.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace support {
namespace {

using namespace std::string_literals;

TEST(Resp, CutsValues) {
  EXPECT_EQ(resp_size("+OK\r\n+QUEUED\r\n"), 5U);
  EXPECT_EQ(resp_size("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1"), 20U);
  EXPECT_EQ(resp_size("*2\r\n$-1\r\n*-1\r\n:"), 14U);
  for (const char* const part : {"", "+OK", "*1\r\n", "$3\r\nab", "$3\r\nabc\r", "*2\r\n*1\r\n:1\r\n"})
    EXPECT_EQ(resp_size(part), 0U) << part;
  EXPECT_EQ(resp_words("*3\r\n$1\r\na\r\n$0\r\n\r\n:12\r\n"), (std::vector<std::string_view>{"a", "", "12"}));
}

class FaultTools : public testing::Test {
 protected:
  using Clock = TestClock;

  static TestClock::duration time_of(auto work) {
    const auto start = TestClock::now();
    work();
    return TestClock::now() - start;
  }

  LiveRedis server_;
  FaultProxy proxy_{server_.port()};
};

TEST_F(FaultTools, ProxyPassesEverythingOn) {
  PlainConnection connection(proxy_.port());
  const std::string big(8'000'000, 'x');
  connection.command({"SET", "k", big});
  EXPECT_EQ(connection.command({"STRLEN", "k"}), 8'000'000);
  connection.command({"GET", "k"});
  EXPECT_EQ(proxy_.connections(), 1U);
}

TEST_F(FaultTools, ProxyDelaysOneDirection) {
  PlainConnection connection(proxy_.port());
  proxy_.delay(FaultProxy::to_client, 250ms);
  const auto asked = time_of([&] { connection.command({"INCR", "k"}); });
  EXPECT_GE(asked, 250ms);
  proxy_.heal();
  EXPECT_LT(time_of([&] { connection.command({"INCR", "k"}); }), 250ms);
}

TEST_F(FaultTools, ProxyDelaysFramesWithAWordAndKeepsTheOrder) {
  PlainConnection connection(proxy_.port());
  proxy_.delay_frames("INCR", 250ms);
  EXPECT_LT(time_of([&] { connection.command({"GET", "k"}); }), 250ms);
  EXPECT_GE(time_of([&] { connection.command({"INCR", "k"}); }), 250ms);
}

TEST_F(FaultTools, ProxyDelaysTheReplyToACommandAlsoInATransaction) {
  PlainConnection connection(proxy_.port());
  proxy_.delay_reply_to("NUMSUB", 250ms);
  const auto quick = [&](const std::vector<std::string>& words) {
    return time_of([&] { connection.command(words); }) < 250ms;
  };
  EXPECT_TRUE(quick({"SUBSCRIBE", "a"}));
  EXPECT_TRUE(quick({"UNSUBSCRIBE", "a"}));
  EXPECT_TRUE(quick({"GET", "k"}));
  EXPECT_FALSE(quick({"PUBSUB", "NUMSUB", "a"}));
  EXPECT_TRUE(quick({"MULTI"}));
  EXPECT_TRUE(quick({"PUBSUB", "NUMSUB", "a"}));
  EXPECT_FALSE(quick({"EXEC"}));
  EXPECT_TRUE(quick({"GET", "k"}));
}

TEST_F(FaultTools, ProxyDelaysMessagesAlone) {
  PlainConnection ear(proxy_.port());
  proxy_.delay_messages(250ms);
  EXPECT_LT(time_of([&] { ear.command({"SUBSCRIBE", "a"}); }), 250ms);
  std::vector<PlainConnection::Message> messages;
  EXPECT_GE(time_of([&] {
              server_.command({"PUBLISH", "a", "hello"});
              ear.read(messages);
            }),
            250ms);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages.front().payload, "hello");
}

TEST_F(FaultTools, ProxyPassesAnEndOnWithItsDelay) {
  const auto name = "victim"s;
  PlainConnection connection(proxy_.port(), name);
  proxy_.delay(FaultProxy::to_client, 250ms);
  const auto id = server_.client_id(name);
  std::vector<PlainConnection::Message> messages;
  EXPECT_GE(time_of([&] {
              server_.command({"CLIENT", "KILL", "ID", std::to_string(id)});
              while (connection.read(messages)) {
              }
            }),
            250ms);
  EXPECT_TRUE(eventually([&] { return proxy_.connections() == 0 || proxy_.connections() == 1; }));
}

TEST_F(FaultTools, ProxyTellsTheServerWhenAClientGoes) {
  { PlainConnection connection(proxy_.port(), "gone"); }
  EXPECT_TRUE(eventually([&] { return server_.client_id("gone") == 0 && proxy_.connections() == 0; }));
}

TEST_F(FaultTools, SilenceHealsWithoutLoss) {
  PlainConnection connection(proxy_.port(), "patient");
  proxy_.silence();
  std::thread healer([&] {
    EXPECT_TRUE(throughout(250ms, [&] { return server_.client_id("patient") != 0; }));
    proxy_.heal();
  });
  EXPECT_GE(time_of([&] { EXPECT_EQ(connection.command({"INCR", "k"}), 1); }), 250ms);
  healer.join();
}

TEST_F(FaultTools, HalfOpenIsForgottenByTheServerAlone) {
  PlainConnection connection(proxy_.port(), "forgotten");
  proxy_.half_open();
  EXPECT_TRUE(eventually([&] { return server_.client_id("forgotten") == 0; }));
  pollfd poll{connection.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, 250), 0);
  proxy_.heal();
  EXPECT_EQ(::poll(&poll, 1, 5000), 1);
  std::vector<PlainConnection::Message> messages;
  EXPECT_FALSE(connection.read(messages));
  EXPECT_EQ(PlainConnection(proxy_.port()).command({"INCR", "k"}), 1);
}

TEST_F(FaultTools, FakePeerAnswersWhatItWasTold) {
  FakePeer peer(server_.port(), "c", {.name = "c-lock-x", .answers = {"one", "t\0wo"s}});
  EXPECT_EQ(server_.subscribers("c"), 1);
  EXPECT_NE(server_.client_id("c-lock-x"), 0);
  EXPECT_EQ(ask(server_.port(), "c", 2), (std::vector<std::string>{"one", "t\0wo"s}));
  peer.follow({.answers = {"late"}, .delay = 250ms});
  EXPECT_GE(time_of([&] { EXPECT_EQ(ask(server_.port(), "c").size(), 1U); }), 250ms);
  peer.follow({});
  EXPECT_TRUE(ask(server_.port(), "c", 1, 50ms).empty());
  EXPECT_EQ(peer.pings(), 3U);
  server_.command({"PUBLISH", "c", "rubbish"});
  EXPECT_TRUE(eventually([&] { return peer.heard().size() == 4 && peer.answered() == 3; }));
  EXPECT_EQ(peer.pings(), 3U);
  EXPECT_TRUE(peer.connected());
  server_.command({"CLIENT", "KILL", "ID", std::to_string(server_.client_id("c-lock-x"))});
  EXPECT_TRUE(eventually([&] { return !peer.connected(); }));
}

TEST_F(FaultTools, FakePeerLeavesWithoutATrace) {
  { const FakePeer peer(server_.port(), "c", {}); }
  EXPECT_TRUE(eventually([&] { return server_.subscribers("c") == 0; }));
}

}  // namespace
}  // namespace support
