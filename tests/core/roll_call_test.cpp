// SPDX-License-Identifier: MIT

// Asking who is there, from outside the channel.

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/core/roll_call.hpp>

namespace sublock::core {
namespace {

using namespace testing_ids;

class RollCallTest : public testing::Test {
 protected:
  Said hears(const Event& event) {
    Said out;
    call.on(event, out);
    return out;
  }

  void asks() { hears(event::Opened{}); }

  void hears_answer(const Holder& holder, const std::string& channel = "L-answers") {
    const std::string payload = encode_reply(holder);
    hears(event::Message{channel, payload});
  }

  const std::string question = encode(Ping{"L-answers", true, {second, 5}, HolderMode::pending, true});
  RollCall call{"L", "L-answers", {second, 5}};
};

TEST_F(RollCallTest, OpensAndAsksAsOneWhoWaits) {
  Said out;
  call.start(out);
  EXPECT_EQ(out, Said{action::Open{"L"}});
  EXPECT_EQ(hears(event::Opened{}), (Said{action::Ask{"L", "L-answers", question}}));
  EXPECT_FALSE(call.asked());
  hears(event::Pinged{"L-answers", 0, 0});
  EXPECT_TRUE(call.asked());
}

TEST_F(RollCallTest, ListensAndThenPingsWhereItMayNotAskAtOnce) {
  asks();
  EXPECT_EQ(hears(event::Refused{Verb::ask, {Errc::protocol, "no"}}), Said{action::Listen{"L-answers"}});
  EXPECT_FALSE(call.failure());
  EXPECT_EQ(hears(event::Listening{"L-answers"}), (Said{action::Ping{"L", "L-answers", question}}));
}

TEST_F(RollCallTest, AnEmptyChannelIsComplete) {
  asks();
  EXPECT_FALSE(call.complete());
  hears(event::Pinged{"L-answers", 0, 0});
  EXPECT_TRUE(call.complete());
}

TEST_F(RollCallTest, IsCompleteOnceAllHaveAnswered) {
  asks();
  hears(event::Pinged{"L-answers", 2, 2});
  hears_answer(from(first, HolderMode::exclusive));
  EXPECT_FALSE(call.complete());
  hears_answer(from(third, HolderMode::pending));
  EXPECT_TRUE(call.complete());
  EXPECT_EQ(call.census().answers().size(), 2U);
}

TEST_F(RollCallTest, AnswersOfItsOwnObjectCount) {
  asks();
  hears(event::Pinged{"L-answers", 1, 1});
  hears_answer(from(second, HolderMode::exclusive));
  EXPECT_TRUE(call.complete());
}

TEST_F(RollCallTest, WhatIsSaidElsewhereIsNoAnswer) {
  asks();
  hears(event::Pinged{"L-answers", 1, 1});
  hears_answer(from(first, HolderMode::exclusive), "L");
  EXPECT_FALSE(call.complete());
}

TEST_F(RollCallTest, KeepsWhatItIsToldOfConnections) {
  asks();
  EXPECT_FALSE(call.connections());
  hears(event::Listed{{{3, "L-lock"}}});
  EXPECT_EQ(call.connections(), (std::vector<Connection>{{3, "L-lock"}}));
  EXPECT_FALSE(call.killed());
  hears(event::Killed{1});
  EXPECT_TRUE(call.killed());
}

TEST_F(RollCallTest, KeepsWhyItFailed) {
  hears(event::Refused{Verb::ping, {Errc::permission, "no"}});
  EXPECT_EQ(call.failure(), (Failure{Errc::permission, "no"}));
  hears(event::Lost{{Errc::connect, "gone"}});
  EXPECT_EQ(call.failure(), (Failure{Errc::connect, "gone"}));
}

}  // namespace
}  // namespace sublock::core
