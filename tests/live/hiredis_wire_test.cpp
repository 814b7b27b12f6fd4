// SPDX-License-Identifier: MIT

// What the hiredis transport writes, to the byte, in how many writes, and how soon a caller has the
// answer. Counted on the wire, between client and server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <live/caller.hpp>
#include <sublock/transport/hiredis.hpp>
#include <support/live_redis.hpp>
#include <support/relay.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;
namespace event = core::event;

const std::string other = "lock-fedcba9876543210fedcba9876543210";

/// Commands as a human writes them, one a line; what isn't a command stays as it is.
std::string commands_in(std::string_view bytes) {
  std::string text;
  while (bytes.starts_with('*')) {
    const auto number = [&] {
      const auto end = bytes.find("\r\n");
      const auto value = std::stoul(std::string(bytes.substr(1, end - 1)));
      bytes.remove_prefix(end + 2);
      return value;
    };
    for (auto words = number(); words > 0; --words) {
      const auto size = number();
      text += (size == 0 ? "''" : std::string(bytes.substr(0, size))) + (words > 1 ? " " : "\n");
      bytes.remove_prefix(size + 2);
    }
  }
  return text + std::string(bytes);
}

class HiredisWire : public ::testing::Test {
 protected:
  support::LiveRedis redis;
  support::Relay relay{redis.port()};
  std::shared_ptr<HiredisTransport> transport = HiredisTransport::make({.url = relay.url()});
  Process process{transport};

  void open() {
    ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
    relay.take();
  }
  void join() {
    ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("lock", response, "name"); }));
  }
  void leave() {
    ASSERT_TRUE(process.answered<event::Left>([](auto& line) { line.leave(); }));
  }
  /// The commands of one exchange, which must take one write each way.
  std::string exchange() {
    const auto traffic = relay.take();
    EXPECT_EQ(traffic.writes_of_client, 1u);
    EXPECT_EQ(traffic.writes_of_server, 1u);
    return commands_in(traffic.to_server);
  }
};

TEST_F(HiredisWire, NothingIsConnectedBeforeALineOpens) { EXPECT_EQ(relay.accepted(), 0u); }

TEST_F(HiredisWire, OpeningTakesTwoConnectionsAndAGreetingOnEach) {
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  const auto traffic = relay.take();
  // Either may be the first.
  EXPECT_THAT(commands_in(traffic.to_server),
              ::testing::AnyOf("HELLO 2\nHELLO 2\nMULTI\nEXEC\n", "HELLO 2\nMULTI\nEXEC\nHELLO 2\n"));
  EXPECT_EQ(traffic.writes_of_client, 2u);
  EXPECT_EQ(relay.accepted(), 2u);
}

TEST_F(HiredisWire, LoginAndDatabaseGoWithTheGreeting) {
  redis.command({"ACL", "SETUSER", "anna", "on", ">pw", "~*", "&*", "+@all"});
  auto own =
      HiredisTransport::make({.url = "redis://anna:pw@127.0.0.1:" + std::to_string(relay.port()) + "/3"});
  Process caller(own);
  ASSERT_TRUE(caller.answered<event::Opened>([](auto& line) { line.open(); }));
  const auto traffic = relay.take();
  EXPECT_EQ(traffic.writes_of_client, 2u);
  const std::string commands = commands_in(traffic.to_server);
  EXPECT_EQ(commands.size(),
            std::string("AUTH anna pw\nHELLO 2\nMULTI\nEXEC\nAUTH anna pw\nHELLO 2\nSELECT 3\n").size());
  EXPECT_THAT(commands, ::testing::HasSubstr("AUTH anna pw\nHELLO 2\nSELECT 3\n"));
}

TEST_F(HiredisWire, WhoMayNotTransactIsOnNoRoster) {
  // What he asks for is done in part, perhaps: on a roster but not on the channel, he would stand in for another.
  redis.command({"ACL", "SETUSER", "anna", "on", ">pw", "~*", "&*", "+@all", "-multi"});
  auto own = HiredisTransport::make({.url = "redis://anna:pw@127.0.0.1:" + std::to_string(relay.port())});
  Process caller(own);
  ASSERT_TRUE(caller.answered<event::Opened>([](auto& line) { line.open(); }));
  relay.take();
  ASSERT_TRUE(caller.answered<event::Refused>([](auto& line) {
    line.join("lock", response, "lock-lock-anna", {"its-readers", "its-writers"});
  }));
  const std::string commands = commands_in(relay.take().to_server);
  EXPECT_THAT(commands, ::testing::HasSubstr("SUBSCRIBE lock"));
  EXPECT_THAT(commands, ::testing::Not(::testing::HasSubstr("its-readers")));
}

TEST_F(HiredisWire, AFreshJoinProvesThatItsUserMayPublish) {
  open();
  join();
  EXPECT_EQ(exchange(), "MULTI\nPUBLISH " + response +
                            " ''\nCLIENT SETNAME name\nSUBSCRIBE lock\nSUBSCRIBE " + response +
                            "\nPUBSUB NUMSUB lock\nEXEC\n");
}

TEST_F(HiredisWire, AWarmJoinAndALeaveCostOneWriteAndOneReadEach) {
  open();
  join();
  leave();
  process.say([](auto& line) { line.close(); });
  relay.take();
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_EQ(relay.take().to_server, "");  // from the pool
  join();
  EXPECT_EQ(exchange(), "MULTI\nCLIENT SETNAME name\nSUBSCRIBE lock\nSUBSCRIBE " + response +
                            "\nPUBSUB NUMSUB lock\nEXEC\n");
  leave();
  EXPECT_EQ(exchange(), "UNSUBSCRIBE\nCLIENT SETNAME ''\n");
  EXPECT_EQ(relay.accepted(), 2u);
}

TEST_F(HiredisWire, EveryOtherVerbCostsOneWriteAndOneReadToo) {
  open();
  join();
  relay.take();
  ASSERT_TRUE(process.answered<event::Listening>([](auto& line) { line.listen(other); }));
  EXPECT_EQ(exchange(), "SUBSCRIBE " + other + "\nUNSUBSCRIBE " + response + "\n");
  ASSERT_TRUE(process.answered<event::Counted>([](auto& line) { line.count("elsewhere"); }));
  EXPECT_EQ(exchange(), "PUBSUB NUMSUB elsewhere\n");
  ASSERT_TRUE(process.answered<event::Listed>([](auto& line) { line.list(); }));
  EXPECT_EQ(exchange(), "CLIENT LIST TYPE pubsub\n");
  ASSERT_TRUE(process.answered<event::Killed>([](auto& line) { line.kill({77777, 88888}); }));
  EXPECT_EQ(exchange(), "CLIENT KILL ID 77777\nCLIENT KILL ID 88888\n");
  ASSERT_TRUE(process.answered<event::Pinged>([](auto& line) { line.ping("elsewhere", other, "hi"); }));
  EXPECT_EQ(exchange(), "MULTI\nPUBSUB NUMSUB elsewhere\nPUBLISH elsewhere hi\nEXEC\n");
}

TEST_F(HiredisWire, AskingFromOutsideIsOneWriteAndOneRead) {
  open();
  ASSERT_TRUE(process.answered<event::Pinged>([](auto& line) { line.ask("elsewhere", response, "hi"); }));
  EXPECT_EQ(exchange(),
            "MULTI\nSUBSCRIBE " + response + "\nPUBSUB NUMSUB elsewhere\nPUBLISH elsewhere hi\nEXEC\n");
}

TEST_F(HiredisWire, AWaitersInboxIsUnsubscribedInTheSameWriteAsTheJoin) {
  open();
  ASSERT_TRUE(process.answered<event::Listening>([](auto& line) { line.listen(other); }));
  EXPECT_EQ(exchange(), "SUBSCRIBE " + other + "\n");
  join();
  EXPECT_THAT(exchange(), ::testing::StartsWith("UNSUBSCRIBE\nMULTI\nPUBLISH "));
}

TEST_F(HiredisWire, WhatAListenerSaysInsideAnEventIsSent) {
  struct Echo : core::Listener {
    HiredisTransport::Line* line = nullptr;
    int answered = 0;
    bool opened = false;
    bool joined = false;
    void on_event(const core::Event& event) override {
      opened = opened || std::holds_alternative<event::Opened>(event);
      joined = joined || std::holds_alternative<event::Joined>(event);
      if (!std::holds_alternative<event::Message>(event)) return;
      line->publish("answers", std::to_string(++answered));
    }
  } echo;
  open();
  ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("answers", other, "b"); }));
  std::unique_lock lock(transport->mutex());
  HiredisTransport::Line line(transport, echo);
  echo.line = &line;
  line.open();
  while (!echo.opened) line.wait(lock, 10s, {});
  line.join("lock", response, "name");
  while (!echo.joined) line.wait(lock, 10s, {});
  for (int i = 0; i < 100; ++i) line.publish("lock", "ping");
  while (echo.answered < 100) line.wait(lock, 10s, {});
  lock.unlock();
  EXPECT_TRUE(process.hears<Text>(100));
  EXPECT_EQ(process.last<Text>().payload, "100");
  lock.lock();
}

TEST_F(HiredisWire, WhatAVerbHasPromisedIsForgottenAtClose) {
  open();
  process.say([](auto& line) {
    line.kill({});  // answered without a word on the wire
    line.close();
    line.open();
  });
  ASSERT_TRUE(process.hears<event::Opened>(2));
  process.say([](auto& line) {
    line.close();
    line.open();  // from the pool, so that Opened is on its way at once
    line.close();
    line.open();
  });
  ASSERT_TRUE(process.hears<event::Opened>(3));
  ASSERT_TRUE(process.answered<event::Counted>([](auto& line) { line.count("lock"); }));
  EXPECT_THAT(process.order(), ::testing::ElementsAre("Opened", "Opened", "Opened", "Counted"));
}

TEST_F(HiredisWire, ABigMessageIsWrittenAndReadWholeWithoutBlocking) {
  open();
  join();
  const std::string big(8 << 20, 'x');
  process.say([&](auto& line) { line.publish("lock", big); });
  ASSERT_TRUE(process.hears<Text>());
  EXPECT_TRUE(process.last<Text>().payload == big);
}

TEST_F(HiredisWire, APeerThatReadsNothingCantMakeUsKeepMoreThanTheBound) {
  Process direct(HiredisTransport::make({.url = redis.url()}));
  ASSERT_TRUE(direct.answered<event::Opened>([](auto& line) { line.open(); }));
  ASSERT_TRUE(direct.answered<event::Joined>([](auto& line) { line.join("lock", response, "name"); }));
  redis.pause();
  const std::string big(16 << 20, 'x');
  // Whoever blocked here would do so for ever.
  for (int i = 0; i < 8; ++i) direct.say([&](auto& line) { line.publish("elsewhere", big); });
  redis.resume();
  ASSERT_TRUE(direct.answered<event::Counted>([&](auto& line) { line.count("lock"); }));
  EXPECT_TRUE(direct.all<event::Lost>().empty());
}

TEST_F(HiredisWire, DeadlinesHoldToTheMillisecond) {
  open();
  join();
  std::vector<std::chrono::nanoseconds> late;
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    process.wait(7ms);
    late.push_back(std::chrono::steady_clock::now() - start - 7ms);
  }
  std::ranges::sort(late);
  EXPECT_GE(late.front(), 0ns);
  EXPECT_LT(late[late.size() / 2], 2ms);
}

}  // namespace
}  // namespace sublock::testing
