// SPDX-License-Identifier: MIT
#pragma once

// The laws of ElectionPolicy: a strict total order on what a participant announces. Nothing else keeps
// two winners apart, so every pair and every triple of some awkward candidates is tried.

#include <gtest/gtest.h>
#include <sublock/policies.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace sublock::testing {

/// The suite's parameter is the election itself, made by its default constructor.
template <class Election>
class ElectionLaws : public ::testing::Test {
 protected:
  /// Ids as ours, as other people's, and priorities from end to end; no two share an id.
  static std::vector<Candidate> candidates() {
    using namespace std::string_literals;
    std::vector<Candidate> all;
    const std::vector<std::int64_t> priorities = {
        0, 1, -1, 7, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    const std::vector<std::string> ids = {std::string(32, '0'),
                                          std::string(31, '0') + "1",
                                          "1" + std::string(31, '0'),
                                          std::string(32, '9'),
                                          std::string(32, 'a'),
                                          std::string(32, 'f'),
                                          "0123456789abcdef0123456789abcdef",
                                          "",
                                          "0",
                                          "00",
                                          "A",
                                          "a",
                                          "a\0"s,
                                          "a\0b"s,
                                          "peer 7",
                                          "\x7f",
                                          "\x80",
                                          "\xff\xff"};
    for (std::size_t i = 0; i < ids.size(); ++i) {
      all.push_back({ids[i], priorities[i % priorities.size()]});
    }
    std::mt19937 random(20);  // a fixed seed: the same candidates in every run
    for (int i = 0; i < 20; ++i) {
      std::string id;
      while (id.size() < 32) id += "0123456789abcdef"[random() % 16];
      all.push_back({id, static_cast<std::int64_t>(random() % 3)});
    }
    return all;
  }

  Election election{};
};

TYPED_TEST_SUITE_P(ElectionLaws);

TYPED_TEST_P(ElectionLaws, NobodyComesBeforeItself) {
  for (const Candidate& a : this->candidates()) EXPECT_FALSE(this->election.before(a, a)) << a.holder_id;
}

TYPED_TEST_P(ElectionLaws, OfTwoIdsExactlyOneComesFirst) {
  const auto all = this->candidates();
  for (const Candidate& a : all) {
    for (const Candidate& b : all) {
      if (a.holder_id == b.holder_id) continue;
      EXPECT_NE(this->election.before(a, b), this->election.before(b, a))
          << a.holder_id << ' ' << b.holder_id;
    }
  }
}

TYPED_TEST_P(ElectionLaws, TheOrderIsTransitive) {
  const auto all = this->candidates();
  for (const Candidate& a : all) {
    for (const Candidate& b : all) {
      if (!this->election.before(a, b)) continue;
      for (const Candidate& c : all) {
        if (this->election.before(b, c)) {
          EXPECT_TRUE(this->election.before(a, c)) << a.holder_id << ' ' << b.holder_id << ' ' << c.holder_id;
        }
      }
    }
  }
}

TYPED_TEST_P(ElectionLaws, EverySubsetHasOneWinnerWhoeverAsks) {
  std::mt19937 random(7);
  auto all = this->candidates();
  for (int round = 0; round < 200; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    const std::vector<Candidate> some(all.begin(), all.begin() + 1 + static_cast<int>(random() % 6));
    const auto wins = [&](const Candidate& one) {
      return std::ranges::all_of(
          some, [&](const Candidate& other) { return one == other || this->election.before(one, other); });
    };
    EXPECT_EQ(std::ranges::count_if(some, wins), 1);
  }
}

TYPED_TEST_P(ElectionLaws, ACopyInAnotherProcessDecidesTheSame) {
  const auto all = this->candidates();
  const TypeParam another{};
  const TypeParam copy = this->election;
  for (const Candidate& a : all) {
    for (const Candidate& b : all) {
      const bool first = this->election.before(a, b);
      EXPECT_EQ(first, copy.before(a, b));
      EXPECT_EQ(first, another.before(a, b));
      EXPECT_EQ(first, this->election.before(a, b)) << "nor may it change its mind";
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(ElectionLaws, NobodyComesBeforeItself, OfTwoIdsExactlyOneComesFirst,
                            TheOrderIsTransitive, EverySubsetHasOneWinnerWhoeverAsks,
                            ACopyInAnotherProcessDecidesTheSame);

}  // namespace sublock::testing
