// SPDX-License-Identifier: MIT
#pragma once

// The laws of ReaperPolicy: whom a reaper must never suspect, and, where it asks at all, whom it must not
// leave out, since whoever is left out counts as a stranger who owns nothing.

#include <gtest/gtest.h>
#include <sublock/policies.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sublock::testing {

/// The suite's parameter is the reaper itself, made by its default constructor.
template <class Reaper>
class ReaperLaws : public ::testing::Test {
 protected:
  static std::string id(char digit) { return std::string(32, digit); }

  /// Client ids of the suspects, sorted.
  std::vector<std::int64_t> suspects(const Silence& silence) const {
    std::vector<std::int64_t> ids;
    for (const auto& suspect : reaper.examine(silence).suspects) ids.push_back(suspect.connection_id);
    std::ranges::sort(ids);
    return ids;
  }

  /// What a reaper that asks makes of it; one that doesn't suspects nobody.
  static std::vector<std::int64_t> if_it_asks(std::vector<std::int64_t> ids) {
    return Reaper::asks ? ids : std::vector<std::int64_t>();
  }

  Reaper reaper{};
};

TYPED_TEST_SUITE_P(ReaperLaws);

TYPED_TEST_P(ReaperLaws, NobodyIsNobodysSuspect) {
  EXPECT_TRUE(this->suspects({.name = "a", .answered = {}, .connections = {}}).empty());
}

TYPED_TEST_P(ReaperLaws, WhoeverIsNamedForTheChannelAndSilentIsASuspect) {
  const std::vector<std::string> answered = {this->id('1'), this->id('3')};
  const std::vector<Connection> connections = {{11, "a-lock-" + this->id('1')},
                                               {12, "a-lock-" + this->id('2')},
                                               {13, "a-lock-" + this->id('3')},
                                               {14, "a-lock-" + this->id('4')}};
  EXPECT_EQ(this->suspects({.name = "a", .answered = answered, .connections = connections}),
            this->if_it_asks({12, 14}));
}

TYPED_TEST_P(ReaperLaws, TwoConnectionsOfOneSilentIdAreBothSuspects) {
  const std::vector<Connection> connections = {{1, "a-lock-" + this->id('1')},
                                               {2, "a-lock-" + this->id('1')}};
  EXPECT_EQ(this->suspects({.name = "a", .answered = {}, .connections = connections}),
            this->if_it_asks({1, 2}));
}

TYPED_TEST_P(ReaperLaws, WhoeverAnsweredIsNoSuspect) {
  const std::vector<std::string> answered = {this->id('1')};
  const std::vector<Connection> connections = {{1, "a-lock-" + this->id('1')}};
  EXPECT_TRUE(this->suspects({.name = "a", .answered = answered, .connections = connections}).empty());
}

TYPED_TEST_P(ReaperLaws, OtherPeoplesConnectionsAreNoSuspects) {
  const std::vector<Connection> connections = {
      {1, ""},
      {2, "a"},
      {3, "b-lock-" + this->id('1')},
      {4, "aa-lock-" + this->id('1')},
      {5, "a-lock-b-lock-" + this->id('1')},
      {6, "x" + ("a-lock-" + this->id('1'))},
      {7, "A-lock-" + this->id('1')},
      {8, "a-Lock-" + this->id('1')},
      {9, "a:lock:" + this->id('1')},
  };
  EXPECT_TRUE(this->suspects({.name = "a", .answered = {}, .connections = connections}).empty());
}

TYPED_TEST_P(ReaperLaws, AChannelThatLooksLikeAnothersNameIsItsOwn) {
  const std::vector<Connection> connections = {{1, "a-lock-b-lock-" + this->id('1')},
                                               {2, "a-lock-" + this->id('2')}};
  EXPECT_EQ(this->suspects({.name = "a-lock-b", .answered = {}, .connections = connections}),
            this->if_it_asks({1}));
}

TYPED_TEST_P(ReaperLaws, NamesAreBytesAndNoPatterns) {
  const std::vector<Connection> connections = {
      {1, "a.c-lock-" + this->id('1')}, {2, "abc-lock-" + this->id('2')}, {3, "*-lock-" + this->id('3')}};
  EXPECT_EQ(this->suspects({.name = "a.c", .answered = {}, .connections = connections}),
            this->if_it_asks({1}));
  EXPECT_EQ(this->suspects({.name = "*", .answered = {}, .connections = connections}), this->if_it_asks({3}));
  EXPECT_TRUE(this->suspects({.name = "", .answered = {}, .connections = connections}).empty());
}

TYPED_TEST_P(ReaperLaws, NothingIsCarriedFromOneCallToTheNext) {
  const std::vector<Connection> silent = {{1, "a-lock-" + this->id('1')}};
  const std::vector<std::string> answered = {this->id('1')};
  const Silence before{.name = "a", .answered = {}, .connections = silent};
  const Silence after{.name = "a", .answered = answered, .connections = silent};
  const auto first = this->suspects(before);
  EXPECT_TRUE(this->suspects(after).empty());
  EXPECT_EQ(this->suspects(before), first);
}

REGISTER_TYPED_TEST_SUITE_P(ReaperLaws, NobodyIsNobodysSuspect,
                            WhoeverIsNamedForTheChannelAndSilentIsASuspect,
                            TwoConnectionsOfOneSilentIdAreBothSuspects, WhoeverAnsweredIsNoSuspect,
                            OtherPeoplesConnectionsAreNoSuspects, AChannelThatLooksLikeAnothersNameIsItsOwn,
                            NamesAreBytesAndNoPatterns, NothingIsCarriedFromOneCallToTheNext);

}  // namespace sublock::testing
