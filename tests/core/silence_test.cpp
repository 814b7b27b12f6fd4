// SPDX-License-Identifier: MIT

// Conversations with people who don't answer (R12): who is suspected, who is asked again, and who is killed.

#include "conversation.hpp"

#include <gtest/gtest.h>
#include <sublock/reaper/never.hpp>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

Connection ear_of(const std::string& id, std::int64_t connection) {
  return {connection, client_name("L", id)};
}

/// The second participant, beside two others of whom the first answers and the third does not.
class Silence : public testing::Test {
 protected:
  static Request shared() {
    Request request;
    request.mode = LockMode::shared;
    return request;
  }

  void asks(const Request& request = shared()) {
    talk.joins_beside(2, request);
    is_half_answered();
  }

  void is_half_answered() {
    talk.reached(3);
    talk.hears_answer(from(first, HolderMode::shared));
    EXPECT_EQ(talk.concludes(), nothing);
  }

  /// Counts again at least four times a second; patience is one second.
  Said loses_patience() {
    Said said;
    for (int quarter = 0; quarter < 4; ++quarter) {
      said = talk.after(250ms);
      EXPECT_TRUE(quarter == 3 || said == Said{action::Count{"L"}});
    }
    std::erase(said, Action{action::Count{"L"}});
    return said;
  }

  void is_suspected(const std::vector<Connection>& connections) {
    ASSERT_EQ(loses_patience(), list);
    ASSERT_EQ(talk.hears(event::Listed{connections}), Said{talk.listen()});
    talk.asks_again();
  }

  /// On the second question a life depends: it gets all of its time, and then a list of its own.
  Said is_silent_again(const std::vector<Connection>& connections) {
    EXPECT_EQ(talk.after(1s), list);
    return talk.hears(event::Listed{connections});
  }

  const std::vector<Connection> everybody{ear_of(first, 11), ear_of(second, 12), ear_of(third, 13)};
  Conversation<> talk;
};

TEST_F(Silence, WhoIsSilentTwiceIsKilled) {
  asks();
  EXPECT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.phase(), Phase::examining);
  EXPECT_EQ(talk.hears(event::Listed{everybody}), Said{talk.listen()})
      << "nobody is killed after one silence";
  EXPECT_EQ(talk.hears(event::Listening{talk.channel()}), Said{talk.ping(HolderMode::shared)});
  is_half_answered();
  EXPECT_EQ(talk.after(999ms), nothing) << "on the second question a life depends: it gets all of its time";
  EXPECT_EQ(talk.after(1ms), list) << "are they there still?";
  EXPECT_EQ(talk.phase(), Phase::examining);
  EXPECT_EQ(talk.hears(event::Listed{everybody}), (Said{action::Kill{{13}}}));
  EXPECT_EQ(talk.phase(), Phase::killing);
  const Said said = talk.hears(event::Killed{1});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_NE(std::get<action::Warn>(said[0]).text.find(third), std::string::npos);
  EXPECT_EQ(said[1], talk.listen()) << "and then all who are left are asked";
}

TEST_F(Silence, WhoAnswersTheSecondTimeIsSpared) {
  asks();
  is_suspected(everybody);
  talk.reached(3);
  talk.hears_answer(from(first, HolderMode::shared));
  talk.hears_answer(from(third, HolderMode::shared));
  talk.concludes();
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Silence, OnlyThoseWhoWereSilentBothTimesAreKilled) {
  talk.joins_beside(3, shared());
  talk.reached(4);
  talk.hears_answer(from(first, HolderMode::shared));
  is_suspected({ear_of(first, 11), ear_of(second, 12), ear_of(third, 13), ear_of(fourth, 14)});
  talk.reached(4);
  talk.hears_answer(from(third, HolderMode::shared));
  EXPECT_EQ(is_silent_again({ear_of(first, 11), ear_of(second, 12), ear_of(third, 13), ear_of(fourth, 14)}),
            (Said{action::Kill{{14}}}))
      << "the first was silent too, but for the first time";
}

TEST_F(Silence, NobodyIsKilledWhileAnswersComeIn) {
  asks();
  is_suspected(everybody);
  EXPECT_EQ(talk.after(900ms), nothing);
  talk.hears(event::Pinged{talk.channel(), 3, 3});
  EXPECT_EQ(talk.after(900ms), nothing) << "the server had not delivered it before";
  talk.hears_ping(talk.own_ping(HolderMode::shared));
  EXPECT_EQ(talk.after(900ms), nothing) << "nor had we heard it";
  talk.hears_answer(from(first, HolderMode::shared));
  EXPECT_EQ(talk.after(900ms), nothing) << "who needs so long is alive, and so may the third be";
  talk.hears_answer(from(first, HolderMode::shared));
  EXPECT_EQ(talk.after(100ms), list) << "the same answer twice is no news";
  EXPECT_EQ(talk.hears(event::Listed{everybody}), (Said{action::Kill{{13}}}));
}

TEST_F(Silence, WhereNoSuspectIsSilentAgainItAsksOnceMore) {
  asks();
  is_suspected(everybody);
  talk.reached(3);
  talk.hears_answer(from(third, HolderMode::shared));
  EXPECT_EQ(is_silent_again(everybody), Said{talk.listen()});
}

TEST_F(Silence, StrangersAreLeftOutOfAccountAndNamedInAWarning) {
  asks();
  ASSERT_EQ(loses_patience(), list);
  const Said said = talk.hears(event::Listed{{ear_of(first, 11), ear_of(second, 12), {13, "redis-cli"}}});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<action::Warn>(said[0]).text, talk.participant().strangers());
  EXPECT_EQ(talk.participant().strangers().substr(0, 2), "1 ");
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Silence, WhoHasAnsweredSinceIsNoSuspectAnyMore) {
  const std::vector<Connection> all{ear_of(first, 11), ear_of(second, 12), ear_of(third, 13), {14, ""}};
  const Holder reads = from(first, HolderMode::shared);
  talk.joins_beside(3);
  talk.reached(4);
  talk.hears_answer(reads);
  is_suspected(all);
  talk.reached(4);
  talk.hears_answer(reads);
  talk.hears_answer(from(third, HolderMode::shared));
  is_silent_again(all);
  ASSERT_EQ(talk.phase(), Phase::resting) << "a writer who stands, for two read and one is a stranger";
  while (talk.phase() == Phase::resting) talk.after_next_timer();
  talk.asks_again();
  talk.reached(4);
  talk.hears_answer(reads);
  EXPECT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.hears(event::Listed{all}), Said{talk.listen()})
      << "the third has been silent before, but not to the question before this one";
}

TEST_F(Silence, NamesOfOtherChannelsAreStrangers) {
  asks();
  ASSERT_EQ(loses_patience(), list);
  talk.hears(event::Listed{{ear_of(first, 11),
                            ear_of(second, 12),
                            {13, "LL-lock-" + third},
                            {14, "L-lock-" + third + "0"},
                            {15, "L-lock-tool"},
                            {16, ""}}});
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Silence, AnOwnerAmongStrangersStillOwns) {
  Request writer;
  talk.joins_beside(2, writer);
  talk.reached(3);
  talk.hears_answer(from(third, HolderMode::pending));
  ASSERT_EQ(loses_patience(), list);
  talk.hears_answer(from(first, HolderMode::exclusive));
  EXPECT_EQ(talk.hears(event::Listed{{ear_of(first, 11), ear_of(second, 12), ear_of(third, 13)}}), leave);
}

TEST_F(Silence, AWriterMayTakeItDespiteStrangers) {
  talk.joins_beside(1);
  talk.reached(2);
  ASSERT_EQ(loses_patience(), list);
  talk.hears(event::Listed{{ear_of(second, 12), {13, ""}}});
  EXPECT_TRUE(talk.participant().holds());
}

TEST_F(Silence, TwoConnectionsWithOurNameProveNothing) {
  asks();
  ASSERT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.hears(event::Listed{{ear_of(second, 11), ear_of(second, 12)}}), leave);
  EXPECT_NE(talk.participant().trouble().find(second), std::string::npos);
}

TEST_F(Silence, AnOldHolderWhoIsSilentIsSuspectedByHisName) {
  talk.joins_beside(1);
  talk.reached(2);
  is_suspected({ear_of(second, 12), {13, "L-lock"}});
  talk.reached(2);
  EXPECT_EQ(is_silent_again({ear_of(second, 12), {13, "L-lock"}}), (Said{action::Kill{{13}}}));
}

TEST_F(Silence, OneAnswerOfTheOldProtocolClearsAllOfThem) {
  talk.joins_beside(3, shared());
  talk.reached(4);
  is_suspected({ear_of(second, 12), {13, "L-lock"}, ear_of(third, 14)});
  talk.reached(4);
  talk.hears_answer_as_written("1700000000.5");
  EXPECT_EQ(talk.concludes(), leave) << "it counts as an owner";
}

TEST_F(Silence, ItsOwnSilenceProvesNothing) {
  talk.joins_beside(1);
  talk.hears(event::Pinged{talk.channel(), 2, 2});
  EXPECT_EQ(loses_patience(), leave);
  EXPECT_FALSE(talk.participant().trouble().empty());
}

TEST_F(Silence, APingNobodyConfirmsProvesNothing) {
  talk.joins_beside(1);
  talk.hears_ping(talk.own_ping());
  EXPECT_EQ(loses_patience(), leave);
}

TEST_F(Silence, WhoHasGoneIsNotWaitedFor) {
  asks();
  EXPECT_EQ(talk.after(250ms), Said{action::Count{"L"}});
  EXPECT_EQ(talk.hears(event::Counted{2}), Said{talk.listen()}) << "one of three has gone: the rest is asked";
}

TEST_F(Silence, WhoGoesWhileHeIsAskedIsSoonFoundOut) {
  asks();
  EXPECT_EQ(talk.after(10ms - 1ns), nothing);
  EXPECT_EQ(talk.after(1ns), Said{action::Count{"L"}});
  EXPECT_EQ(talk.hears(event::Counted{3}), nothing);
  for (const auto pause : {20ms, 40ms, 80ms, 160ms, 250ms, 250ms}) {
    EXPECT_EQ(talk.after(pause - 1ns), nothing) << "less and less often";
    EXPECT_EQ(talk.after(1ns), Said{action::Count{"L"}});
  }
  EXPECT_EQ(talk.hears(event::Counted{2}), Said{talk.listen()});
  talk.asks_again();
  EXPECT_EQ(talk.after(10ms), Said{action::Count{"L"}}) << "those who are left, too";
}

TEST_F(Silence, WhoHasNotGoneIsWaitedFor) {
  asks();
  talk.after(250ms);
  EXPECT_EQ(talk.hears(event::Counted{3}), nothing);
  EXPECT_EQ(talk.hears(event::Counted{4}), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST_F(Silence, AskingTheRestTakesNoLongerThanThePatience) {
  asks();
  talk.after(250ms);
  talk.hears(event::Counted{2});
  talk.asks_again();
  talk.reached(2);
  EXPECT_EQ(talk.after(500ms), Said{action::Count{"L"}});
  EXPECT_EQ(talk.after(250ms), list);
}

// --- where the server won't help ---------------------------------------------------------------------

const Failure no_permission{Errc::permission,
                            "NOPERM this user has no permissions to run the 'client|list' command"};

TEST_F(Silence, AListThatIsRefusedIsReported) {
  asks();
  ASSERT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.hears(event::Refused{Verb::list, no_permission}), leave);
  EXPECT_NE(talk.participant().trouble().find("NOPERM"), std::string::npos);
}

TEST_F(Silence, AKillThatIsRefusedIsReported) {
  asks();
  is_suspected(everybody);
  is_half_answered();
  ASSERT_EQ(is_silent_again(everybody), (Said{action::Kill{{13}}}));
  EXPECT_EQ(talk.hears(event::Refused{Verb::kill, no_permission}), leave);
  EXPECT_NE(talk.participant().trouble().find("NOPERM"), std::string::npos);
}

TEST_F(Silence, ACountThatIsRefusedIsNoMatter) {
  asks();
  talk.after(250ms);
  EXPECT_EQ(talk.hears(event::Refused{Verb::count, no_permission}), nothing);
  EXPECT_EQ(talk.phase(), Phase::probing);
}

TEST_F(Silence, AListThatNeverComesIsNotWaitedForForEver) {
  asks();
  ASSERT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.after(1s), leave);
}

TEST_F(Silence, AKillThatIsNeverConfirmedIsNotWaitedForForEver) {
  asks();
  is_suspected(everybody);
  is_half_answered();
  is_silent_again(everybody);
  ASSERT_EQ(talk.phase(), Phase::killing);
  EXPECT_EQ(talk.after(1s), leave);
}

TEST_F(Silence, WhoMayNotKillWaits) {
  Conversation<NeverReap> gentle;
  gentle.joins_beside(1);
  gentle.reached(2);
  EXPECT_EQ(gentle.after(1s), (Said{action::Leave{}}));
  EXPECT_EQ(gentle.participant().trouble().substr(0, 6), "1 of 2");
}

TEST_F(Silence, WhoTriesOnceKillsNobody) {
  Request once;
  once.once = true;
  asks(once);
  ASSERT_EQ(loses_patience(), list);
  EXPECT_EQ(talk.hears(event::Listed{everybody}), leave);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::busy);
}

}  // namespace
}  // namespace sublock::core
