// SPDX-License-Identifier: MIT
#pragma once

// The laws of LineOf about its life: open, close, loss, reopening, and waiting. Needs the same world as
// transport_laws.hpp, where what is heard in between stands.

#include <laws/transport_laws.hpp>

#include <chrono>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {

template <class World>
class LineLaws : public TransportFixture<World> {
 protected:
  /// Every verb there is.
  template <class Line>
  void every_verb(Line& line) {
    line.join(this->channel, this->response("p"), this->client_name("a"), {});
    line.listen(this->response("q"));
    line.ping(this->channel, this->response("p"), "ping");
    line.ask(this->channel, this->response("p"), "ping");
    line.publish(this->channel, "text");
    line.count(this->channel);
    line.list();
    line.kill({1, 2, 3});
    line.leave();
  }

  /// Opened again, joined again, and told nothing but that since `before` events.
  void is_as_new(Caller<typename World::Transport>& process, std::size_t before) {
    ASSERT_TRUE(process.template answered<event::Opened>([this](auto& line) { line.open(this->channel); }));
    ASSERT_TRUE(this->join(process, "again"));
    auto order = process.order();
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(before));
    EXPECT_THAT(order, ::testing::ElementsAre("Opened", "Joined"));
  }
};

TYPED_TEST_SUITE_P(LineLaws);

TYPED_TEST_P(LineLaws, AConnectionCostsNothingUntilALineOpens) {
  const auto transport = this->world.connect();
  ASSERT_NE(transport, nullptr);
  EXPECT_FALSE(transport->foreign());
  EXPECT_EQ(&transport->mutex(), &transport->mutex());
}

TYPED_TEST_P(LineLaws, VerbsOnALineThatNeverOpenedDoNothing) {
  Caller process(this->world.connect());
  process.say([&](auto& line) {
    this->every_verb(line);
    line.close();
  });
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  this->is_as_new(process, 0);
}

TYPED_TEST_P(LineLaws, VerbsOnAClosedLineDoNothing) {
  auto process = this->joined("a");
  const std::size_t before = process->order().size();
  process->say([&](auto& line) {
    line.close();
    this->every_verb(line);
    line.close();
  });
  EXPECT_TRUE(process->eventually([&] { return this->world.subscribers(this->channel) == 0; }));
  this->is_as_new(*process, before);
}

TYPED_TEST_P(LineLaws, CloseOfAJoinedLineIsSoonNotCounted) {
  auto looker = this->opened();
  auto process = this->joined("a");
  ASSERT_EQ(this->world.subscribers(this->channel), 1u);
  process->say([](auto& line) { line.close(); });
  EXPECT_TRUE(looker->eventually([&] { return this->world.subscribers(this->channel) == 0; }));
  EXPECT_TRUE(looker->eventually([&] { return this->world.subscribers(this->response("a")) == 0; }));
}

TYPED_TEST_P(LineLaws, DestroyingALineClosesIt) {
  auto looker = this->opened();
  {
    auto process = this->joined("a");
    // On its way when the listener dies, and must not find it.
    this->world.publish(this->channel, "to nobody");
    process->say([&](auto& line) { line.count(this->channel); });
  }
  EXPECT_TRUE(looker->eventually([&] { return this->world.subscribers(this->channel) == 0; }));
}

TYPED_TEST_P(LineLaws, WhatWasOnItsWayAtCloseIsNeverHeard) {
  auto process = this->joined("a");
  const std::size_t before = process->order().size();
  process->say([&](auto& line) {
    line.publish(this->channel, "before");
    line.ping(this->channel, this->response("a"), "before");
    line.listen(this->response("b"));
    line.count(this->channel);
    line.list();
    line.close();
    line.open(this->channel);
  });
  ASSERT_TRUE(process->template hears<event::Opened>(2));
  ASSERT_TRUE(this->join(*process, "again"));
  ASSERT_TRUE(process->template answered<event::Counted>([&](auto& line) { line.count(this->channel); }));
  auto order = process->order();
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(order, ::testing::ElementsAre("Opened", "Joined", "Counted"));
}

TYPED_TEST_P(LineLaws, ARosterIsJoinedCountedAndLeftWithTheChannel) {
  const std::string readers = this->response("readers");
  const std::string writers = this->response("writers");
  auto writer = this->opened();
  ASSERT_TRUE(writer->template answered<event::Joined>([&](auto& line) {
    line.join(this->channel, this->response("w"), this->client_name("w"), {writers, {}});
  }));
  EXPECT_EQ(writer->template last<event::Joined>().own_kind, 0u) << "counted only where both are named";
  auto reader = this->opened();
  ASSERT_TRUE(reader->template answered<event::Joined>([&](auto& line) {
    line.join(this->channel, this->response("r"), this->client_name("r"), {readers, writers});
  }));
  const auto joined = reader->template last<event::Joined>();
  EXPECT_EQ(joined.count.value_or(2u), 2u);
  EXPECT_EQ(joined.own_kind, joined.count ? 1u : 0u);
  EXPECT_EQ(joined.other_kind, joined.count ? 1u : 0u);
  ASSERT_TRUE(this->leave(*reader));
  ASSERT_TRUE(this->leave(*writer));
  EXPECT_EQ(this->world.subscribers(readers), 0u);
  EXPECT_EQ(this->world.subscribers(writers), 0u);
}

TYPED_TEST_P(LineLaws, ALineThatHasLeftCanCloseAndOpenForEver) {
  auto process = this->opened();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(this->join(*process, "a"));
    EXPECT_EQ(process->template last<event::Joined>().count.value_or(1u), 1u);
    ASSERT_TRUE(this->leave(*process));
    process->say([](auto& line) { line.close(); });
    ASSERT_TRUE(process->template answered<event::Opened>([this](auto& line) { line.open(this->channel); }));
  }
}

TYPED_TEST_P(LineLaws, AnEarLeftByOneLineIsSilentForTheNext) {
  const auto transport = this->world.connect();
  auto first = this->opened(transport);
  ASSERT_TRUE(this->join(*first, "first"));
  ASSERT_TRUE(this->leave(*first));
  first->say([](auto& line) { line.close(); });
  const std::size_t before = first->order().size();

  auto second = this->opened(transport);
  ASSERT_TRUE(this->join(*second, "second"));
  this->world.publish(this->response("first"), "to the first");
  this->world.publish(this->channel, "to the second");
  ASSERT_TRUE(second->template hears<Text>());
  EXPECT_THAT(second->order(), ::testing::ElementsAre("Opened", "Joined", "Message to the second"));
  EXPECT_EQ(first->order().size(), before);
}

TYPED_TEST_P(LineLaws, LostIsToldUnaskedAndIsFinal) {
  auto process = this->joined("a");
  this->world.close_everything();
  ASSERT_TRUE(process->template hears<event::Lost>());
  EXPECT_EQ(process->template last<event::Lost>().failure.code, Errc::connect);
  EXPECT_FALSE(process->template last<event::Lost>().failure.text.empty());
  const std::size_t before = process->order().size();
  process->say([&](auto& line) { this->every_verb(line); });
  EXPECT_EQ(process->order().at(before - 1), "Lost");
  this->is_as_new(*process, before);
}

TYPED_TEST_P(LineLaws, EveryLineOfAConnectionHearsItsOwnLoss) {
  const auto transport = this->world.connect();
  std::vector<std::unique_ptr<Caller<typename TypeParam::Transport>>> callers;
  for (int i = 0; i < 5; ++i) {
    callers.push_back(this->opened(transport));
    ASSERT_TRUE(this->join(*callers.back(), std::to_string(i)));
  }
  this->world.close_everything();
  for (auto& caller : callers) {
    ASSERT_TRUE(caller->template hears<event::Lost>());
    EXPECT_EQ(caller->template all<event::Lost>().size(), 1u);
  }
}

TYPED_TEST_P(LineLaws, ABrokenMouthIsReplacedAndTheEarStays) {
  auto process = this->joined("a");
  this->world.close_mouths();
  // Whatever meets the broken mouth is refused, what comes later isn't.
  const auto answers = [&] {
    return process->template all<event::Counted>().size() + process->template all<event::Refused>().size();
  };
  for (int i = 0; i < 50 && process->template all<event::Counted>().empty(); ++i) {
    const std::size_t before = answers();
    process->say([&](auto& line) { line.count(this->channel); });
    ASSERT_TRUE(process->eventually([&] { return answers() > before; }));
  }
  ASSERT_EQ(process->template all<event::Counted>().size(), 1u);
  EXPECT_EQ(process->template last<event::Counted>().count, 1u);
  for (const auto& refused : process->template all<event::Refused>()) {
    EXPECT_EQ(refused.verb, core::Verb::count);
    EXPECT_EQ(refused.failure.code, Errc::connect);
  }
  EXPECT_TRUE(process->template all<event::Lost>().empty());
}

TYPED_TEST_P(LineLaws, WaitReturnsAtItsBound) {
  using namespace std::chrono_literals;
  auto process = this->opened();
  const auto start = std::chrono::steady_clock::now();
  process->wait(50ms);
  process->wait(0ns);
  process->wait(-1s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TYPED_TEST_P(LineLaws, WaitOnALineThatIsNotOpenReturnsAtItsBound) {
  using namespace std::chrono_literals;
  Caller process(this->world.connect());
  const auto start = std::chrono::steady_clock::now();
  process.wait(50ms);
  process.wait(0ns);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TYPED_TEST_P(LineLaws, WaitReturnsWhenAStopIsRequested) {
  using namespace std::chrono_literals;
  auto process = this->joined("a");
  std::stop_source before;
  before.request_stop();
  const auto start = std::chrono::steady_clock::now();
  process->wait(60s, before.get_token());
  std::stop_source during;
  {
    const std::jthread stopper([&] { during.request_stop(); });
    process->wait(60s, during.get_token());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TYPED_TEST_P(LineLaws, WaitReturnsWhenAnEventComes) {
  using namespace std::chrono_literals;
  auto process = this->joined("a");
  const auto start = std::chrono::steady_clock::now();
  {
    const std::jthread sender([&] { this->world.publish(this->channel, "wake up"); });
    while (process->template all<Text>().empty() && std::chrono::steady_clock::now() - start < 20s) {
      process->wait(60s);
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(process->template last<Text>().payload, "wake up");
}

TYPED_TEST_P(LineLaws, SeveralThreadsWaitOnOneConnection) {
  using namespace std::chrono_literals;
  const auto transport = this->world.connect();
  std::vector<std::unique_ptr<Caller<typename TypeParam::Transport>>> callers;
  for (int i = 0; i < 4; ++i) callers.push_back(this->opened(transport));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers.size(); ++i) {
      threads.emplace_back([&, i] {
        EXPECT_TRUE(this->join(*callers[i], std::to_string(i)));
        for (int round = 0; round < 20; ++round) {
          EXPECT_TRUE(callers[i]->template answered<event::Pinged>([&](auto& line) {
            line.ping(this->channel, this->response(std::to_string(i)), "from " + std::to_string(i));
          }));
        }
      });
    }
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    const std::string mine = "from " + std::to_string(i);
    ASSERT_TRUE(callers[i]->eventually(
        [&] { return std::ranges::count(callers[i]->template all<Text>(), mine, &Text::payload) == 20; }));
  }
}

TYPED_TEST_P(LineLaws, IncrementCountsOnePerCallFromOne) {
  auto one = this->opened();
  auto other = this->opened();
  ASSERT_TRUE(one->template answered<event::Incremented>(
      [&](auto& line) { line.increment(this->channel + "-fence"); }));
  EXPECT_EQ(one->template last<event::Incremented>().value, 1);
  ASSERT_TRUE(other->template answered<event::Incremented>(
      [&](auto& line) { line.increment(this->channel + "-fence"); }));
  EXPECT_EQ(other->template last<event::Incremented>().value, 2);
}

TYPED_TEST_P(LineLaws, AReminderComesOnceAndReplacesTheOneBefore) {
  auto holder = this->joined("a");
  holder->say([](auto& line) {
    line.remind(std::chrono::hours(1));
    line.remind(std::chrono::milliseconds(1));
  });
  ASSERT_TRUE(holder->template hears<event::Reminded>());
  ASSERT_TRUE(holder->template answered<event::Counted>([&](auto& line) { line.count(this->channel); }));
  EXPECT_EQ(holder->template all<event::Reminded>().size(), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(LineLaws, IncrementCountsOnePerCallFromOne,
                            AReminderComesOnceAndReplacesTheOneBefore, AConnectionCostsNothingUntilALineOpens,
                            VerbsOnALineThatNeverOpenedDoNothing, VerbsOnAClosedLineDoNothing,
                            CloseOfAJoinedLineIsSoonNotCounted, DestroyingALineClosesIt,
                            WhatWasOnItsWayAtCloseIsNeverHeard, ARosterIsJoinedCountedAndLeftWithTheChannel,
                            ALineThatHasLeftCanCloseAndOpenForEver, AnEarLeftByOneLineIsSilentForTheNext,
                            LostIsToldUnaskedAndIsFinal, EveryLineOfAConnectionHearsItsOwnLoss,
                            ABrokenMouthIsReplacedAndTheEarStays, WaitReturnsAtItsBound,
                            WaitOnALineThatIsNotOpenReturnsAtItsBound, WaitReturnsWhenAStopIsRequested,
                            WaitReturnsWhenAnEventComes, SeveralThreadsWaitOnOneConnection);

}  // namespace sublock::testing
