// SPDX-License-Identifier: MIT

// The faults of the in-memory world, each by its name, and the server's own ways. In virtual time: a
// wait that hears nothing costs nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/transport/in_memory.hpp>
#include <support/recorder.hpp>

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

using Process = Caller<InMemoryTransport>;

class InMemoryFaults : public ::testing::Test {
 protected:
  std::unique_ptr<Process> joined(const std::shared_ptr<InMemoryTransport>& on, const std::string& id = "1") {
    auto process = std::make_unique<Process>(on);
    EXPECT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
    EXPECT_TRUE(
        process->answered<event::Joined>([&](auto& line) { line.join("a", "a-" + id, "a-lock-" + id); }));
    return process;
  }

  /// What a line hears within a second, beyond what it has heard already.
  static std::vector<std::string> hears_next(Process& process) {
    const std::size_t before = process.order().size();
    process.wait(1s);
    auto order = process.order();
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(before));
    return order;
  }

  static auto pings() {
    return [](auto& line) { line.ping("a", "a-p", "ping"); };
  }

  ManualClock clock;
  InMemoryRedis redis{clock};
  std::shared_ptr<InMemoryTransport> transport = redis.connect();
};

TEST_F(InMemoryFaults, PartitionStopsBytesBothWaysAndTheServerGoesOnCounting) {
  auto process = joined(transport);
  redis.partition(*transport);
  EXPECT_EQ(redis.publish("a", "one"), 1u);
  process->say(pings());
  EXPECT_EQ(redis.publish("a", "two"), 1u);
  EXPECT_THAT(hears_next(*process), IsEmpty());
  EXPECT_EQ(redis.subscribers("a"), 1u);
  EXPECT_EQ(redis.counts().requests, 1u) << "the join alone has arrived";

  redis.heal(*transport);
  const auto heard = hears_next(*process);
  EXPECT_THAT(heard, ::testing::UnorderedElementsAre("Message one", "Message two", "Message ping", "Pinged"));
  EXPECT_THAT(process->all<Text>(), ElementsAre(Text{"a", "one"}, Text{"a", "two"}, Text{"a", "ping"}));
}

TEST_F(InMemoryFaults, AKillBehindAPartitionIsLearntWhenItHeals) {
  auto process = joined(transport);
  redis.partition(*transport);
  redis.drop(*transport);
  EXPECT_EQ(redis.subscribers("a"), 0u);
  EXPECT_THAT(hears_next(*process), IsEmpty());
  redis.heal(*transport);
  EXPECT_THAT(hears_next(*process), ElementsAre("Lost"));
}

TEST_F(InMemoryFaults, ACloseBehindAPartitionIsLearntWhenItHeals) {
  auto process = joined(transport);
  redis.partition(*transport);
  process->say([](auto& line) { line.close(); });
  EXPECT_EQ(redis.subscribers("a"), 1u);
  redis.heal(*transport);
  EXPECT_EQ(redis.subscribers("a"), 0u);
}

TEST_F(InMemoryFaults, HoldQueuesDeliveriesOnly) {
  auto process = joined(transport);
  redis.hold(*transport);
  process->say(pings());
  redis.publish("a", "after");
  EXPECT_EQ(redis.counts().requests, 2u);
  EXPECT_THAT(hears_next(*process), IsEmpty());
  redis.release(*transport);
  EXPECT_THAT(hears_next(*process),
              ::testing::UnorderedElementsAre("Message ping", "Message after", "Pinged"));
  EXPECT_THAT(process->all<Text>(), ElementsAre(Text{"a", "ping"}, Text{"a", "after"}));
}

TEST_F(InMemoryFaults, AWedgedProcessNeitherReadsNorWritesUntilItResumes) {
  auto process = joined(transport);
  redis.wedge(*transport);
  process->say(pings());
  redis.publish("a", "unread");
  EXPECT_THAT(hears_next(*process), IsEmpty());
  EXPECT_EQ(redis.counts().requests, 1u);
  redis.resume(*transport);
  EXPECT_EQ(redis.counts().requests, 2u);
  EXPECT_THAT(process->eventually([&] { return process->all<Text>().size() == 2; }), ::testing::IsTrue());
  EXPECT_THAT(process->all<Text>(), ElementsAre(Text{"a", "unread"}, Text{"a", "ping"}));
}

TEST_F(InMemoryFaults, WhatAProcessWroteBeforeItWasWedgedArrives) {
  auto process = joined(transport);
  redis.delay(*transport, 10ms);
  process->say(pings());
  redis.wedge(*transport);
  process->say(pings());
  process->wait(1s);
  EXPECT_EQ(redis.counts().requests, 2u);
}

TEST_F(InMemoryFaults, AProcessKilledWhileWedgedWritesNothingMore) {
  auto process = joined(transport);
  redis.wedge(*transport);
  process->say(pings());
  redis.crash(*transport);
  EXPECT_EQ(redis.counts().requests, 1u);
  EXPECT_THAT(redis.connections(), IsEmpty());
}

TEST_F(InMemoryFaults, CrashClosesEverythingAndSilencesTheListener) {
  auto process = joined(transport);
  redis.publish("a", "on its way");
  const auto before = process->order();
  redis.crash(*transport);
  EXPECT_THAT(redis.connections(), IsEmpty());
  process->say([](auto& line) {
    line.ping("a", "a-p", "ping");
    line.leave();
    line.close();
    line.open();
    line.list();
  });
  EXPECT_THAT(hears_next(*process), IsEmpty());
  EXPECT_EQ(process->order(), before);
  EXPECT_THAT(redis.connections(), IsEmpty());
}

TEST_F(InMemoryFaults, TheServerLearnsOfACrashBehindAPartitionWhenItHeals) {
  auto process = joined(transport);
  redis.partition(*transport);
  redis.crash(*transport);
  EXPECT_EQ(redis.subscribers("a"), 1u);
  redis.heal(*transport);
  EXPECT_EQ(redis.subscribers("a"), 0u);
}

TEST_F(InMemoryFaults, DelayIsOneWay) {
  auto process = joined(transport);
  redis.delay(*transport, 30ms);
  const Instant start = clock.now();
  ASSERT_TRUE(process->answered<event::Pinged>(pings()));
  EXPECT_EQ(clock.now() - start, 60ms);
  redis.heal(*transport);
  ASSERT_TRUE(process->answered<event::Pinged>(pings()));
  EXPECT_EQ(clock.now() - start, 60ms);
}

TEST_F(InMemoryFaults, AShorterDelayOvertakesNothing) {
  auto process = joined(transport);
  redis.delay(*transport, 30ms);
  redis.publish("a", "slow");
  redis.delay(*transport, 0ms);
  redis.publish("a", "fast");
  EXPECT_THAT(hears_next(*process), ElementsAre("Message slow", "Message fast"));
}

TEST_F(InMemoryFaults, DropLosesTheLinesAfterWhatWasSent) {
  auto process = joined(transport);
  auto other = joined(redis.connect(), "2");
  redis.publish("a", "last words");
  redis.drop(*transport);
  EXPECT_EQ(redis.subscribers("a"), 1u);
  EXPECT_THAT(hears_next(*process), ElementsAre("Message last words", "Lost"));
  EXPECT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_THAT(other->all<event::Lost>(), IsEmpty());
}

TEST_F(InMemoryFaults, APingThatMeetsABrokenMouthIsRefused) {
  auto process = joined(transport);
  redis.hold(*transport);
  process->say(pings());
  redis.drop(*transport);
  process->say([](auto& line) { line.count("a"); });
  redis.release(*transport);
  EXPECT_TRUE(process->hears<event::Lost>());
  // Of the lost line nothing more comes, not even the refusal; a line that keeps its ear hears it.
  auto keeper = joined(transport, "2");
  redis.hold(*transport);
  keeper->say([](auto& line) {
    line.ping("a", "a-p", "ping");
    line.count("a");
  });
  for (const auto& client : redis.connections()) {
    if (client.channels.empty()) redis.kill(client.id);
  }
  keeper->say([](auto& line) { line.list(); });
  redis.release(*transport);
  EXPECT_TRUE(keeper->hears<event::Refused>());
  // The server had answered the first two before it closed.
  EXPECT_EQ(keeper->last<event::Refused>().verb, core::Verb::list);
  EXPECT_EQ(keeper->last<event::Refused>().failure.code, Errc::connect);
  EXPECT_TRUE(keeper->answered<event::Counted>([](auto& line) { line.count("a"); }));
}

TEST_F(InMemoryFaults, RestartClosesEverythingAndNeverReusesAnId) {
  auto process = joined(transport);
  const auto before = redis.connections();
  redis.restart();
  EXPECT_THAT(redis.connections(), IsEmpty());
  ASSERT_TRUE(process->hears<event::Lost>());
  ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  for (const auto& old : before) {
    for (const auto& now : redis.connections()) EXPECT_LT(old.id, now.id);
  }
}

TEST_F(InMemoryFaults, AStoppedServerRefusesConnections) {
  auto process = joined(transport);
  redis.stop();
  EXPECT_TRUE(process->answered<event::Lost>([](auto&) {}));
  ASSERT_TRUE(process->answered<event::Lost>([](auto& line) { line.open(); }));
  EXPECT_EQ(process->last<event::Lost>().failure.code, Errc::connect);
  EXPECT_THAT(process->last<event::Lost>().failure.text, HasSubstr("refused"));
  EXPECT_THROW(redis.subscribe_stranger("a"), std::logic_error);
  redis.start();
  EXPECT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
}

TEST_F(InMemoryFaults, RefuseRefusesEveryVerbThatNeedsTheCommand) {
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

TEST_F(InMemoryFaults, WithoutSubscribeInMultiJoinedHasNoCount) {
  redis.subscribe_in_multi(false);
  auto process = joined(transport);
  EXPECT_EQ(process->last<event::Joined>().count, std::nullopt);
  EXPECT_EQ(redis.subscribers("a"), 1u);
}

TEST_F(InMemoryFaults, AnImpossibleClientNameIsRefused) {
  auto process = joined(transport);
  for (const std::string name : {"with space", "line\n", "\x80", "\x7f"}) {
    ASSERT_TRUE(process->answered<event::Refused>([&](auto& line) { line.join("b", "b-1", name); }));
    EXPECT_EQ(process->last<event::Refused>().failure.code, Errc::usage);
  }
  EXPECT_EQ(redis.subscribers("b"), 0u);
}

TEST_F(InMemoryFaults, StrangersAreCountedAndListedAndCanBeKilled) {
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

TEST_F(InMemoryFaults, TheCountersAreExact) {
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

TEST_F(InMemoryFaults, AMouthMayKillItselfAndHearsTheAnswer) {
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

TEST_F(InMemoryFaults, AnEarThatHasLeftIsUsedAgainAndAJoinedOneIsNot) {
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

TEST_F(InMemoryFaults, AnEarThatDiedInThePoolIsNotUsed) {
  auto process = joined(transport);
  ASSERT_TRUE(process->answered<event::Left>([](auto& line) { line.leave(); }));
  process->say([](auto& line) { line.close(); });
  redis.restart();
  ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_THAT(process->all<event::Lost>(), IsEmpty());
}

TEST_F(InMemoryFaults, AConnectionEndsWithItsTransport) {
  joined(transport);
  EXPECT_EQ(redis.connections().size(), 1u) << "the mouth is kept for the next line";
  transport.reset();
  EXPECT_THAT(redis.connections(), IsEmpty());
}

TEST_F(InMemoryFaults, ALineMayOutliveItsTransport) {
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
