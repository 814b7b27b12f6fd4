// SPDX-License-Identifier: MIT

// What a complete census means for the one who asked (R6, R7, R9), for the second of four in the order.

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/core/verdict.hpp>

#include <initializer_list>

namespace sublock::core {
namespace {

using namespace testing_ids;

Census census_with(std::initializer_list<Holder> answers) {
  Census census(second);
  census.hear_echo();
  census.reach(answers.size() + 1, answers.size() + 1);
  for (const Holder& answer : answers) census.add(answer);
  return census;
}

Verdict writer(std::initializer_list<Holder> answers, const HeardPings& heard = {}, bool elected = false,
               bool looked_twice = false) {
  return judge_writer(LowestIdElection{}, {{second, 0}, elected, looked_twice}, census_with(answers), heard);
}

Verdict standing_writer(std::initializer_list<Holder> answers, const HeardPings& heard = {}) {
  return writer(answers, heard, true);
}

HeardPings heard(const std::string& id) {
  HeardPings pings;
  pings.note({id, 0});
  return pings;
}

HeardPings heard_unknown() {
  HeardPings pings;
  pings.note_unknown();
  return pings;
}

/// portalocker 4.0 or 4.1: pending, and no word on who is elected.
Holder old_peer(const std::string& id) {
  Holder holder;
  holder.holder_id = id;
  holder.mode = HolderMode::pending;
  return holder;
}

TEST(Verdict, AnExclusiveAnswerNamesAnOwner) {
  EXPECT_TRUE(names_an_owner(census_with({from(fourth, HolderMode::exclusive)})));
  EXPECT_FALSE(
      names_an_owner(census_with({from(first, HolderMode::shared), from(third, HolderMode::pending)})));
}

TEST(Verdict, AnUnreadableAnswerNamesAnOwner) {
  EXPECT_TRUE(names_an_owner(census_with({decode_reply("1700000000.5")})));
}

TEST(Verdict, AWriterAloneHolds) { EXPECT_EQ(writer({}), Verdict::hold); }

TEST(Verdict, TheFirstPendingWriterHolds) {
  EXPECT_EQ(writer({from(third, HolderMode::pending), from(fourth, HolderMode::pending)}), Verdict::hold);
  EXPECT_EQ(writer({from(third, HolderMode::pending), from(first, HolderMode::pending)}), Verdict::give_way);
}

TEST(Verdict, OneWhoLeavesIsNoCandidate) { EXPECT_EQ(writer({leaving(first)}), Verdict::hold); }

TEST(Verdict, AnElectedWriterGoesBeforeOneWhoIsNotWhateverHisId) {
  EXPECT_EQ(writer({from(third, HolderMode::pending, true)}), Verdict::give_way);
}

TEST(Verdict, AWriterStandsWhileReadersHold) {
  EXPECT_EQ(writer({holding(from(first, HolderMode::shared))}), Verdict::stand);
  EXPECT_EQ(standing_writer({from(first, HolderMode::shared), from(third, HolderMode::pending)}),
            Verdict::stand);
}

TEST(Verdict, AWriterGivesWayToAnEarlierOneAlsoWhileReadersHold) {
  EXPECT_EQ(writer({from(third, HolderMode::shared), from(first, HolderMode::pending)}), Verdict::give_way);
}

TEST(Verdict, OneWhoStandsKeepsHisPlaceBeforeAnEarlierWriterWhoDoesNot) {
  EXPECT_EQ(standing_writer({from(first, HolderMode::pending)}), Verdict::ask_later);
  EXPECT_EQ(
      standing_writer({from(first, HolderMode::shared), from(third, HolderMode::pending)}, heard(first)),
      Verdict::ask_later);
}

TEST(Verdict, OneWhoStandsGivesWayToAnEarlierOneWhoStands) {
  EXPECT_EQ(standing_writer({from(first, HolderMode::pending, true)}), Verdict::give_way);
  EXPECT_EQ(standing_writer({from(third, HolderMode::pending, true)}), Verdict::hold);
}

TEST(Verdict, WhoeverPingedIsACandidate) {
  EXPECT_EQ(writer({}, heard(first)), Verdict::give_way);
  EXPECT_EQ(writer({}, heard(third)), Verdict::hold);
}

TEST(Verdict, AnUnknownPingerIsAskedAbout) {
  EXPECT_EQ(writer({}, heard_unknown()), Verdict::ask_again);
  EXPECT_EQ(writer({from(third, HolderMode::shared)}, heard_unknown()), Verdict::stand)
      << "it is not about to claim, and will ask again anyway";
}

TEST(Verdict, APeerThatMayLagBehindItselfIsAskedTwice) {
  EXPECT_EQ(writer({old_peer(third)}), Verdict::ask_twice);
  EXPECT_EQ(writer({old_peer(third)}, {}, false, true), Verdict::hold);
  EXPECT_EQ(writer({old_peer(first)}), Verdict::give_way);
}

TEST(Verdict, APeerThatSaysWhoIsElectedIsNotAskedTwice) {
  Holder current = old_peer(third);
  current.elected = false;
  EXPECT_EQ(writer({current}), Verdict::hold);
}

TEST(Verdict, AReaderJoinsReaders) {
  EXPECT_EQ(judge_reader(census_with({})), Verdict::hold);
  EXPECT_EQ(judge_reader(census_with({from(first, HolderMode::shared), leaving(third)})), Verdict::hold);
}

TEST(Verdict, AReaderGivesWayToEveryWriter) {
  EXPECT_EQ(judge_reader(census_with({from(fourth, HolderMode::pending)})), Verdict::give_way);
  EXPECT_EQ(
      judge_reader(census_with({from(first, HolderMode::shared), from(fourth, HolderMode::pending, true)})),
      Verdict::give_way);
}

TEST(Verdict, NamesItself) {
  EXPECT_EQ(testing::PrintToString(Verdict::give_way), "give_way");
  EXPECT_EQ(name_of(Verdict::hold), "hold");
  EXPECT_EQ(name_of(Verdict::stand), "stand");
  EXPECT_EQ(name_of(Verdict::ask_again), "ask_again");
  EXPECT_EQ(name_of(Verdict::ask_later), "ask_later");
  EXPECT_EQ(name_of(Verdict::ask_twice), "ask_twice");
}

}  // namespace
}  // namespace sublock::core
