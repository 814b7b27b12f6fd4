// SPDX-License-Identifier: MIT

// The lock under simulated weather: many worlds, each from a seed. A failure prints the line that replays it;
// with SUBLOCK_SEED set, only that one runs, and tells its story.

#include <gtest/gtest.h>
#include <seeded/storm.hpp>
#include <support/sanitized.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <string>

namespace sublock::testing {

/// R6 left out: whoever pings me is no candidate.
struct DeafToPingers : LowestIdElection {};

}  // namespace sublock::testing

template <>
inline constexpr sublock::core::Rules sublock::core::rules_of<sublock::testing::DeafToPingers>{
    .pinger_is_candidate = false};

namespace sublock::testing {
namespace {

/// In all shards together at least 100,000; a sanitizer makes each many times as dear.
constexpr std::size_t acquisitions_wanted = support::sanitized ? 1'000 : 26'000;

std::optional<std::uint64_t> seed_to_replay() {
  const char* text = std::getenv("SUBLOCK_SEED");
  if (text == nullptr) return {};
  return std::strtoull(text, nullptr, 0);
}

std::string replay_line(std::uint64_t seed) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return "SUBLOCK_SEED=" + std::to_string(seed) +
         " ./sublock_seeded_tests --gtest_filter=" + test->test_suite_name() + "." + test->name();
}

/// Runs one world; false, with the line that replays it, where it broke a rule.
bool is_sound(std::uint64_t seed, bool tells, Report& total) {
  const Report report = simulate<>(seed, tells);
  for (const std::string& line : report.diary) std::cout << line << '\n';
  total.acquisitions += report.acquisitions;
  total.losses += report.losses;
  total.kills += report.kills;
  total.faults += report.faults;
  total.slowest = std::max(total.slowest, report.slowest);
  if (report.violations.empty()) return true;
  ADD_FAILURE() << report.violations.front() << " (and " << report.violations.size() - 1
                << " more)\nreplay: " << replay_line(seed);
  return false;
}

class Seeded : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Seeded, WorldsAreSound) {
  Report total;
  if (const auto seed = seed_to_replay()) {
    is_sound(*seed, true, total);
    return;
  }
  std::uint64_t seed = GetParam() * 1'000'000;
  std::size_t worlds = 0;
  for (; total.acquisitions < acquisitions_wanted; ++worlds) {
    if (!is_sound(++seed, false, total)) return;
  }
  std::cout << worlds << " worlds, " << total.acquisitions << " acquisitions, " << total.losses << " losses, "
            << total.kills << " kills, " << total.faults << " faults; all had the lock "
            << std::chrono::duration<double>(total.slowest).count() << " s after the last fault\n";
}

INSTANTIATE_TEST_SUITE_P(Shard, Seeded, ::testing::Values(1, 2, 3, 4));

TEST(SeededReplay, TheSameSeedTakesTheSameWay) {
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Report first = simulate<>(seed, true);
    const Report second = simulate<>(seed, true);
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.diary, second.diary) << "seed " << seed;
    EXPECT_TRUE(traces.insert(first.trace).second) << "another seed took the same way as " << seed;
  }
}

TEST(SeededReplay, ABrokenRuleIsFound) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Report report = simulate<DeafToPingers>(seed);
    if (report.violations.empty()) continue;
    EXPECT_EQ(report.violations.front().rfind("two holders", 0), 0u) << report.violations.front();
    EXPECT_EQ(simulate<DeafToPingers>(seed).violations, report.violations) << "and found again";
    return;
  }
  FAIL() << "without R6 there must be two holders sooner or later";
}

class RefereeTest : public ::testing::Test {
 protected:
  static Believer believer(std::int64_t ear, bool shared = false) { return {"a", {ear}, shared}; }

  const Clients clients = {{1, "a-lock-1", {"a", "a-x"}}, {2, "a-lock-2", {"a-y", "a"}}, {3, "idle", {}}};
};

TEST_F(RefereeTest, TwoWritersWhoAreCountedOverlap) {
  EXPECT_TRUE(overlap({believer(1), believer(2)}, clients));
  EXPECT_TRUE(overlap({believer(1), believer(2, true)}, clients));
  EXPECT_TRUE(overlap({believer(1, true), believer(2)}, clients));
}

TEST_F(RefereeTest, ReadersDoNotOverlap) {
  EXPECT_FALSE(overlap({believer(1, true), believer(2, true)}, clients));
}

TEST_F(RefereeTest, OneWhomTheServerDoesNotCountOverlapsNobody) {
  EXPECT_FALSE(overlap({believer(1), believer(3)}, clients));
  EXPECT_FALSE(overlap({believer(1), believer(4)}, clients));
  EXPECT_FALSE(overlap({believer(1), {"b", {2}}}, clients));
}

TEST_F(RefereeTest, OneWhoHasLeftOrHeardOfHisLossBelievesNothing) {
  InMemoryRedis redis{ManualClock{}};
  Referee referee;
  bool lost = false;
  const auto ear = [&] { return redis.subscribe_stranger("a"); };
  const auto seat = referee.enters({"a", {ear()}}, [] { return false; });
  referee.enters({"a", {ear()}}, [&] { return lost; });
  EXPECT_TRUE(referee.look(redis));
  lost = true;
  EXPECT_FALSE(referee.look(redis));
  lost = false;
  referee.leaves(seat);
  EXPECT_FALSE(referee.look(redis));
}

TEST_F(RefereeTest, EarsAreFoundByNameAndChannel) {
  EXPECT_EQ(ears_of("a", "a-lock-2", clients), (std::vector<std::int64_t>{2}));
  EXPECT_TRUE(ears_of("b", "a-lock-2", clients).empty());
  EXPECT_TRUE(ears_of("a", "idle", clients).empty());
}

}  // namespace
}  // namespace sublock::testing
