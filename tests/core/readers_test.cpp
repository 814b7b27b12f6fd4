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

TEST(Readers, AReaderIsCountedAsOne) {
  Conversation reading;
  reading.acquire(reader());
  EXPECT_EQ(reading.hears(event::Opened{}),
            (Said{action::Join{"L",
                               "@",
                               client_name("L", second),
                               {roster("L", LockMode::shared), roster("L", LockMode::exclusive)}}}));
  Conversation writing;
  writing.acquire();
  EXPECT_EQ(writing.hears(event::Opened{}),
            (Said{action::Join{"L", "@", client_name("L", second), {roster("L", LockMode::exclusive), ""}}}))
      << "and need not know who else is there";
}

TEST(Readers, AReaderAmongReadersAsksNobody) {
  Conversation talk;
  talk.acquire(reader());
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears(event::Joined{100, 100, 0}), nothing);
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Readers, AReaderAsksIfAnybodyMayBeNone) {
  const event::Joined by_hand{3, 3,
                              1};  // somebody subscribes to the roster who is no reader, beside a writer
  for (const event::Joined joined :
       {event::Joined{3, 2}, event::Joined{3, 4}, event::Joined{{}, 3}, by_hand}) {
    Conversation talk;
    talk.acquire(reader());
    talk.hears(event::Opened{});
    EXPECT_EQ(talk.hears(joined), Said{talk.ping(HolderMode::shared)}) << joined.own_kind;
  }
}

TEST(Readers, AWriterAsksHoweverManyRead) {
  Conversation talk;
  talk.acquire();
  talk.hears(event::Opened{});
  EXPECT_EQ(talk.hears(event::Joined{2, 2, 0}), Said{talk.ping()});
}

TEST(Readers, TheRosterIsNobodysLock) {
  EXPECT_EQ(roster("L", LockMode::shared), "L-7375626c6f636b20726561646572732e");
  EXPECT_EQ(roster("L", LockMode::exclusive), "L-7375626c6f636b20777269746572732e");
  EXPECT_EQ(roster("L", LockMode::shared).size(), inbox("L", second).size()) << "one pattern covers all";
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
  EXPECT_EQ(talk.after_next_timer(), look_at_count);
  EXPECT_EQ(talk.hears(event::Counted{1}), Said{talk.listen()}) << "nobody else is left";
  EXPECT_EQ(talk.hears(event::Listening{talk.channel()}), Said{talk.ping()}) << "but a count is no proof";
  talk.reached(1);
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST(Readers, OneWhoStandsLooksLessAndLessOftenAndDisturbsNobody) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(holding(from(third, HolderMode::shared)));
  talk.concludes();
  for (const auto pause : {4ms, 8ms, 16ms, 32ms, 64ms}) {
    EXPECT_EQ(talk.after(pause - 1ms), nothing) << pause.count();
    EXPECT_EQ(talk.after(1ms), look_at_count) << pause.count();
    EXPECT_EQ(talk.hears(event::Counted{2}), nothing) << pause.count();
  }
  EXPECT_EQ(talk.elapsed(), 124ms);
  EXPECT_EQ(talk.after(125ms), nothing);
  EXPECT_EQ(talk.after(1ms), Said{talk.listen()}) << "all are asked once in a check interval";
}

TEST(Readers, OneWhoStandsDoesNotLookMoreOftenForHavingAsked) {
  Conversation talk;
  talk.joins_beside(1);
  const auto stands = [&] {
    talk.reached(2);
    talk.hears_answer(holding(from(third, HolderMode::shared)));
    talk.concludes();
  };
  stands();
  talk.after(4ms), talk.after(8ms), talk.after(16ms), talk.after(32ms), talk.after(64ms), talk.after(126ms);
  talk.asks_again();
  stands();
  EXPECT_EQ(talk.after(127ms), nothing);
  EXPECT_EQ(talk.after(1ms), look_at_count);
  EXPECT_EQ(talk.after(121ms), nothing);
  EXPECT_EQ(talk.after(1ms), Said{talk.listen()});
  talk.asks_again();
  stands();
  EXPECT_EQ(talk.after(249ms), nothing) << "no more than a check interval lies between two looks";
  EXPECT_EQ(talk.after(1ms), (Said{action::Count{"L"}, talk.listen()}));
}

TEST(Readers, AHintMakesOneWhoStandsLookAtOnce) {
  Conversation talk;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(holding(from(third, HolderMode::shared)));
  talk.concludes();
  EXPECT_EQ(talk.hears_answer_as_written(encode(Hint{HintKind::wake, {}})), look_at_count);
  EXPECT_EQ(talk.hears(event::Counted{2}), nothing) << "a hint alone changes nothing";
  EXPECT_EQ(talk.hears(event::Counted{1}), Said{talk.listen()});
}

TEST(Readers, TheLastReaderToGoTellsTheWriterWhoStands) {
  Conversation reading;
  reading.holds_alone(reader());
  const Ping standing{"L-a", true, {third, 0}, HolderMode::pending, false, true};
  Holder self = from(second, HolderMode::shared);
  self.held_for = 0ms;
  EXPECT_EQ(reading.hears_ping(encode(standing)), Said{reading.answer("L-a", self)});
  EXPECT_EQ(reading.release(), (Said{action::Leave{{{"L-a", encode(Hint{HintKind::wake, {}})}}}}));
}

class Standing : public testing::Test {
 protected:
  Standing() {
    talk.joins_beside(1);
    talk.reached(2);
    talk.hears_answer(holding(from(third, HolderMode::shared)));
    talk.concludes();
    EXPECT_EQ(talk.after(250ms), (Said{action::Count{"L"}, talk.listen()}));
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
  EXPECT_EQ(talk.after(20ms), Said{talk.listen()});
}

TEST_F(Standing, KeepsItsPlaceWhenACountIsRefused) {
  talk.reached(2);
  talk.hears_answer(holding(from(third, HolderMode::shared)));
  talk.concludes();
  talk.after(4ms);
  EXPECT_EQ(talk.hears(event::Refused{Verb::count, {Errc::permission, "NOPERM"}}), nothing);
  EXPECT_EQ(talk.phase(), Phase::resting);
  EXPECT_TRUE(talk.participant().elected());
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
