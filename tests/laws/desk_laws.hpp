// SPDX-License-Identifier: MIT
#pragma once

// The laws of DeskOf that no concept can state: what is stored, what is compared, who hears of a release. Needs a
// world with keys, as in getlock/getlock_fixture.hpp; its `eventually` may look without waiting.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <sublock/policies.hpp>
#include <support/recorder.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace sublock::testing {

namespace event = core::event;

template <class World>
class DeskLaws : public ::testing::Test {
 protected:
  using Transport = typename World::Transport;
  using Process = Caller<Transport, typename Transport::Desk>;

  DeskLaws() {
    static int tests = 0;
    key = "desk-laws-" + std::to_string(::getpid()) + '-' + std::to_string(++tests);
  }

  std::unique_ptr<Process> opened(std::shared_ptr<Transport> transport) {
    auto caller = std::make_unique<Process>(std::move(transport));
    EXPECT_TRUE(caller->template answered<event::Opened>([](auto& desk) { desk.open(); }));
    return caller;
  }
  std::unique_ptr<Process> opened() { return opened(world.connect()); }

  /// What a verb that is answered by Keyed led to.
  template <class Speak>
  bool done(Process& process, Speak speak) {
    EXPECT_TRUE(process.template answered<event::Keyed>(speak));
    return process.template last<event::Keyed>().done;
  }
  bool take(Process& process, const std::string& value, Duration expire = std::chrono::seconds(5)) {
    return done(process, [&](auto& desk) { desk.take(key, value, expire); });
  }
  bool extend(Process& process, const std::string& mark, const std::string& value) {
    return done(process, [&](auto& desk) { desk.extend(key, mark, value, std::chrono::seconds(20)); });
  }
  bool drop(Process& process, const std::string& mark) {
    return done(process, [&](auto& desk) { desk.drop(key, mark); });
  }
  event::Looked look(Process& process) {
    EXPECT_TRUE(process.template answered<event::Looked>([&](auto& desk) { desk.look(key); }));
    return process.template last<event::Looked>();
  }

  World world;
  std::string key;
};

TYPED_TEST_SUITE_P(DeskLaws);

TYPED_TEST_P(DeskLaws, OnlyOneTakesAndTheKeyExpires) {
  auto first = this->opened();
  auto second = this->opened();
  EXPECT_TRUE(this->take(*first, "mine:1"));
  EXPECT_FALSE(this->take(*second, "yours:1"));
  EXPECT_FALSE(this->take(*first, "mine:2")) << "not even who has it";
  EXPECT_EQ(this->world.value(this->key), "mine:1");
  const auto left = this->world.left(this->key);
  ASSERT_TRUE(left);
  EXPECT_GT(*left, std::chrono::seconds(3));
  EXPECT_LE(*left, std::chrono::seconds(5));
}

TYPED_TEST_P(DeskLaws, OnlyWhatBeginsWithTheMarkIsExtended) {
  auto process = this->opened();
  EXPECT_FALSE(this->extend(*process, "mine:", "mine:1")) << "there is nothing";
  EXPECT_EQ(this->world.value(this->key), "");
  EXPECT_TRUE(this->take(*process, "mine:1"));
  EXPECT_TRUE(this->extend(*process, "mine:", "mine:2"));
  EXPECT_EQ(this->world.value(this->key), "mine:2");
  EXPECT_GT(this->world.left(this->key).value(), std::chrono::seconds(10));
  for (const std::string other : {"yours:", "mine:22", "ine"})
    EXPECT_FALSE(this->extend(*process, other, "x"));
  EXPECT_EQ(this->world.value(this->key), "mine:2");
}

TYPED_TEST_P(DeskLaws, OnlyWhatBeginsWithTheMarkIsDropped) {
  auto process = this->opened();
  EXPECT_FALSE(this->drop(*process, "mine:"));
  EXPECT_TRUE(this->take(*process, "mine:1"));
  EXPECT_FALSE(this->drop(*process, "yours:"));
  EXPECT_EQ(this->world.value(this->key), "mine:1");
  EXPECT_TRUE(this->drop(*process, "mine:"));
  EXPECT_EQ(this->world.value(this->key), "");
}

TYPED_TEST_P(DeskLaws, ALookTellsWhatThereIs) {
  auto process = this->opened();
  EXPECT_EQ(this->look(*process).type, "none");
  this->world.set(this->key, "for ever", {});
  auto found = this->look(*process);
  EXPECT_EQ(found.type, "string");
  EXPECT_EQ(found.value, "for ever");
  EXPECT_FALSE(found.left);
  this->world.set(this->key, std::string(100'000, 'x'), std::chrono::seconds(60));
  found = this->look(*process);
  EXPECT_TRUE(found.value.starts_with(std::string(1000, 'x')));
  ASSERT_TRUE(found.left);
  EXPECT_GT(*found.left, std::chrono::seconds(50));
}

TYPED_TEST_P(DeskLaws, WhoHearsIsToldOfTheRelease) {
  auto waiter = this->opened();
  auto owner = this->opened();
  const std::string channel = core::lease::release_channel(this->key);
  EXPECT_TRUE(waiter->template answered<event::Listening>([&](auto& desk) { desk.hear(this->key); }));
  owner->say([&](auto& desk) { desk.publish(channel, ""); });
  EXPECT_TRUE(waiter->template hears<Text>());
  waiter->say([](auto& desk) { desk.deafen(); });
  EXPECT_TRUE(this->world.eventually([&] { return this->world.subscribers(channel) == 0; }));
  EXPECT_TRUE(this->take(*waiter, "mine:1")) << "deaf, but not dumb";
  EXPECT_TRUE(waiter->template answered<event::Listening>([&](auto& desk) { desk.hear(this->key); }));
}

TYPED_TEST_P(DeskLaws, ACommandIsExecutedInItsOrder) {
  auto process = this->opened();
  process->say([&](auto& desk) {
    desk.take(this->key, "mine:1", std::chrono::seconds(5));
    desk.extend(this->key, "mine:", "mine:2", std::chrono::seconds(5));
    desk.increment(this->key + "-count");
    desk.drop(this->key, "mine:");
    desk.look(this->key);
  });
  EXPECT_TRUE(process->template hears<event::Looked>());
  auto order = process->order();
  EXPECT_THAT(order, ::testing::ElementsAre("Opened", "Keyed", "Keyed", "Incremented", "Keyed", "Looked"));
  EXPECT_EQ(process->template last<event::Looked>().type, "none");
}

TYPED_TEST_P(DeskLaws, VerbsOnADeskThatIsNotOpenDoNothing) {
  Caller<typename TypeParam::Transport, typename TypeParam::Transport::Desk> process(this->world.connect());
  const auto every_verb = [&](auto& desk) {
    desk.take(this->key, "mine:1", std::chrono::seconds(5));
    desk.extend(this->key, "mine:", "mine:2", std::chrono::seconds(5));
    desk.drop(this->key, "mine:");
    desk.look(this->key);
    desk.hear(this->key);
    desk.deafen();
    desk.remind(std::chrono::seconds(0));
    desk.close();
  };
  process.say(every_verb);
  EXPECT_TRUE(process.template answered<event::Opened>([](auto& desk) { desk.open(); }));
  process.say([&](auto& desk) {
    desk.close();
    every_verb(desk);
  });
  EXPECT_TRUE(process.template answered<event::Opened>([](auto& desk) { desk.open(); }));
  EXPECT_THAT(process.order(), ::testing::ElementsAre("Opened", "Opened"));
  EXPECT_EQ(this->world.value(this->key), "");
}

TYPED_TEST_P(DeskLaws, AReminderComesWhetherAnybodyWaitsOrNot) {
  auto process = this->opened();
  EXPECT_TRUE(process->template answered<event::Reminded>(
      [](auto& desk) { desk.remind(std::chrono::milliseconds(20)); }));
}

REGISTER_TYPED_TEST_SUITE_P(DeskLaws, OnlyOneTakesAndTheKeyExpires, OnlyWhatBeginsWithTheMarkIsExtended,
                            OnlyWhatBeginsWithTheMarkIsDropped, ALookTellsWhatThereIs,
                            WhoHearsIsToldOfTheRelease, ACommandIsExecutedInItsOrder,
                            VerbsOnADeskThatIsNotOpenDoNothing, AReminderComesWhetherAnybodyWaitsOrNot);

}  // namespace sublock::testing
