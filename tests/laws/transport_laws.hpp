// SPDX-License-Identifier: MIT
#pragma once

// The laws of TransportPolicy that no concept can state: what is heard, by whom, how often and in which
// order. The world they need is in transport_fixture.hpp. How lines open, close, break and wait is in
// line_laws.hpp; instantiate both suites.
//
// Nothing here takes time to be virtual, or a delivery to happen inside a call.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <laws/transport_fixture.hpp>
#include <sublock/policies.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::testing {

template <class World>
class TransportLaws : public TransportFixture<World> {};

TYPED_TEST_SUITE_P(TransportLaws);

TYPED_TEST_P(TransportLaws, NothingIsToldInsideAVerb) {
  auto process = this->opened();
  process->say(
      [&](auto& line) { line.join(this->channel, this->response("p"), this->client_name("a"), {}); });
  EXPECT_TRUE(process->template hears<event::Joined>());
  auto transport = this->world.connect();
  Recorder recorder;
  const std::lock_guard lock(transport->mutex());
  typename TypeParam::Transport::Line line(transport, recorder);
  line.open(this->channel);
  EXPECT_TRUE(recorder.order.empty());
}

TYPED_TEST_P(TransportLaws, TheCountAtJoinHasOneselfInIt) {
  auto process = this->joined("a");
  const auto joined = process->template last<event::Joined>();
  EXPECT_EQ(joined.count.value_or(1u), 1u);
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(TransportLaws, WhoeverJoinsSecondCountsTwo) {
  auto first = this->joined("a");
  auto second = this->joined("b");
  const auto joined = second->template last<event::Joined>();
  EXPECT_EQ(joined.count.value_or(2u), 2u);
  EXPECT_EQ(this->world.subscribers(this->channel), 2u);
}

TYPED_TEST_P(TransportLaws, WhatIsPublishedAfterJoinedArrives) {
  auto process = this->joined("a");
  EXPECT_EQ(this->world.publish(this->channel, "to the lock"), 1u);
  EXPECT_EQ(this->world.publish(this->response("a"), "to the prober"), 1u);
  ASSERT_TRUE(process->template hears<Text>(2));
  EXPECT_EQ(process->template all<Text>(),
            (std::vector<Text>{{this->channel, "to the lock"}, {this->response("a"), "to the prober"}}));
}

TYPED_TEST_P(TransportLaws, JoinedComesBeforeAndLeftAfterEveryMessage) {
  auto process = this->opened();
  process->say([&](auto& line) {
    line.join(this->channel, this->response("p"), this->client_name("a"), {});
    line.leave();
  });
  for (int i = 0; i < 50; ++i) this->world.publish(this->channel, std::to_string(i));
  ASSERT_TRUE(process->template hears<event::Left>());
  // A second stay on the same ear: whatever was late would come before its Joined.
  ASSERT_TRUE(this->join(*process, "q"));
  const auto order = process->order();
  EXPECT_EQ(order.at(1), "Joined");
  EXPECT_EQ(order.at(order.size() - 2), "Left");
  EXPECT_EQ(order.back(), "Joined");
}

TYPED_TEST_P(TransportLaws, NothingIsHeardAfterLeft) {
  auto process = this->joined("a");
  ASSERT_TRUE(this->leave(*process));
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  EXPECT_EQ(this->world.publish(this->channel, "too late"), 0u);
  EXPECT_EQ(this->world.publish(this->response("a"), "too late"), 0u);
  ASSERT_TRUE(this->join(*process, "b"));
  EXPECT_TRUE(process->template all<Text>().empty());
}

TYPED_TEST_P(TransportLaws, APingIsHeardByEverySubscriberThePingerIncluded) {
  auto pinger = this->joined("a");
  auto other = this->joined("b");
  ASSERT_TRUE(pinger->template answered<event::Pinged>(
      [&](auto& line) { line.ping(this->channel, this->response("a"), "who is there?"); }));
  const auto pinged = pinger->template last<event::Pinged>();
  EXPECT_EQ(pinged.response_channel, this->response("a"));
  EXPECT_EQ(pinged.count, 2u);
  EXPECT_EQ(pinged.receivers, 2u);
  EXPECT_TRUE(pinger->template hears<Text>());
  EXPECT_TRUE(other->template hears<Text>());
  EXPECT_EQ(pinger->template last<Text>(), (Text{this->channel, "who is there?"}));
  EXPECT_EQ(other->template last<Text>(), (Text{this->channel, "who is there?"}));
}

TYPED_TEST_P(TransportLaws, APingCountsSubscribersOfTheLockOnly) {
  auto holder = this->joined("a");
  auto waiter = this->opened();
  ASSERT_TRUE(
      waiter->template answered<event::Listening>([&](auto& line) { line.listen(this->response("in")); }));
  ASSERT_TRUE(waiter->template answered<event::Pinged>(
      [&](auto& line) { line.ping(this->channel, this->response("in"), "still held?"); }));
  EXPECT_EQ(waiter->template last<event::Pinged>().count, 1u);
  EXPECT_EQ(waiter->template last<event::Pinged>().receivers, 1u);
  EXPECT_TRUE(waiter->template all<Text>().empty());
}

TYPED_TEST_P(TransportLaws, WhoAsksHearsTheAnswersAndIsNotCounted) {
  auto holder = this->joined("a");
  auto asker = this->opened();
  const auto ask = [&](auto& line) { line.ask(this->channel, this->response("in"), "who is there?"); };
  if constexpr (requires { TypeParam::refuses_to_ask; }) {
    // Then the two steps do what the one would.
    ASSERT_TRUE(asker->template answered<event::Refused>(ask));
    EXPECT_EQ(asker->template last<event::Refused>().verb, core::Verb::ask);
    ASSERT_TRUE(
        asker->template answered<event::Listening>([&](auto& line) { line.listen(this->response("in")); }));
    ASSERT_TRUE(asker->template answered<event::Pinged>(
        [&](auto& line) { line.ping(this->channel, this->response("in"), "who is there?"); }));
  } else {
    ASSERT_TRUE(asker->template answered<event::Pinged>(ask));
  }
  const auto pinged = asker->template last<event::Pinged>();
  EXPECT_EQ(pinged.response_channel, this->response("in"));
  EXPECT_EQ(pinged.count, 1u);
  EXPECT_EQ(pinged.receivers, 1u);
  ASSERT_TRUE(holder->template hears<Text>());
  EXPECT_EQ(holder->template last<Text>(), (Text{this->channel, "who is there?"}));
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  this->world.publish(this->response("in"), "I am");
  ASSERT_TRUE(asker->template hears<Text>());
  EXPECT_EQ(asker->template last<Text>(), (Text{this->response("in"), "I am"}));
}

TYPED_TEST_P(TransportLaws, EveryPingIsAnsweredInOrder) {
  auto process = this->joined("a");
  process->say([&](auto& line) {
    for (int i = 0; i < 20; ++i) line.ping(this->channel, this->response(std::to_string(i)), "ping");
  });
  ASSERT_TRUE(process->template hears<event::Pinged>(20));
  const auto pinged = process->template all<event::Pinged>();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(pinged.at(i).response_channel, this->response(std::to_string(i)));
  }
}

TYPED_TEST_P(TransportLaws, CountCountsWithoutBeingCounted) {
  auto process = this->opened();
  ASSERT_TRUE(process->template answered<event::Counted>([&](auto& line) { line.count(this->channel); }));
  EXPECT_EQ(process->template last<event::Counted>().count, 0u);
  auto other = this->joined("a");
  ASSERT_TRUE(process->template answered<event::Counted>([&](auto& line) { line.count(this->channel); }));
  EXPECT_EQ(process->template last<event::Counted>().count, 1u);
}

TYPED_TEST_P(TransportLaws, ListenReplacesTheResponseChannelAndNothingElse) {
  auto process = this->joined("old");
  ASSERT_TRUE(
      process->template answered<event::Listening>([&](auto& line) { line.listen(this->response("new")); }));
  EXPECT_EQ(process->template last<event::Listening>().channel, this->response("new"));
  EXPECT_EQ(this->world.subscribers(this->response("old")), 0u);
  EXPECT_EQ(this->world.subscribers(this->response("new")), 1u);
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  this->world.publish(this->response("new"), "heard");
  ASSERT_TRUE(process->template hears<Text>());
  EXPECT_EQ(process->template last<Text>(), (Text{this->response("new"), "heard"}));
}

TYPED_TEST_P(TransportLaws, JoinReplacesTheInbox) {
  auto process = this->opened();
  ASSERT_TRUE(
      process->template answered<event::Listening>([&](auto& line) { line.listen(this->response("in")); }));
  EXPECT_EQ(this->world.subscribers(this->response("in")), 1u);
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  ASSERT_TRUE(this->join(*process, "a"));
  EXPECT_EQ(this->world.subscribers(this->response("in")), 0u);
  EXPECT_EQ(this->world.subscribers(this->response("a")), 1u);
}

TYPED_TEST_P(TransportLaws, PublishKeepsTheOrderOfTheCalls) {
  auto sender = this->opened();
  auto receiver = this->joined("a");
  sender->say([&](auto& line) {
    for (int i = 0; i < 100; ++i) line.publish(this->channel, std::to_string(i));
  });
  ASSERT_TRUE(sender->template answered<event::Pinged>(
      [&](auto& line) { line.ping(this->channel, this->response("p"), "last"); }));
  ASSERT_TRUE(receiver->template hears<Text>(101));
  const auto texts = receiver->template all<Text>();
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(texts.at(i).payload, std::to_string(i));
  EXPECT_EQ(texts.at(100).payload, "last");
}

TYPED_TEST_P(TransportLaws, PublishToNobodyIsNoError) {
  auto process = this->opened();
  process->say([&](auto& line) { line.publish(this->channel, "hello?"); });
  ASSERT_TRUE(process->template answered<event::Counted>([&](auto& line) { line.count(this->channel); }));
  EXPECT_THAT(process->order(), ::testing::ElementsAre("Opened", "Counted"));
}

TYPED_TEST_P(TransportLaws, ListShowsTheNameOfWhoeverJoinedExactly) {
  auto looker = this->opened();
  auto a = this->joined("a");
  auto b = this->joined("b");
  const auto listed = this->named(*looker);
  ASSERT_EQ(listed.size(), 2u);
  if constexpr (!requires { TypeParam::shares_ears; }) {
    EXPECT_EQ(listed[0].name, this->client_name("a"));
    EXPECT_EQ(listed[1].name, this->client_name("b"));
  }
  EXPECT_GT(listed[0].id, 0);
  EXPECT_NE(listed[0].id, listed[1].id);
}

TYPED_TEST_P(TransportLaws, TheNameIsGoneAfterLeft) {
  auto looker = this->opened();
  auto process = this->joined("a");
  ASSERT_TRUE(this->leave(*process));
  // Listening, so that the server would list it under whatever name it has now.
  ASSERT_TRUE(
      process->template answered<event::Listening>([&](auto& line) { line.listen(this->response("in")); }));
  EXPECT_TRUE(this->named(*looker).empty());
}

TYPED_TEST_P(TransportLaws, KillEndsTheOtherLine) {
  auto killer = this->opened();
  auto victim = this->joined("v");
  const auto listed = this->named(*killer);
  ASSERT_EQ(listed.size(), 1u);
  ASSERT_TRUE(killer->template answered<event::Killed>([&](auto& line) { line.kill({listed[0].id}); }));
  EXPECT_EQ(killer->template last<event::Killed>().count, 1u);
  EXPECT_TRUE(victim->template hears<event::Lost>());
  EXPECT_TRUE(killer->eventually([&] { return this->world.subscribers(this->channel) == 0; }));
}

TYPED_TEST_P(TransportLaws, KillingSomebodyWhoIsGoneIsNoError) {
  auto killer = this->opened();
  auto victim = this->joined("v");
  const auto listed = this->named(*killer);
  ASSERT_EQ(listed.size(), 1u);
  this->world.kill(listed[0].id);
  ASSERT_TRUE(victim->template hears<event::Lost>());
  ASSERT_TRUE(killer->template answered<event::Killed>([&](auto& line) {
    line.kill({listed[0].id, 9'000'000'000'000});
  }));
  EXPECT_EQ(killer->template last<event::Killed>().count, 0u);
  ASSERT_TRUE(killer->template answered<event::Killed>([](auto& line) { line.kill({}); }));
  EXPECT_TRUE(killer->template all<event::Refused>().empty());
}

TYPED_TEST_P(TransportLaws, ChannelsAndPayloadsAreBytes) {
  using namespace std::string_literals;
  const std::string hostile = "\0\r\n\x80\xff%s%b% \"*?[a]{}$5\r\nPING\r\n"s;
  this->channel += hostile;
  auto process = this->opened();
  ASSERT_TRUE(process->template answered<event::Joined>(
      [&](auto& line) { line.join(this->channel, this->response("p"), "plain", {}); }));
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  ASSERT_TRUE(process->template answered<event::Pinged>(
      [&](auto& line) { line.ping(this->channel, this->response("p"), hostile); }));
  EXPECT_EQ(process->template last<event::Pinged>().response_channel, this->response("p"));
  EXPECT_EQ(process->template last<event::Pinged>().count, 1u);
  ASSERT_TRUE(process->template hears<Text>(1));
  process->say([&](auto& line) { line.publish(this->response("p"), ""); });
  ASSERT_TRUE(process->template hears<Text>(2));
  EXPECT_EQ(process->template all<Text>(),
            (std::vector<Text>{{this->channel, hostile}, {this->response("p"), ""}}));
}

TYPED_TEST_P(TransportLaws, ChannelNamesAreNoPatterns) {
  const std::string plain = this->channel;
  this->channel += '*';
  auto process = this->joined("a");
  EXPECT_EQ(this->world.publish(plain + "x", "not for a pattern"), 0u);
  EXPECT_EQ(this->world.publish(this->channel, "by name"), 1u);
  ASSERT_TRUE(process->template hears<Text>());
  EXPECT_EQ(process->template last<Text>().payload, "by name");
}

TYPED_TEST_P(TransportLaws, AMegabyteArrivesWhole) {
  std::string payload(1 << 20, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 31 + i / 256);
  auto sender = this->opened();
  auto receiver = this->joined("a");
  sender->say([&](auto& line) { line.publish(this->channel, payload); });
  ASSERT_TRUE(receiver->template hears<Text>());
  EXPECT_TRUE(receiver->template last<Text>().payload == payload);
}

TYPED_TEST_P(TransportLaws, ManyLinesShareOneTransport) {
  const auto transport = this->world.connect();
  std::vector<std::unique_ptr<Caller<typename TypeParam::Transport>>> callers;
  for (std::size_t i = 0; i < 30; ++i) {
    callers.push_back(this->opened(transport));
    ASSERT_TRUE(this->join(*callers.back(), std::to_string(i)));
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    callers[i]->say(
        [&](auto& line) { line.ping(this->channel, this->response(std::to_string(i)), std::to_string(i)); });
  }
  for (std::size_t i = 0; i < 30; ++i) {
    this->world.publish(this->response(std::to_string(i)), "only you");
    ASSERT_TRUE(callers[i]->template hears<event::Pinged>());
    EXPECT_EQ(callers[i]->template last<event::Pinged>().response_channel, this->response(std::to_string(i)));
    ASSERT_TRUE(callers[i]->template hears<Text>(31));
    const auto texts = callers[i]->template all<Text>();
    EXPECT_EQ(std::ranges::count(texts, "only you", &Text::payload), 1);
    EXPECT_EQ(std::ranges::count(texts, this->channel, &Text::channel), 30);
  }
}

REGISTER_TYPED_TEST_SUITE_P(
    TransportLaws, NothingIsToldInsideAVerb, TheCountAtJoinHasOneselfInIt, WhoeverJoinsSecondCountsTwo,
    WhatIsPublishedAfterJoinedArrives, JoinedComesBeforeAndLeftAfterEveryMessage, NothingIsHeardAfterLeft,
    APingIsHeardByEverySubscriberThePingerIncluded, APingCountsSubscribersOfTheLockOnly,
    WhoAsksHearsTheAnswersAndIsNotCounted, EveryPingIsAnsweredInOrder, CountCountsWithoutBeingCounted,
    ListenReplacesTheResponseChannelAndNothingElse, JoinReplacesTheInbox, PublishKeepsTheOrderOfTheCalls,
    PublishToNobodyIsNoError, ListShowsTheNameOfWhoeverJoinedExactly, TheNameIsGoneAfterLeft,
    KillEndsTheOtherLine, KillingSomebodyWhoIsGoneIsNoError, ChannelsAndPayloadsAreBytes,
    ChannelNamesAreNoPatterns, AMegabyteArrivesWhole, ManyLinesShareOneTransport);

}  // namespace sublock::testing
