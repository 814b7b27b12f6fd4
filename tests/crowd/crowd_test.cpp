// SPDX-License-Identifier: MIT

// What does not grow with the crowd: what a hand-over costs, what one who waits costs, and what one more reader
// costs. And that everybody gets his turn in it.

#include <crowd/crowd.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace sublock::testing {

std::ostream& operator<<(std::ostream& out, const Traffic& traffic) {
  return out << traffic.commands << " commands, " << traffic.messages << " messages, " << traffic.bytes
             << " bytes";
}

namespace {

constexpr auto writes = LockMode::exclusive;
constexpr auto reads = LockMode::shared;
/// Nobody asks because it is time: what is left is what a hand-over takes.
constexpr Duration seldom = 1h;
constexpr Duration usual = 250ms;

/// One who holds, and those who have come after him, in their order.
class Queue : public Crowd {
 public:
  Queue(const std::vector<LockMode>& waiters, Duration check_interval)
      : Crowd(waiters.size() + 1), check_interval_(check_interval) {
    come(0, writes);
    run(1ms);
    for (std::size_t i = 0; i < waiters.size(); ++i) come(i + 1, waiters[i]);
    run(2ms);
    EXPECT_TRUE((*this)[0].holds());
  }

  /// Asks from outside first.
  void come(std::size_t number, LockMode mode) {
    (*this)[number].acquire({.mode = mode, .check_interval = check_interval_, .polite = true});
  }

  /// Whoever holds gives it back, and comes again; somebody else has it then.
  void hand_over() {
    const std::size_t former = holder();
    (*this)[former].release();
    run(1ms);
    EXPECT_NE(holder(), former);
    come(former, writes);
    run(1ms);
  }

  /// What that costs, where `act` is more than looking.
  Traffic cost(auto act) {
    const Traffic before = traffic();
    act();
    return traffic() - before;
  }

 private:
  Duration check_interval_;
};

TEST(Crowds, AHandOverCostsTheSameHoweverManyWait) {
  std::map<std::size_t, Traffic> costs;
  for (const std::size_t waiters : {2U, 10U, 100U, 1000U}) {
    Queue queue(std::vector(waiters, writes), seldom);
    queue.hand_over();
    for (int round = 0; round < 5; ++round) {
      const Traffic cost = queue.cost([&] { queue.hand_over(); });
      // The grant, the leave, the next one's invitation, join and question, and whoever comes again asks.
      EXPECT_EQ(cost.commands, 27U) << waiters;
      EXPECT_EQ(cost.messages, 10U) << waiters;
      costs[waiters] = cost;
    }
    std::cout << waiters << " wait: " << costs[waiters] << '\n';
  }
  EXPECT_EQ(costs[1000].bytes, costs[100].bytes) << "only the head of the line travels";
  EXPECT_LE(costs[100].bytes, costs[2].bytes + 2 * 45 * core::Succession::passed_on_max)
      << "and it is said once, and heard once";
}

TEST(Crowds, TwoWhoTakeTurnsCostLess) {
  Queue queue({writes}, seldom);
  queue.hand_over();
  for (int round = 0; round < 5; ++round) {
    const Traffic cost = queue.cost([&] { queue.hand_over(); });
    // Nobody else stands there who would answer him who comes again.
    EXPECT_EQ(cost.commands, 26U);
    EXPECT_EQ(cost.messages, 8U);
  }
}

TEST(Crowds, WhoeverWaitsCostsATrickle) {
  const auto seconds = 5;
  const auto trickle = [&](std::size_t waiters) {
    Queue queue(std::vector(waiters, writes), usual);
    queue.run(1s);
    const Traffic cost = queue.cost([&] { queue.run(std::chrono::seconds(seconds)); });
    std::cout << waiters << " wait for " << seconds << " s: " << cost << '\n';
    return cost;
  };
  // He who stands ready asks once in each interval, and looks at the count a little more often than that.
  const Traffic one = trickle(1);
  EXPECT_LE(one.commands, 50U * seconds);
  EXPECT_LE(one.messages, 12U * seconds);
  // Each of the others asks once in each, and is answered by the one who holds and the one who stands.
  const Traffic hundred = trickle(100);
  EXPECT_LE(hundred.commands, one.commands + 99U * seconds * 4U * 6U * 11U / 10U);
  EXPECT_LE(hundred.messages, one.messages + 99U * seconds * 4U * 4U * 11U / 10U);
  EXPECT_GE(hundred.messages, one.messages + 99U * seconds * 4U * 4U * 9U / 10U) << "nobody is forgotten";
}

TEST(Crowds, ReadersWhoAreWokenCostOneMessageEach) {
  for (const std::size_t readers : {1U, 10U, 100U}) {
    Queue queue(std::vector(readers, reads), seldom);
    const Traffic cost = queue.cost([&] {
      queue[0].release();
      queue.run(1ms);
    });
    EXPECT_EQ(queue.holders(), readers);
    EXPECT_EQ(cost.messages, readers);
    // The join of each of them in eight commands and his call, and the leave in two.
    EXPECT_EQ(cost.commands, 2 + 9 * readers);
    std::cout << readers << " readers: " << cost << '\n';
  }
}

TEST(Crowds, WritersBehindReadersHaveTheirTurnToo) {
  std::vector<LockMode> waiters(10, reads);
  waiters.resize(20, writes);
  Queue queue(waiters, usual);
  queue[0].release();
  queue.run(1ms);
  EXPECT_EQ(queue.holders(), 10U);
  queue.run(1s);  // one of the writers stands by then
  for (std::size_t i = 1; i <= 10; ++i) {
    EXPECT_TRUE(queue[i].holds());
    queue[i].release();
    queue.run(1ms);
  }
  for (std::size_t turn = 1; turn <= 10; ++turn) {
    ASSERT_TRUE(queue.run([&] { return queue.holders() == 1; }, usual)) << turn;
    const std::size_t holder = queue.holder();
    EXPECT_GT(holder, 10U);
    queue[holder].release();
    queue.run([&] { return !queue[holder].holds(); }, 1s);
  }
}

/// Two hundred start at one instant: each gets it once, and within the time that the holds take.
TEST(Crowds, EverybodyGetsHisTurn) {
  constexpr std::size_t size = 200;
  constexpr Duration hold = 10ms;
  Crowd crowd(size);
  const Instant start = crowd.now();
  for (std::size_t i = 0; i < size; ++i) crowd[i].acquire({.mode = writes, .check_interval = usual});
  std::set<std::size_t> served;
  while (served.size() < size) {
    ASSERT_TRUE(crowd.run([&] { return crowd.holders() > 0; }, 10s));
    ASSERT_EQ(crowd.holders(), 1U);
    const std::size_t holder = crowd.holder();
    EXPECT_TRUE(served.insert(holder).second) << "twice";
    crowd.run(hold);
    ASSERT_TRUE(crowd[holder].holds());
    crowd[holder].release();
    ASSERT_TRUE(crowd.run([&] { return crowd[holder].phase() == core::Phase::idle; }, 1s));
    EXPECT_EQ(crowd[holder].result(), core::Result::released);
  }
  EXPECT_EQ(crowd.kills(), 0U);
  EXPECT_EQ(crowd.subscribers(), 0U);
  EXPECT_EQ(crowd.warnings(), "");
  EXPECT_LE(crowd.now() - start, size * hold * 11 / 10);
}

}  // namespace
}  // namespace sublock::testing
