// SPDX-License-Identifier: MIT

// What the in-memory server does as Redis does, what it refuses on request, and how exactly it counts;
// and who keeps what alive.

#include "in_memory_fixture.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace sublock::testing {
namespace {

namespace event = core::event;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InMemoryServer : public InMemoryFixture {};

TEST_F(InMemoryServer, RefuseRefusesEveryVerbThatNeedsTheCommand) {
  auto process = joined(transport);
  redis.refuse("CLIENT KILL", "NOPERM client|kill");
  ASSERT_TRUE(process->answered<event::Refused>([](auto& line) { line.kill({1}); }));
  EXPECT_EQ(process->last<event::Refused>().verb, core::Verb::kill);
  EXPECT_EQ(process->last<event::Refused>().failure, (Failure{Errc::permission, "NOPERM client|kill"}));
  EXPECT_EQ(redis.counts().kills, 0u);

  redis.refuse("PUBSUB NUMSUB", "NOPERM pubsub|numsub");
  const auto messages = redis.counts().messages;
  ASSERT_TRUE(process->answered<event::Refused>(pings()));
  EXPECT_EQ(process->last<event::Refused>().verb, core::Verb::ping);
  EXPECT_EQ(redis.counts().messages, messages) << "a transaction is refused as a whole";
  ASSERT_TRUE(process->answered<event::Refused>([](auto& line) { line.count("a"); }));

  redis.refuse("CLIENT LIST", "NOPERM client|list");
  ASSERT_TRUE(process->answered<event::Refused>([](auto& line) { line.list(); }));
  redis.refuse("SUBSCRIBE", "NOPERM subscribe", Errc::protocol);
  ASSERT_TRUE(process->answered<event::Refused>([](auto& line) { line.listen("a-in"); }));
  EXPECT_EQ(process->last<event::Refused>().failure.code, Errc::protocol);
  ASSERT_TRUE(process->answered<event::Refused>([](auto& line) { line.join("b", "b-1", ""); }));
  EXPECT_EQ(process->last<event::Refused>().verb, core::Verb::join);
  EXPECT_EQ(redis.subscribers("b"), 0u);
  ASSERT_TRUE(process->answered<event::Left>([](auto& line) { line.leave(); }));

  redis.refuse("PUBLISH", "NOPERM publish");
  process->say([](auto& line) { line.publish("a", "nobody is told of that refusal"); });
  redis.allow("PUBLISH");
  redis.allow("PUBSUB NUMSUB");
  ASSERT_TRUE(process->answered<event::Pinged>(pings()));
}

TEST_F(InMemoryServer, WithoutSubscribeInMultiJoinedHasNoCount) {
  redis.subscribe_in_multi(false);
  auto process = joined(transport);
  EXPECT_EQ(process->last<event::Joined>().count, std::nullopt);
  EXPECT_EQ(redis.subscribers("a"), 1u);
}

TEST_F(InMemoryServer, AnImpossibleClientNameIsRefused) {
  auto process = joined(transport);
  for (const std::string name : {"with space", "line\n", "\x80", "\x7f"}) {
    ASSERT_TRUE(process->answered<event::Refused>([&](auto& line) { line.join("b", "b-1", name); }));
    EXPECT_EQ(process->last<event::Refused>().failure.code, Errc::usage);
  }
  EXPECT_EQ(redis.subscribers("b"), 0u);
}

TEST_F(InMemoryServer, StrangersAreCountedAndListedAndCanBeKilled) {
  auto process = joined(transport);
  const auto stranger = redis.subscribe_stranger("a");
  const auto namesake = redis.subscribe_stranger("a-lock-b", "a-lock-b-lock-1");
  redis.subscribe_to_everything();
  ASSERT_TRUE(process->answered<event::Pinged>(pings()));
  EXPECT_EQ(process->last<event::Pinged>().count, 2u);
  EXPECT_EQ(process->last<event::Pinged>().receivers, 3u) << "a pattern is no subscriber, and receives";
  ASSERT_TRUE(process->answered<event::Listed>([](auto& line) { line.list(); }));
  const auto listed = process->last<event::Listed>().connections;
  ASSERT_EQ(listed.size(), 4u) << "not the mouth, which subscribes to nothing";
  EXPECT_EQ(listed.at(0).name, "a-lock-1");
  EXPECT_EQ(listed.at(1), (Connection{stranger, ""}));
  EXPECT_EQ(listed.at(2), (Connection{namesake, "a-lock-b-lock-1"}));
  EXPECT_TRUE(redis.kill(stranger));
  EXPECT_FALSE(redis.kill(stranger));
  EXPECT_EQ(redis.subscribers("a"), 1u);
  EXPECT_EQ(redis.counts().kills, 0u) << "the test's own kills are not counted";
}

TEST_F(InMemoryServer, TheCountersAreExact) {
  Process process(transport);
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_EQ(redis.counts(), (in_memory::Counts{}));
  ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("a", "a-1", "a-lock-1"); }));
  EXPECT_EQ(redis.counts(), (in_memory::Counts{.requests = 1, .commands = 6}));
  ASSERT_TRUE(process.answered<event::Pinged>(pings()));
  EXPECT_EQ(redis.counts(), (in_memory::Counts{.requests = 2, .commands = 10, .messages = 1}));
  ASSERT_TRUE(process.answered<event::Left>([](auto& line) { line.leave(); }));
  EXPECT_EQ(redis.counts(), (in_memory::Counts{.requests = 3, .commands = 12, .messages = 1}));
  const auto victim = redis.subscribe_stranger("a");
  ASSERT_TRUE(process.answered<event::Killed>([&](auto& line) { line.kill({victim, 999}); }));
  EXPECT_EQ(redis.counts(), (in_memory::Counts{.requests = 4, .commands = 14, .messages = 1, .kills = 1}));
}

TEST_F(InMemoryServer, AMouthMayKillItselfAndHearsTheAnswer) {
  auto process = joined(transport);
  std::vector<std::int64_t> mouths;
  for (const auto& client : redis.connections()) {
    if (client.channels.empty()) mouths.push_back(client.id);
  }
  ASSERT_EQ(mouths.size(), 1u);
  ASSERT_TRUE(process->answered<event::Killed>([&](auto& line) { line.kill(mouths); }));
  EXPECT_EQ(process->last<event::Killed>().count, 1u);
  EXPECT_EQ(redis.connections().size(), 1u);
}

TEST_F(InMemoryServer, AnEarThatHasLeftIsUsedAgainAndAJoinedOneIsNot) {
  auto process = joined(transport);
  const auto ids = [&] {
    std::vector<std::int64_t> found;
    for (const auto& client : redis.connections()) found.push_back(client.id);
    return found;
  };
  const auto before = ids();
  ASSERT_TRUE(process->answered<event::Left>([](auto& line) { line.leave(); }));
  process->say([](auto& line) { line.close(); });
  ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_EQ(ids(), before);
  ASSERT_TRUE(process->answered<event::Joined>([](auto& line) { line.join("a", "a-1", "n"); }));
  process->say([](auto& line) { line.close(); });
  EXPECT_EQ(redis.subscribers("a"), 0u) << "the server stops counting it at once";
  ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_NE(ids(), before);
}

TEST_F(InMemoryServer, AnEarThatDiedInThePoolIsNotUsed) {
  auto process = joined(transport);
  ASSERT_TRUE(process->answered<event::Left>([](auto& line) { line.leave(); }));
  process->say([](auto& line) { line.close(); });
  redis.restart();
  ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_THAT(process->all<event::Lost>(), IsEmpty());
}

TEST_F(InMemoryServer, AConnectionEndsWithItsTransport) {
  joined(transport);
  EXPECT_EQ(redis.connections().size(), 1u) << "the mouth is kept for the next line";
  transport.reset();
  EXPECT_THAT(redis.connections(), IsEmpty());
}

TEST_F(InMemoryServer, ALineMayOutliveItsTransport) {
  Recorder recorder;
  auto& mutex = transport->mutex();
  std::unique_lock lock(mutex);
  {
    InMemoryTransport::Line line(transport, recorder);
    lock.unlock();
    transport.reset();
    lock.lock();
    line.open();
    line.wait(lock, 1s, {});
    EXPECT_THAT(recorder.order, ElementsAre("Opened"));
  }
  lock.unlock();
  EXPECT_THAT(redis.connections(), IsEmpty());
}

TEST(InMemoryRedis, ATransportMayOutliveIt) {
  auto redis = std::make_unique<InMemoryRedis>(ManualClock{});
  Process process(redis->connect());
  redis.reset();
  EXPECT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
}

TEST(InMemoryRedis, ATransportWithoutAServerSaysWhatToDo) {
  try {
    (void)InMemoryTransport::make({});
    FAIL();
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::usage);
    EXPECT_THAT(error.what(), HasSubstr(".server = &redis"));
  }
  InMemoryRedis redis;
  EXPECT_NE(InMemoryTransport::make({.server = &redis}), nullptr);
}

}  // namespace
}  // namespace sublock::testing
