// SPDX-License-Identifier: MIT
#pragma once

// The laws of ReaperPolicy: whom a reaper must never suspect. Whom it does suspect is its own business,
// since sparing somebody costs time and never safety.

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

  /// Whether every suspect is one of `ids`, which are sorted.
  ::testing::AssertionResult only(const std::vector<std::int64_t>& ids, const Silence& silence) const {
    const auto found = suspects(silence);
    if (std::ranges::includes(ids, found)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "suspects " << ::testing::PrintToString(found) << ", none but "
                                         << ::testing::PrintToString(ids) << " may be";
  }

  Reaper reaper{};
};

TYPED_TEST_SUITE_P(ReaperLaws);

TYPED_TEST_P(ReaperLaws, NobodyIsNobodysSuspect) {
  EXPECT_TRUE(this->suspects({.stem = "a-lock", .answered = {}, .connections = {}}).empty());
}

TYPED_TEST_P(ReaperLaws, OnlyTheSilentAreSuspects) {
  const std::vector<std::string> answered = {this->id('1'), this->id('3')};
  const std::vector<Connection> connections = {{11, "a-lock-" + this->id('1')},
                                               {12, "a-lock-" + this->id('2')},
                                               {13, "a-lock-" + this->id('3')},
                                               {14, "a-lock-" + this->id('4')}};
  EXPECT_TRUE(this->only({12, 14}, {.stem = "a-lock", .answered = answered, .connections = connections}));
}

TYPED_TEST_P(ReaperLaws, ALegacyAnswerClearsTheNamelessOfTheOldProtocol) {
  const std::vector<Connection> connections = {{1, "a-lock"}, {2, "a-lock-" + this->id('1')}};
  EXPECT_TRUE(this->only(
      {2}, {.stem = "a-lock", .answered = {}, .legacy_answered = true, .connections = connections}));
}

TYPED_TEST_P(ReaperLaws, WhoeverDoesNotAskSuspectsNobody) {
  if (TypeParam::asks) return;
  const std::vector<Connection> connections = {{1, "a-lock"}, {2, "a-lock-" + this->id('1')}};
  EXPECT_TRUE(this->only({}, {.stem = "a-lock", .answered = {}, .connections = connections}));
}

TYPED_TEST_P(ReaperLaws, WhoeverAnsweredIsNoSuspect) {
  const std::vector<std::string> answered = {this->id('1')};
  const std::vector<Connection> connections = {{1, "a-lock-" + this->id('1')}};
  EXPECT_TRUE(this->suspects({.stem = "a-lock", .answered = answered, .connections = connections}).empty());
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
  EXPECT_TRUE(this->suspects({.stem = "a-lock", .answered = {}, .connections = connections}).empty());
}

TYPED_TEST_P(ReaperLaws, AChannelThatLooksLikeAnothersNameIsItsOwn) {
  const std::vector<Connection> connections = {{1, "a-lock-b-lock-" + this->id('1')},
                                               {2, "a-lock-" + this->id('2')}};
  EXPECT_TRUE(this->only({1}, {.stem = "a-lock-b-lock", .answered = {}, .connections = connections}));
  EXPECT_TRUE(this->only({2}, {.stem = "a-lock", .answered = {}, .connections = connections}));
}

TYPED_TEST_P(ReaperLaws, NamesAreBytesAndNoPatterns) {
  const std::vector<Connection> connections = {
      {1, "a.c-lock-" + this->id('1')}, {2, "abc-lock-" + this->id('2')}, {3, "*-lock-" + this->id('3')}};
  EXPECT_TRUE(this->only({1}, {.stem = "a.c-lock", .answered = {}, .connections = connections}));
  EXPECT_TRUE(this->only({3}, {.stem = "*-lock", .answered = {}, .connections = connections}));
  EXPECT_TRUE(this->only({}, {.stem = "-lock", .answered = {}, .connections = connections}));
}

TYPED_TEST_P(ReaperLaws, NothingIsCarriedFromOneCallToTheNext) {
  const std::vector<Connection> silent = {{1, "a-lock-" + this->id('1')}};
  const std::vector<std::string> answered = {this->id('1')};
  const Silence before{.stem = "a-lock", .answered = {}, .connections = silent};
  const Silence after{.stem = "a-lock", .answered = answered, .connections = silent};
  const auto first = this->suspects(before);
  EXPECT_TRUE(this->suspects(after).empty());
  EXPECT_EQ(this->suspects(before), first);
}

REGISTER_TYPED_TEST_SUITE_P(ReaperLaws, NobodyIsNobodysSuspect, OnlyTheSilentAreSuspects,
                            ALegacyAnswerClearsTheNamelessOfTheOldProtocol, WhoeverDoesNotAskSuspectsNobody,
                            WhoeverAnsweredIsNoSuspect, OtherPeoplesConnectionsAreNoSuspects,
                            AChannelThatLooksLikeAnothersNameIsItsOwn, NamesAreBytesAndNoPatterns,
                            NothingIsCarriedFromOneCallToTheNext);

}  // namespace sublock::testing
