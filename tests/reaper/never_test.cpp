// SPDX-License-Identifier: MIT

// The safe null under the laws of all reapers.

#include <laws/reaper_laws.hpp>
#include <sublock/reaper/never.hpp>

namespace sublock::testing {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Never, ReaperLaws, NeverReap);

TEST(NeverReap, NeitherAsksNorSuspects) {
  EXPECT_FALSE(NeverReap::asks);
  const std::vector<Connection> connections = {{1, "a-lock-" + std::string(32, '1')}, {2, "a-lock"}};
  EXPECT_TRUE(
      NeverReap{}.examine({.stem = "a-lock", .answered = {}, .connections = connections}).suspects.empty());
}

}  // namespace
}  // namespace sublock::testing
