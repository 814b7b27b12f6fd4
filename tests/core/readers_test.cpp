// SPDX-License-Identifier: MIT

// Conversations of readers, and of the writer who stands until they have gone (R9).

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

Request reader() {
  Request request;
  request.mode = LockMode::shared;
  return request;
}

TEST(Readers, AReaderSaysSharedFromTheStart) {
  Conversation talk;
  talk.acquire(reader());
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")),
            (Said{talk.answer("L-a", from(second, HolderMode::shared))}));
  EXPECT_EQ(talk.hears(event::Joined{2}), Said{talk.ping(HolderMode::shared)});
}

TEST(Readers, AReaderJoinsReaders) {
  Conversation talk;
  talk.joins_beside(2, reader());
  talk.reached(3);
  talk.hears_answer(from(first, HolderMode::shared));
  EXPECT_EQ(talk.concludes(), nothing);
  talk.hears_answer(leaving(third));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
  EXPECT_EQ(talk.participant().mode(), HolderMode::shared);
}

TEST(Readers, AReaderGivesWayToAnyWriter) {
  Conversation talk;
  talk.joins_beside(2, reader());
  talk.hears_answer(from(fourth, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST(Readers, AReaderDoesNotMindWhoPings) {
  Conversation talk;
  talk.joins_beside(1, reader());
  talk.reached(2);
  talk.hears_ping(ping_of(first, "L-a"));
  talk.hears_answer(from(third, HolderMode::shared));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Readers, AWriterStandsUntilReadersHaveGone) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(holding(from(third, HolderMode::shared)));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
  EXPECT_TRUE(talk.participant().elected());
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")),
            (Said{talk.answer("L-a", from(second, HolderMode::pending, true))}));
  EXPECT_EQ(talk.after_next_timer(), Said{talk.listen()});
  talk.asks_again();
  talk.reached(1);
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Readers, OneWhoStandsLooksLessAndLessOften) {
  Conversation talk;
  talk.joins_beside(1);
  for (const auto pause : {4ms, 8ms, 16ms, 32ms, 64ms, 128ms, 250ms, 250ms}) {
    talk.reached(2);
    talk.hears_answer(holding(from(third, HolderMode::shared)));
    talk.concludes();
    EXPECT_EQ(talk.after(pause - 1ms), nothing) << pause.count();
    EXPECT_EQ(talk.after(1ms), Said{talk.listen()}) << pause.count();
    talk.asks_again();
  }
}

class Standing : public testing::Test {
 protected:
  Standing() {
    talk.joins_beside(1);
    talk.reached(2);
    talk.hears_answer(holding(from(third, HolderMode::shared)));
    talk.concludes();
    talk.after_next_timer();
    talk.asks_again();
  }

  Conversation<> talk;
};

TEST_F(Standing, KeepsItsPlaceBeforeAnEarlierWriter) {
  talk.reached(3);
  talk.hears_answer(from(first, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  talk.hears_answer(holding(from(third, HolderMode::shared)));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
}

TEST_F(Standing, KeepsItsPlaceWhereNobodyCanTell) {
  talk.reached(2);
  talk.hears_answer(from(second, HolderMode::pending));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
  EXPECT_EQ(talk.after(250ms), Said{talk.listen()});
}

TEST_F(Standing, KeepsItsPlaceWhenThePingIsRefused) {
  EXPECT_EQ(talk.hears(event::Refused{Verb::ping, {Errc::busy, "LOADING"}}), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
}

TEST_F(Standing, LeavesForAnOwner) {
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST_F(Standing, LeavesForAnEarlierOneWhoStands) {
  talk.reached(2);
  talk.hears_answer(from(first, HolderMode::pending, true));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST_F(Standing, DoesNotLeaveForALaterOneWhoStands) {
  talk.reached(2);
  talk.hears_answer(from(third, HolderMode::pending, true));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

}  // namespace
}  // namespace sublock::core
