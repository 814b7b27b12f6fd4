// SPDX-License-Identifier: MIT

// The faults of the in-memory world, each by its name.

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

class InMemoryFaults : public InMemoryFixture {};

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

}  // namespace
}  // namespace sublock::testing
