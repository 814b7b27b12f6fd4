// SPDX-License-Identifier: MIT

// The judge of a soak, on histories that are made up: it must see what is wrong, and excuse what is not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <soak/judge.hpp>
#include <soak/plan.hpp>

#include <string>
#include <vector>

namespace soak {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SoakJudge : public ::testing::Test {
 protected:
  /// A process that says this, and has one more turn at the end.
  void say(std::vector<std::string> lines, bool exclusive = true) {
    const auto who = static_cast<unsigned>(history.tales.size());
    const std::string later = std::to_string(100 + who);
    lines.insert(lines.end(),
                 {later + ".1 TRY", later + ".2 GOT", later + ".3 LEAVING", later + ".4 RELEASED"});
    history.tales.push_back(read(who, exclusive, lines));
  }
  [[nodiscard]] Judgement verdict() const { return judge(history, {.progress = 200}); }
  [[nodiscard]] std::vector<std::string> complaints() const { return verdict().complaints; }

  History history;
};

TEST_F(SoakJudge, LetsThoseWhoTakeTurnsAlone) {
  say({"1.0 TRY", "1.1 GOT", "1.3 LEAVING", "1.5 RELEASED"});
  say({"1.0 TRY", "1.4 GOT", "1.6 LEAVING", "1.7 RELEASED"});
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_EQ(verdict().overlaps, 0);
}

TEST_F(SoakJudge, LetsReadersShare) {
  say({"1.0 TRY", "1.1 GOT", "1.5 LEAVING"}, false);
  say({"1.0 TRY", "1.2 GOT", "1.6 LEAVING"}, false);
  EXPECT_THAT(complaints(), IsEmpty());
}

TEST_F(SoakJudge, SeesTwoOwners) {
  say({"1.0 TRY", "1.1 GOT", "1.5 LEAVING"});
  say({"1.0 TRY", "1.2 GOT", "1.6 LEAVING"}, false);
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("processes 0 and 1 both held the lock, for 0.300000 s")));
}

TEST_F(SoakJudge, ExcusesALoserOnceItsConnectionWasKilled) {
  say({"1.0 TRY", "1.1 GOT", "1.5 LOST gone"});
  say({"1.0 TRY", "1.3 GOT", "1.6 LEAVING"});
  history.causes = {{1.2, 1.2, 0U}};
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_NEAR(verdict().longest_notice, 0.3, 1e-9);
  EXPECT_NEAR(verdict().longest_overlap, 0.2, 1e-9);
}

TEST_F(SoakJudge, ExcusesNoOverlapThatBeganBeforeTheCause) {
  say({"1.0 TRY", "1.1 GOT", "1.5 LOST gone"});
  say({"1.0 TRY", "1.3 GOT", "1.6 LEAVING"});
  history.causes = {{1.4, 1.4, 0U}};
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("both held")));
}

TEST_F(SoakJudge, ExcusesNobodyForWhatWasDoneToOthers) {
  say({"1.0 TRY", "1.1 GOT", "1.5 LOST gone"});
  say({});
  history.causes = {{1.2, 1.2, 1U}};
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("process 0 lost the lock, and nothing had been done")));
}

TEST_F(SoakJudge, CountsNoticeFromTheFreezersDoor) {
  say({"1.0 TRY", "1.1 GOT", "5.5 LOST gone"});
  say({"1.0 TRY", "3.3 GOT", "9.0 LEAVING"});
  history.freezes = {{0, 1.2, 5.0}};
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_NEAR(verdict().longest_notice, 0.5, 1e-9);
  EXPECT_NEAR(verdict().longest_overlap, 2.2, 1e-9);
  EXPECT_NEAR(verdict().longest_overlap_awake, 0.5, 1e-9);
}

TEST_F(SoakJudge, CountsNoOverlapInTheFreezerAsAwake) {
  say({"1.0 TRY", "1.1 GOT", "5.5 LOST gone"});
  say({"1.0 TRY", "3.3 GOT", "4.0 LEAVING"});
  history.freezes = {{0, 1.2, 5.0}};
  EXPECT_NEAR(verdict().longest_overlap, 0.7, 1e-9);
  EXPECT_EQ(verdict().longest_overlap_awake, 0);
}

TEST_F(SoakJudge, TakesAFreezeOfTheWaiterForNoCauseIfThereIsABetterOne) {
  say({"1.0 TRY", "9.0 GOT", "9.2 LOST gone"});
  history.freezes = {{0, 2.0, 4.0}};
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("learned of its loss after 5.200 s")));
  history.causes = {{9.1, 9.1, {}}};
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_NEAR(verdict().longest_notice, 0.1, 1e-9);
}

TEST_F(SoakJudge, KnowsThatAServerTakesItsTimeToEnd) {
  say({"1.0 TRY", "1.1 GOT", "1.9 LOST gone"});
  history.causes = {{0.5, 1.8, {}}};
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_NEAR(verdict().longest_notice, 0.9, 1e-9);
  EXPECT_EQ(verdict().losses_awake, 0);
}

TEST_F(SoakJudge, SeesALossThatIsNoticedLate) {
  say({"1.0 TRY", "1.1 GOT", "8.5 LOST gone"});
  history.freezes = {{0, 1.2, 5.0}};
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("learned of its loss after 3.500 s")));
}

TEST_F(SoakJudge, ExcusesNoLossByAFreezeThatWasTooShort) {
  say({"1.0 TRY", "1.1 GOT", "1.9 LOST gone"});
  history.freezes = {{0, 1.2, 1.8}};
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("nothing had been done")));
}

TEST_F(SoakJudge, CountsThoseWhomOthersKilledAwake) {
  say({"1.0 TRY", "1.1 GOT", "1.9 LOST gone"});
  history.reaped[0] = 1;
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_EQ(verdict().losses_awake, 1);
}

TEST_F(SoakJudge, TakesALossInTheLastInstantForTheEndOfTheHoldBeforeIt) {
  say({"1.0 TRY", "1.1 GOT", "1.4 LEAVING", "1.5 LOST gone"});
  say({"1.0 TRY", "1.45 GOT", "1.6 LEAVING"});
  history.causes = {{1.3, 1.3, 0U}};
  EXPECT_EQ(verdict().overlaps, 0);
  EXPECT_EQ(verdict().losses, 1);
}

TEST_F(SoakJudge, SeesTokensThatShrinkOrRepeat) {
  say({"1.0 TRY", "1.1 GOT token=5", "1.2 LEAVING", "2.0 TRY", "2.1 GOT token=4", "2.2 LEAVING"});
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("token 4 after greater ones")));
  say({"3.0 TRY", "3.1 GOT token=5", "3.2 LEAVING"});
  EXPECT_THAT(complaints(), ::testing::Contains(HasSubstr("token 5 was given twice")));
}

TEST_F(SoakJudge, SeesWhoeverStandsStill) {
  say({"1.0 TRY"});
  history.causes = {{2.0, 2.0, {}}};
  EXPECT_THAT(judge(history, {.progress = 97}).complaints, ElementsAre(HasSubstr("no turn within 97 s")));
  EXPECT_THAT(judge(history, {.progress = 99}).complaints, IsEmpty());
}

TEST(SoakPlan, IsTheSameForTheSameSeed) {
  const auto one = plan(7, 60);
  const auto same = plan(7, 60);
  const auto other = plan(8, 60);
  ASSERT_EQ(one.size(), same.size());
  EXPECT_GT(one.size(), 60U);
  EXPECT_TRUE(std::ranges::equal(one, same, {}, &Fault::at, &Fault::at));
  EXPECT_FALSE(std::ranges::equal(one, other, {}, &Fault::at, &Fault::at));
}

TEST(SoakPlan, HasFaultsOfEveryKind) {
  const auto faults = plan(1, 60);
  for (const What what :
       {What::freeze, What::freeze_holder, What::kill_ear, What::kill_mouth, What::crash, What::shut_down})
    EXPECT_GT(std::ranges::count(faults, what, &Fault::what), 0) << static_cast<int>(what);
}

}  // namespace
}  // namespace soak
