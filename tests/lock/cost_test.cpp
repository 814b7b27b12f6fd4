// SPDX-License-Identifier: MIT

// What operations cost, to the message and the allocation: the benchmarks print these figures, and here is
// where a change of them is noticed.

#include <gtest/gtest.h>

#include "../../benchmarks/costs.hpp"

#include <ostream>
#include <vector>

namespace bench {

std::ostream& operator<<(std::ostream& out, const Cost& cost) {
  return out << '{' << '"' << cost.what << "\", " << cost.round_trips << ", " << cost.commands << ", "
             << cost.messages << ", " << cost.allocations << '}';
}

namespace {

TEST(Costs, AreWhatTheyWere) {
  const std::vector<Cost> expected{
      {"acquire + release, free", 2, 9, 0, 39},        //
      {"try_lock, held", 4, 14, 3, 113},               //
      {"probe, holders: 1", 2, 6, 2, 77},              //
      {"probe, holders: 10", 11, 15, 20, 462},         //
      {"probe, holders: 100", 101, 105, 200, 4269},    //
      {"core alone, one ping answered", 0, 0, 0, 18},  //
      {"  of these, encoding the answer", 0, 0, 0, 2},
  };
#if !SUBLOCK_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "allocations are not counted here";
#endif
  EXPECT_EQ(costs(), expected);
}

}  // namespace
}  // namespace bench
