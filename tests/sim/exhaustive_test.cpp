// SPDX-License-Identifier: MIT

// Every order in which what is on its way can arrive, be executed, time out and break, for two and three
// participants: never two owners, and never a dead end. The participants are the shipping ones.
//
// The mixes are all there are: of a reader's id, nobody makes anything, so only how many writers there are
// matters, not their places.

#include "searches.hpp"

#include <gtest/gtest.h>

namespace sublock::sim {
namespace {

class Exhaustive : public testing::TestWithParam<Case> {};

TEST_P(Exhaustive, NothingIsFound) {
  const Case& one = GetParam();
  const Findings found = search(one.mix, one.circumstances, one.expectations);
  print(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + ('.' + one.name), found);
  EXPECT_EQ(found.fault, "");
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.cut, 0U) << "steps were left out, for worlds are too small";
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

/// Everybody may give up, lose patience and count again at any time, as often as he likes.
std::vector<Case> two_once() {
  std::vector<Case> cases;
  for (const std::string mix : {"WW", "WR", "RW", "RR"}) {
    cases.push_back({mix + "_kills", mix, {.kills = 2, .resets = true}, {}, Extent::small});
    cases.push_back({mix + "_losses", mix, {.losses = 2}, {}, Extent::small});
    cases.push_back({mix + "_breaks", mix, {.breaks = 1}, {}, Extent::small});
    cases.push_back({mix + "_one_of_each", mix, {.kills = 1, .losses = 1, .breaks = 1}, {}});
    cases.push_back({mix + "_fencing", mix, {.kills = 1, .breaks = 1, .fencing = true}, {}, Extent::small});
    cases.push_back(
        {mix + "_self_checks", mix, {.kills = 1, .breaks = 1, .self_checks = true}, {}, Extent::small});
    cases.push_back({mix + "_deadlines", mix, {.kills = 1, .deadlines = true}, {}, Extent::small});
    cases.push_back(
        {mix + "_join_without_count", mix, {.kills = 1, .join_counts = false}, {}, Extent::small});
    cases.push_back({mix + "_join_in_pieces",
                     mix,
                     {.kills = 1, .losses = 1, .join_in_pieces = true, .resets = true},
                     {},
                     Extent::small});
    cases.push_back({mix + "_stranger", mix, {.kills = 1, .stranger = true}, {}, Extent::small});
    cases.push_back({mix + "_nobody_may_look", mix, {.kills = 1, .may_look = false}, {}, Extent::small});
  }
  return cases;
}

/// Those written small hear by ears that they share; whoever is not heard of for a while may be frozen.
std::vector<Case> shared_ears() {
  std::vector<Case> cases;
  for (const std::string mix : {"wW", "Ww", "ww", "wR", "Wr", "wr", "rR"}) {
    const Extent usual = mix == "wW" || mix == "wR" ? Extent::standard : Extent::large;
    cases.push_back({mix + "_losses", mix, {.losses = 2}, {}, Extent::small});
    cases.push_back(
        {mix + "_kills", mix, {.kills = 2, .resets = true}, {}, mix == "wW" ? usual : Extent::large});
    cases.push_back({mix + "_stranger", mix, {.kills = 1, .stranger = true}, {}, usual});
    cases.push_back({mix + "_breaks", mix, {.breaks = 1}, {}, Extent::large});
    cases.push_back({mix + "_twice",
                     mix,
                     {.tries = 2, .recounts = false},
                     {},
                     mix == "ww" ? Extent::standard : Extent::large});
    cases.push_back({mix + "_twice_kills", mix, {.tries = 2, .kills = 1}, {}, Extent::large});
    cases.push_back({mix + "_twice_stranger", mix, {.tries = 2, .stranger = true}, {}, Extent::large});
    const Expectations alone{.lock_can_be_had = true, .silence_can_be_overcome = true};
    Circumstances how{.tries = 2, .recounts = false, .cancels = false};
    cases.push_back({mix + "_alone", mix, how, alone, usual});
    how.stranger = true;
    cases.push_back({mix + "_stranger_alone", mix, how, alone, Extent::large});
  }
  for (const std::string mix : {"wWW", "Www", "www", "wWR", "wrR"}) {
    cases.push_back({mix, mix, {.timeouts = 0, .recounts = false, .cancels = false}, {}, Extent::large});
    cases.push_back(
        {mix + "_timeouts", mix, {.timeouts = 1, .recounts = false, .cancels = false}, {}, Extent::large});
  }
  return cases;
}

std::vector<Case> two_twice() {
  std::vector<Case> cases;
  for (const std::string mix : {"WW", "WR", "RR"}) {
    cases.push_back({mix, mix, {.tries = 2}, {}, Extent::small});
    cases.push_back({mix + "_kills", mix, {.tries = 2, .kills = 1}});
    cases.push_back({mix + "_losses", mix, {.tries = 2, .losses = 1, .recounts = false}});
    cases.push_back({mix + "_kills_and_losses",
                     mix,
                     {.tries = 2, .kills = 1, .losses = 1, .recounts = false},
                     {},
                     mix == "RR" ? Extent::standard : Extent::large});
    cases.push_back({mix + "_breaks", mix, {.tries = 2, .timeouts = 1, .breaks = 1, .cancels = false}});
    cases.push_back({mix + "_join_without_count", mix, {.tries = 2, .join_counts = false}});
    cases.push_back({mix + "_join_in_pieces", mix, {.tries = 2, .recounts = false, .join_in_pieces = true}});
    cases.push_back({mix + "_join_in_pieces_kills",
                     mix,
                     {.tries = 2, .kills = 1, .losses = 1, .join_in_pieces = true},
                     {},
                     Extent::large});
    cases.push_back({mix + "_stranger", mix, {.tries = 2, .stranger = true}, {}, Extent::large});
    cases.push_back(
        {mix + "_three_times", mix, {.tries = 3, .recounts = false, .cancels = false}, {}, Extent::large});
    cases.push_back({mix + "_losses_and_recounts", mix, {.tries = 2, .losses = 1}, {}, Extent::large});
    cases.push_back({mix + "_all_breaks", mix, {.tries = 2, .breaks = 1}, {}, Extent::large});
    cases.push_back(
        {mix + "_kills_losses_and_recounts", mix, {.tries = 2, .kills = 1, .losses = 1}, {}, Extent::large});
    cases.push_back(
        {mix + "_kills_and_resets", mix, {.tries = 2, .kills = 2, .resets = true}, {}, Extent::large});
  }
  return cases;
}

/// For three, there are two faults in all, of whatever kinds: patience runs out for no reason, the server
/// drops an ear, or somebody's ear is lost. Nobody gives up without a reason. Without any fault, liveness()
/// looks for two owners as well.
std::vector<Case> three_once() {
  std::vector<Case> cases;
  for (const std::string mix : {"WWW", "WWR", "WRR", "RRR"}) {
    const bool cheap = mix == "WRR" || mix == "RRR";
    const unsigned any = Circumstances::endless;
    cases.push_back(
        {mix + "_two_faults",
         mix,
         {.timeouts = any, .kills = any, .losses = any, .faults = 2, .recounts = false, .cancels = false},
         {},
         mix == "RRR" ? Extent::standard : Extent::large});
    const Circumstances quick{.timeouts = 0, .recounts = false, .cancels = false};
    Circumstances how = quick;
    how.timeouts = 1;
    cases.push_back({mix + "_timeouts", mix, how, {}, cheap ? Extent::large : Extent::standard});
    how.recounts = true;
    cases.push_back({mix + "_timeouts_and_recounts", mix, how, {}, Extent::large});
    how.cancels = true;
    cases.push_back({mix + "_timeouts_recounts_and_cancels", mix, how, {}, Extent::large});
    how = quick;
    how.timeouts = Circumstances::endless;
    cases.push_back({mix + "_endless_timeouts", mix, how, {}, Extent::large});
    how = quick;
    how.recounts = true;
    how.kills = 1;
    cases.push_back({mix + "_kills", mix, how, {}, mix == "WRR" ? Extent::large : Extent::standard});
    how.kills = 0;
    how.losses = 1;
    cases.push_back({mix + "_losses", mix, how, {}, cheap ? Extent::large : Extent::standard});
    how.losses = 0;
    how.breaks = 1;
    cases.push_back({mix + "_breaks", mix, how, {}, Extent::large});
    how = quick;
    how.join_counts = false;
    cases.push_back({mix + "_join_without_count", mix, how});
    how.join_in_pieces = true;
    cases.push_back({mix + "_join_in_pieces", mix, how, {}, Extent::large});
    how.join_in_pieces = false;
    how.timeouts = 1;
    cases.push_back({mix + "_join_without_count_timeouts", mix, how, {}, Extent::large});
  }
  return cases;
}

/// From everywhere, somebody who may try once more can still get the lock, and nobody is stuck for good; no
/// fault to come, and no caller who gives up. Where it says `alone`, each can get it though the others say
/// nothing any more (R12).
std::vector<Case> liveness() {
  const Expectations together{.lock_can_be_had = true};
  const Expectations alone{.lock_can_be_had = true, .silence_can_be_overcome = true};
  std::vector<Case> cases;
  for (const std::string mix : {"WW", "WR", "RW", "RR"}) {
    const Circumstances how{.tries = 2, .recounts = false, .cancels = false};
    Circumstances quick = how;
    quick.timeouts = 0;
    cases.push_back({mix, mix, quick, together, Extent::small});
    cases.push_back({mix + "_alone", mix, how, alone});
    Circumstances faulty = how;
    faulty.kills = 1;
    cases.push_back({mix + "_kills_alone", mix, faulty, alone, Extent::large});
    faulty.kills = 0;
    faulty.losses = 1;
    cases.push_back({mix + "_losses_alone", mix, faulty, alone, Extent::large});
    faulty = how;
    faulty.stranger = true;
    cases.push_back({mix + "_stranger_alone", mix, faulty, alone});
    faulty.stranger = false;
    faulty.may_look = false;
    cases.push_back({mix + "_nobody_may_look", mix, faulty, together});
    faulty = how;
    faulty.join_in_pieces = true;
    cases.push_back({mix + "_join_in_pieces_alone", mix, faulty, alone});
  }
  for (const std::string mix : {"WWW", "WWR", "WRR", "RRR"}) {
    const Circumstances how{.timeouts = 0, .recounts = true, .cancels = true};
    cases.push_back({mix, mix, how, together, Extent::small});
    cases.push_back({mix + "_twice",
                     mix,
                     {.tries = 2, .timeouts = 0, .recounts = false, .cancels = false},
                     together,
                     Extent::large});
  }
  return cases;
}

/// While nothing fails, whoever waits for an answer gets it (R8), and waits for nothing else.
std::vector<Case> courtesy() {
  std::vector<Case> cases;
  for (const std::string mix : {"WW", "WR", "RR"}) {
    cases.push_back({mix,
                     mix,
                     {.tries = 3, .timeouts = 0, .recounts = false},
                     {.quiet_means_done = true},
                     Extent::small});
  }
  for (const std::string mix : {"WWW", "WWR", "WRR", "RRR"}) {
    cases.push_back({mix, mix, {.timeouts = 0, .recounts = false}, {.quiet_means_done = true}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(TwoOnce, Exhaustive, testing::ValuesIn(affordable(two_once())), name_of_case);
INSTANTIATE_TEST_SUITE_P(SharedEars, Exhaustive, testing::ValuesIn(affordable(shared_ears())), name_of_case);
INSTANTIATE_TEST_SUITE_P(TwoTwice, Exhaustive, testing::ValuesIn(affordable(two_twice())), name_of_case);
INSTANTIATE_TEST_SUITE_P(ThreeOnce, Exhaustive, testing::ValuesIn(affordable(three_once())), name_of_case);
INSTANTIATE_TEST_SUITE_P(Liveness, Exhaustive, testing::ValuesIn(affordable(liveness())), name_of_case);
INSTANTIATE_TEST_SUITE_P(Courtesy, Exhaustive, testing::ValuesIn(affordable(courtesy())), name_of_case);

}  // namespace
}  // namespace sublock::sim
