// SPDX-License-Identifier: MIT

// The reaper by names under the laws of all reapers, and its way with names of the old protocol and with
// tools that look like participants.

#include <gmock/gmock.h>
#include <laws/reaper_laws.hpp>
#include <sublock/reaper/client_list.hpp>

namespace sublock::testing {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ClientList, ReaperLaws, ClientListReaper);

class ClientList : public ReaperLaws<ClientListReaper> {};

TEST_F(ClientList, EverySilentHolderIsASuspect) {
  const std::vector<std::string> answered = {id('1'), id('3')};
  const std::vector<Connection> connections = {{11, "a-lock-" + id('1')},
                                               {12, "a-lock-" + id('2')},
                                               {13, "a-lock-" + id('3')},
                                               {14, "a-lock-" + id('4')},
                                               {15, "a-lock-" + id('4')}};
  EXPECT_EQ(suspects({.stem = "a-lock", .answered = answered, .connections = connections}),
            (std::vector<std::int64_t>{12, 14, 15}));
}

TEST_F(ClientList, OnlyTheExactNameCounts) {
  const std::vector<Connection> connections = {
      {1, "a-lock-b-lock-" + id('1')}, {2, "a-lock-" + id('2')}, {3, "*-lock-" + id('3')}};
  EXPECT_EQ(suspects({.stem = "a-lock-b-lock", .answered = {}, .connections = connections}),
            (std::vector<std::int64_t>{1}));
  EXPECT_EQ(suspects({.stem = "a-lock", .answered = {}, .connections = connections}),
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(suspects({.stem = "*-lock", .answered = {}, .connections = connections}),
            (std::vector<std::int64_t>{3}));
}

TEST_F(ClientList, SuspectsCarryTheirHolderId) {
  const std::vector<Connection> connections = {{7, "a-lock-" + id('b')}, {8, "a-lock"}};
  const auto found = reaper.examine({.stem = "a-lock", .answered = {}, .connections = connections}).suspects;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].holder_id, id('b'));
  EXPECT_EQ(found[0].connection_id, 7);
  EXPECT_EQ(found[1].holder_id, "") << "the old protocol has none";
}

TEST_F(ClientList, OneLegacyAnswerClearsEveryLegacyConnection) {
  const std::vector<Connection> connections = {{1, "a-lock"}, {2, "a-lock"}, {3, "a-lock-" + id('1')}};
  EXPECT_EQ(
      suspects({.stem = "a-lock", .answered = {}, .legacy_answered = false, .connections = connections}),
      (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(suspects({.stem = "a-lock", .answered = {}, .legacy_answered = true, .connections = connections}),
            (std::vector<std::int64_t>{3}));
}

TEST_F(ClientList, WhatOnlyLooksLikeAParticipantIsNone) {
  const std::vector<Connection> connections = {
      {1, "a-lock-"},
      {2, "a-lock-mytool"},
      {3, "a-lock-" + id('1') + "1"},
      {4, "a-lock-" + id('1').substr(1)},
      {5, "a-lock-" + id('A')},
      {6, "a-lock-" + id('g')},
      {7, "a-lock-" + id('1').substr(1) + " "},
      {8, "a-locks"},
      {9, "a-lock "},
  };
  EXPECT_THAT(suspects({.stem = "a-lock", .answered = {}, .connections = connections}), ::testing::IsEmpty());
}

TEST_F(ClientList, EncodedNamesAreComparedAsTheyStand) {
  const std::vector<Connection> connections = {
      {1, "~YWIg~lock-" + id('1')}, {2, "ab -lock-" + id('2')}, {3, "~YWIg-lock-" + id('3')}};
  EXPECT_EQ(suspects({.stem = "~YWIg~lock", .answered = {}, .connections = connections}),
            (std::vector<std::int64_t>{1}));
}

TEST(ClientListReaper, Asks) { EXPECT_TRUE(ClientListReaper::asks); }

}  // namespace
}  // namespace sublock::testing
