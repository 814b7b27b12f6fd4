// SPDX-License-Identifier: MIT

// What a holder knows of those who come after it: their order, who may come next, and what is passed on.

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/core/succession.hpp>

#include <cstdio>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

using Entries = std::vector<std::string>;
using Notes = std::vector<action::Note>;

/// An id of thirty-two digits that nobody else has.
std::string id_of(unsigned number) {
  char text[33];
  std::snprintf(text, sizeof text, "%032x", number);
  return text;
}

/// As a holder on channel `L` knows it, of people who ask four times in a second.
class SuccessionTest : public testing::Test {
 protected:
  static constexpr auto writer = HolderMode::pending;
  static constexpr auto reader = HolderMode::shared;

  void waits(const std::string& id, HolderMode mode = writer) { waits(id, mode, inbox("L", id)); }
  void waits(const std::string& id, HolderMode mode, const std::string& to) {
    line.hear_waiter({to, true, {id, 0}, mode, true, true, interval}, now);
  }
  bool stands(const std::string& id, const std::string& nonce = "L-nonce") {
    return line.hear_standing({nonce, true, {id, 0}, writer, false, true, interval}, false, now);
  }
  Entries ids() const {
    Entries ids;
    for (const Waiter& waiter : line.waiters()) ids.push_back(waiter.holder_id);
    return ids;
  }
  static action::Note wakes(const std::string& id, const Entries& queue = {}) {
    return {"L-" + id, encode(Hint{HintKind::wake, queue})};
  }
  static action::Note invites(const std::string& id, const Entries& queue = {}) {
    return {"L-" + id, encode(Hint{HintKind::next, queue})};
  }

  Instant now = Instant(1h);
  std::chrono::milliseconds interval = usual_interval;
  Succession line{"L"};
};

// --- who waits -------------------------------------------------------------------------------------

TEST_F(SuccessionTest, WhoeverCameFirstIsFirst) {
  EXPECT_TRUE(line.empty());
  waits(third), waits(first), waits(second, reader);
  EXPECT_EQ(ids(), (Entries{third, first, second})) << "whatever the order of their ids";
  EXPECT_FALSE(line.empty());
}

TEST_F(SuccessionTest, WhoeverAsksAgainKeepsHisPlace) {
  waits(third), waits(first), waits(third);
  EXPECT_EQ(ids(), (Entries{third, first})) << "one place for each";
}

TEST_F(SuccessionTest, WhoeverAsksAgainMayWantSomethingElse) {
  waits(third, writer), waits(first);
  waits(third, reader);
  EXPECT_EQ(line.invite(), std::nullopt) << "a reader does not stand ready";
  waits(third, writer);
  EXPECT_EQ(line.invite(), invites(third, {'w' + first}));
}

TEST_F(SuccessionTest, WhoeverIsSilentForTooLongIsForgotten) {
  waits(third);
  now += 600ms;
  waits(first);
  now += 650ms;
  waits(second);
  EXPECT_EQ(ids(), (Entries{third, first, second})) << "five intervals are not too long";
  now += 1ns;
  waits(second);
  EXPECT_EQ(ids(), (Entries{first, second}));
}

TEST_F(SuccessionTest, WhoeverAsksAgainIsNotForgotten) {
  for (int i = 0; i < 3; ++i, now += 1250ms) waits(third);
  waits(first);
  EXPECT_EQ(ids(), (Entries{third, first}));
}

TEST_F(SuccessionTest, HowLongIsTooLongDependsOnHowOftenOneAsks) {
  interval = 10s;
  stands(fourth), waits(third);
  interval = 10ms;
  waits(first);
  interval = usual_interval;
  now += 50s;
  EXPECT_TRUE(line.successor(now));
  waits(second);
  EXPECT_EQ(ids(), (Entries{third, second}));
  now += 1ns;
  EXPECT_FALSE(line.successor(now));
  EXPECT_EQ(ids(), Entries{second});
}

TEST_F(SuccessionTest, InboxesNotOfOurMakeHaveNoPlace) {
  const std::string id = id_of(1);
  for (const std::string& to :
       {std::string(), std::string("L"), std::string("L-"), id, "L-" + id + '0', "L-" + id.substr(1),
        "L-" + id_of(2), "L:" + id, "K-" + id, "LL-" + id, "L-lock-" + id, "L-" + id + '\n'}) {
    waits(id, writer, to);
    EXPECT_TRUE(line.empty()) << to;
  }
  waits(id, writer, "L-" + id);
  EXPECT_EQ(ids(), Entries{id});
}

TEST_F(SuccessionTest, IdsNotOfOurMakeHaveNoPlace) {
  const std::string id = id_of(0xab);
  for (const std::string& other : {std::string("the nightly job"), id.substr(1), id + '0', "A" + id.substr(1),
                                   "g" + id.substr(1), id.substr(1) + '\n', id.substr(1) + '\0'}) {
    waits(other);
    EXPECT_TRUE(line.empty()) << other;
  }
}

TEST_F(SuccessionTest, MoreThanAServerHasAreNotKept) {
  Entries many;
  for (unsigned i = 0; i < Succession::waiters_max - 1; ++i) many.push_back('w' + id_of(i));
  line.follow(many, second, now);
  waits(id_of(Succession::waiters_max - 1)), waits(id_of(Succession::waiters_max));
  EXPECT_EQ(line.waiters().size(), Succession::waiters_max);
  EXPECT_EQ(ids().back(), id_of(Succession::waiters_max - 1)) << "those who came first stay";
  now += 1s;
  waits(id_of(5));
  now += 1s;
  waits(first);
  EXPECT_EQ(ids(), (Entries{id_of(5), first})) << "are still heard, and make room once they are silent";
}

TEST_F(SuccessionTest, WhoeverHasComeInWaitsNoMore) {
  waits(third), waits(first), waits(second);
  line.drop(first);
  EXPECT_EQ(ids(), (Entries{third, second}));
  line.drop(fourth);
  EXPECT_EQ(ids(), (Entries{third, second}));
}

// --- who comes next ----------------------------------------------------------------------------------

TEST_F(SuccessionTest, WhereNobodyWaitsTheFirstWhoAsksComesNext) {
  EXPECT_TRUE(stands(third));
  EXPECT_FALSE(stands(first)) << "and nobody else";
  EXPECT_EQ(line.successor(now)->holder_id, third);
  EXPECT_FALSE(line.empty());
}

TEST_F(SuccessionTest, NobodyComesBeforeThoseWhoWait) {
  waits(third), waits(second);
  EXPECT_FALSE(stands(fourth)) << "one who has only just come";
  EXPECT_FALSE(stands(second)) << "nor one who came later";
  EXPECT_FALSE(line.successor(now));
  EXPECT_TRUE(stands(third));
}

TEST_F(SuccessionTest, NoWriterComesBeforeTheReadersBeforeHim) {
  waits(third, reader), waits(first);
  EXPECT_EQ(line.invite(), std::nullopt);
  EXPECT_FALSE(stands(first));
  EXPECT_FALSE(line.successor(now));
}

TEST_F(SuccessionTest, AReaderWhoTurnsWriterInsideDoesNotComeNextAsOne) {
  waits(third, reader);
  EXPECT_FALSE(stands(third)) << "what he waits for is what he has said";
}

TEST_F(SuccessionTest, TheFirstWriterIsAskedInAndTakesTheLineAlong) {
  EXPECT_EQ(line.invite(), std::nullopt) << "where there is one";
  waits(third), waits(first), waits(second, reader);
  EXPECT_EQ(line.invite(), invites(third, {'w' + first, 'r' + second}));
  EXPECT_EQ(ids(), (Entries{third, first, second})) << "his place is his until he stands";
  EXPECT_EQ(line.invite(), std::nullopt) << "once";
}

TEST_F(SuccessionTest, OneWhoHasBeenInvitedKeepsOthersOut) {
  waits(third), waits(first);
  EXPECT_TRUE(line.invite());
  EXPECT_FALSE(stands(first));
  EXPECT_FALSE(stands(fourth));
  EXPECT_TRUE(stands(third)) << "for he has been told so";
}

TEST_F(SuccessionTest, AnInvitationLapsesWithItsWaiter) {
  waits(third);
  EXPECT_TRUE(line.invite());
  now += 700ms;
  waits(first);
  now += 551ms;
  waits(second);
  EXPECT_EQ(line.invite(), invites(first, {'w' + second}));
}

TEST_F(SuccessionTest, OneWhoStandsKeepsOthersOut) {
  EXPECT_TRUE(stands(fourth));
  waits(first);
  EXPECT_EQ(line.invite(), std::nullopt);
  EXPECT_FALSE(stands(first));
  EXPECT_EQ(ids(), Entries{}) << "who comes in all the same waits no more, though";
  EXPECT_TRUE(stands(fourth));
}

TEST_F(SuccessionTest, OneWhoStandsWaitsOutsideNoMore) {
  waits(third), waits(first);
  EXPECT_TRUE(line.invite());
  EXPECT_TRUE(stands(third));
  EXPECT_EQ(ids(), Entries{first});
}

TEST_F(SuccessionTest, OneWhoStandsIsKnownByHisLatestQuestion) {
  stands(third, "L-a");
  now += 600ms;
  stands(third, "L-b");
  now += 600ms;
  ASSERT_TRUE(line.successor(now));
  EXPECT_EQ(line.successor(now)->nonce, "L-b");
}

TEST_F(SuccessionTest, OneWhoStandsAndIsSilentIsForgotten) {
  stands(third);
  now += 1250ms;
  EXPECT_TRUE(line.successor(now));
  now += 1ns;
  EXPECT_FALSE(line.successor(now));
  EXPECT_TRUE(line.empty());
  EXPECT_TRUE(stands(first));
}

// --- waking ------------------------------------------------------------------------------------------

TEST_F(SuccessionTest, WakingNobodyIsNothing) { EXPECT_EQ(line.wake(), Notes{}); }

TEST_F(SuccessionTest, TheFirstWriterIsWokenAndGetsTheLine) {
  waits(third), waits(first), waits(second, reader);
  EXPECT_EQ(line.wake(), Notes{wakes(third, {'w' + first, 'r' + second})});
  EXPECT_EQ(ids(), (Entries{first, second}));
}

TEST_F(SuccessionTest, AllLeadingReadersAreWokenAndTheFirstGetsTheLine) {
  waits(third, reader), waits(first, reader), waits(second), waits(fourth, reader);
  EXPECT_EQ(line.wake(), (Notes{wakes(third, {'w' + second, 'r' + fourth}), wakes(first)}));
  EXPECT_EQ(ids(), (Entries{second, fourth}));
}

TEST_F(SuccessionTest, ReadersAloneAreAllWoken) {
  waits(third, reader), waits(first, reader);
  EXPECT_EQ(line.wake(), (Notes{wakes(third), wakes(first)}));
  EXPECT_TRUE(line.empty());
}

TEST_F(SuccessionTest, OneWhoWasInvitedIsToldOnTheLocksChannelTooWhereHeMayBeByNow) {
  waits(third), waits(first);
  EXPECT_TRUE(line.invite());
  waits(fourth);
  const action::Note inside{"L", encode(Grant{third, "L-" + third, {'w' + fourth}})};
  EXPECT_EQ(line.wake(), (Notes{inside, wakes(third, {'w' + first, 'w' + fourth})}));
}

// --- the line, from one holder to the next -----------------------------------------------------------

TEST_F(SuccessionTest, ALineArrivesAsItWasSent) {
  waits(third), waits(first, reader);
  const Entries sent = line.line();
  EXPECT_EQ(sent, (Entries{'w' + third, 'r' + first}));
  EXPECT_EQ(line.line(1), Entries{'r' + first});
  EXPECT_EQ(line.line(2), Entries{});
  EXPECT_EQ(line.line(3), Entries{});
  now += 1h;
  line = Succession("L");
  line.follow(sent, second, now);
  EXPECT_EQ(line.line(), sent);
  now += 1250ms;
  waits(second);
  EXPECT_EQ(ids(), (Entries{third, first, second})) << "they have all their time with the next holder";
  EXPECT_EQ(line.wake(), Notes{wakes(third, {'r' + first, 'w' + second})});
}

TEST_F(SuccessionTest, HowOftenSomebodyAsksIsPassedOnWhereItIsUnusual) {
  interval = 10s;
  waits(third), waits(first, reader);
  EXPECT_EQ(line.line(), (Entries{'w' + third + ":10000", 'r' + first + ":10000"}));
  line.follow(line.line(), second, now);
  EXPECT_EQ(line.line(), (Entries{'w' + third + ":10000", 'r' + first + ":10000"}));
  now += 50s;
  EXPECT_FALSE(line.successor(now));
  EXPECT_EQ(ids(), (Entries{third, first}));
  line.follow({'w' + third + ":0", 'w' + first + ":-7", 'w' + fourth + ":9223372036854775807"}, second, now);
  EXPECT_EQ(line.line(),
            (Entries{'w' + third + ":10000", 'r' + first + ":10000", 'w' + fourth + ":3600000"}));
}

TEST_F(SuccessionTest, OneWhoWasInvitedIsToldTheRestOnce) {
  waits(third), waits(first), waits(second);
  EXPECT_EQ(line.invite(), invites(third, {'w' + first, 'w' + second}));
  waits(fourth);
  EXPECT_TRUE(stands(third, "L-a"));
  EXPECT_EQ(line.news(line.successor(now)->knows), Entries{'w' + fourth});
  line.drop(first);
  EXPECT_TRUE(stands(third, "L-b")) << "and asks again";
  EXPECT_EQ(line.news(line.successor(now)->knows), Entries{'w' + fourth});
}

TEST_F(SuccessionTest, OneWhoCameByHimselfIsToldEverything) {
  waits(third), waits(first);
  EXPECT_TRUE(stands(third));
  EXPECT_EQ(line.news(line.successor(now)->knows), Entries{'w' + first});
  waits(third);
  EXPECT_FALSE(line.successor(now)) << "who has gone out again";
  EXPECT_FALSE(stands(third)) << "is where he was last: at the end";
}

TEST_F(SuccessionTest, ThoseWhoWereInLineComeBeforeThoseWhoWereOnlyHeard) {
  waits(fourth), waits(first, reader);
  line.follow({'w' + third, 'w' + first}, second, now);
  EXPECT_EQ(line.line(), (Entries{'w' + third, 'r' + first, 'w' + fourth}))
      << "and what was heard is newer than what was passed on";
}

TEST_F(SuccessionTest, ANewHolderHasTriedNobodyYet) {
  EXPECT_TRUE(stands(third));
  line.follow({}, second, now);
  EXPECT_FALSE(line.successor(now)) << "whoever stood ready did so for the one before";
  waits(first);
  EXPECT_TRUE(line.invite());
  line.follow({'w' + fourth}, second, now);
  EXPECT_EQ(line.invite(), invites(fourth, {'w' + first}));
}

TEST_F(SuccessionTest, WhoeverHasTheLockWaitsNoMore) {
  line.follow({'w' + second, 'w' + third}, second, now);
  EXPECT_EQ(ids(), Entries{third});
}

TEST_F(SuccessionTest, NobodyHasTwoPlacesInALine) {
  line.follow({'w' + third, 'w' + first, 'w' + third, 'w' + first}, second, now);
  EXPECT_EQ(ids(), (Entries{third, first}));
}

TEST_F(SuccessionTest, ALineThatIsPassedOnStaysShort) {
  for (unsigned i = 0; i < 3 * Succession::passed_on_max; ++i) waits(id_of(i));
  const Entries sent = line.line();
  ASSERT_EQ(sent.size(), Succession::passed_on_max);
  EXPECT_EQ(sent.back(), 'w' + id_of(Succession::passed_on_max - 1)) << "and begins at its beginning";
  const auto woken = decode_hint(line.wake().front().payload);
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->queue.size(), Succession::passed_on_max);
  EXPECT_EQ(woken->queue.front(), 'w' + id_of(1));
}

TEST_F(SuccessionTest, WhatNobodyOfUsWroteIsNoPlaceInALine) {
  const std::string id = id_of(0xab);
  for (const std::string& entry : {std::string(),
                                   std::string("w"),
                                   id,
                                   'x' + id,
                                   'W' + id,
                                   "ww" + id,
                                   'w' + id + '0',
                                   'w' + id.substr(1),
                                   'w' + id.substr(1) + 'A',
                                   'w' + id.substr(1) + 'g',
                                   'w' + id.substr(1) + '-',
                                   'w' + id.substr(1) + '\n',
                                   'w' + id.substr(1) + '\0',
                                   "w\xc3\xa9" + id.substr(2),
                                   'w' + id + ':',
                                   'w' + id + ":1s",
                                   'w' + id + ": 1",
                                   'w' + id + ":1:1",
                                   'w' + id + ":99999999999999999999",
                                   std::string(":250"),
                                   std::string(1UL << 20, 'a')}) {
    line = Succession("L");
    line.follow({entry, 'w' + first}, second, now);
    EXPECT_EQ(line.line(), Entries{'w' + first}) << entry.substr(0, 80);
  }
}

}  // namespace
}  // namespace sublock::core
