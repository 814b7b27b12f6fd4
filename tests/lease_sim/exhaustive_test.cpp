// SPDX-License-Identifier: MIT

// Every order in which the commands of two and three leaseholders, the answers and the hours can come, with
// connections that break and clocks that stand still: never two owners, nor an owner without the key, nor tokens
// out of order, nor a key that stays; and never a dead end. Participants may be slow, or dead, at any point: nobody
// need ever do a thing. How long it all takes is not bounded.

#include "searches.hpp"

#include <gtest/gtest.h>

namespace sublock::lease_sim {
namespace {

void expect_nothing(const Case& one, const Expectations& expectations) {
  const Findings found = search(one.circumstances, expectations);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  print(std::string(test->test_suite_name()) + '.' + one.name, found);
  EXPECT_EQ(found.fault, "");
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.cut, 0U) << "steps were left out, for worlds are too small";
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class Safety : public testing::TestWithParam<Case> {};
class Liveness : public testing::TestWithParam<Case> {};

TEST_P(Safety, NothingIsFound) { expect_nothing(GetParam(), {}); }
TEST_P(Liveness, WhoeverWaitsCanGetIt) { expect_nothing(GetParam(), {.lock_can_be_had = true}); }

std::vector<Case> safety() {
  return {
      {"calm", {}, Extent::small},
      {"a_longer_lease", {.expire = 3}, Extent::small},
      {"twice", {.tries = 2, .cancels = false}, Extent::small},
      {"deadlines", {.cancels = false, .deadlines = true}},
      {"breaks", {.cancels = false, .breaks = 1}},
      {"losses", {.cancels = false, .losses = 1}},
      {"refusals", {.cancels = false, .refusals = 1}},
      {"doubts", {.cancels = false, .doubts = 1}},
      {"sleeps", {.cancels = false, .sleeps = 1, .late_doubts = true}},
      {"fencing", {.fencing = true, .cancels = false}},
      {"three", {.players = 3, .cancels = false}},
      {"a_long_lease", {.expire = 5}, Extent::large},
      {"refusals_cancels", {.refusals = 1}, Extent::large},
      {"doubts_cancels", {.doubts = 1}, Extent::large},
      {"fencing_cancels", {.fencing = true}, Extent::large},
      {"fencing_refusals", {.fencing = true, .cancels = false, .refusals = 1}, Extent::large},
      {"breaks_cancels", {.breaks = 1}, Extent::large},
      {"losses_cancels", {.losses = 1}, Extent::large},
      {"two_breaks", {.cancels = false, .breaks = 2}, Extent::large},
      {"breaks_losses", {.cancels = false, .breaks = 1, .losses = 1}, Extent::large},
      {"breaks_sleeps", {.cancels = false, .breaks = 1, .sleeps = 1, .late_doubts = true}, Extent::large},
      {"twice_breaks", {.tries = 2, .cancels = false, .breaks = 1}, Extent::large},
      {"fencing_breaks", {.fencing = true, .cancels = false, .breaks = 1}, Extent::large},
      {"fencing_losses", {.fencing = true, .cancels = false, .losses = 1}, Extent::large},
      {"fencing_sleeps",
       {.fencing = true, .cancels = false, .sleeps = 1, .late_doubts = true},
       Extent::large},
      {"three_cancels", {.players = 3}, Extent::large},
  };
}

/// From everywhere, though all others are dead by then, and hold it, as far as others know.
std::vector<Case> liveness() {
  return {
      {"calm", {.cancels = false, .symmetric = false}, Extent::small},
      {"breaks", {.cancels = false, .breaks = 1, .symmetric = false}, Extent::large},
      {"losses", {.cancels = false, .losses = 1, .symmetric = false}},
      {"refusals", {.cancels = false, .refusals = 1, .symmetric = false}},
      {"fencing", {.fencing = true, .cancels = false, .symmetric = false}},
      {"alone_fencing",
       {.players = 1, .fencing = true, .breaks = 1, .losses = 1, .refusals = 1},
       Extent::small},
  };
}

INSTANTIATE_TEST_SUITE_P(Lease, Safety, testing::ValuesIn(affordable(safety())), name_of_case);
INSTANTIATE_TEST_SUITE_P(Lease, Liveness, testing::ValuesIn(affordable(liveness())), name_of_case);

// --- what the search passes over ----------------------------------------------------------------------

/// It finds the same where it passes over nothing.
TEST(Shortcuts, HideNothing) {
  for (const Circumstances& how : {Circumstances{.cancels = false},
                                   {.players = 1, .breaks = 1, .losses = 1},
                                   {.players = 1, .fencing = true, .breaks = 1, .sleeps = 1}}) {
    Circumstances all = how;
    all.lean = all.symmetric = false;
    all.exact = true;
    const Findings found = search(all);
    print("without shortcuts", found);
    EXPECT_EQ(found.fault, "");
    EXPECT_TRUE(found.complete);
    EXPECT_GT(found.worlds, search(how).worlds);
  }
}

}  // namespace
}  // namespace sublock::lease_sim
