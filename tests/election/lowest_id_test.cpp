// SPDX-License-Identifier: MIT

// The lowest id under the laws of all elections, and what every peer in Python takes for granted of it.

#include <laws/election_laws.hpp>
#include <sublock/election/lowest_id.hpp>

namespace sublock::testing {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(LowestId, ElectionLaws, LowestIdElection);

TEST(LowestIdElection, TheLowerIdGoesFirst) {
  constexpr LowestIdElection election;
  EXPECT_TRUE(election.before({"0a"}, {"0b"}));
  EXPECT_FALSE(election.before({"0b"}, {"0a"}));
  EXPECT_TRUE(election.before({"9"}, {"a"}));
  EXPECT_TRUE(election.before({"0"}, {"00"})) << "a prefix goes first, as in Python";
}

TEST(LowestIdElection, PrioritiesDoNotMatter) {
  constexpr LowestIdElection election;
  EXPECT_TRUE(election.before({"a", -5}, {"b", 5}));
  EXPECT_TRUE(election.before({"a", 5}, {"b", -5}));
}

TEST(LowestIdElection, BytesAboveAsciiAreHighNotNegative) {
  EXPECT_TRUE(LowestIdElection{}.before({"z"}, {"\xc3\xa9"}));
}

}  // namespace
}  // namespace sublock::testing
