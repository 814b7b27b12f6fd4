// SPDX-License-Identifier: MIT

// Contenders on servers that fail and come back, each by the rule that ships, in every order in which things can happen:
// no two have a majority unless one of them is about to be told of a loss, nobody is stuck, and whoever is left alone
// gets it. The plain locks are taken for what they promise: one owner each.

#include <gtest/gtest.h>
#include <sublock/core/quorum.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace sublock::core {
namespace {

constexpr int nobody = -1;

struct Contender {
  Quorum quorum;
  std::vector<bool> untold;  ///< seats that are lost, and the owner has not been told
  enum class Stage { taking, holding, done } stage = Stage::taking;

  friend auto operator<=>(const Contender&, const Contender&) = default;
};

struct World {
  std::vector<Contender> contenders;
  std::vector<int> owner;
  std::vector<bool> up;
  int failures_left = 0;

  friend auto operator<=>(const World&, const World&) = default;

  [[nodiscard]] bool believes(std::size_t who) const {
    return contenders[who].stage == Contender::Stage::holding && contenders[who].quorum.is_had();
  }
  [[nodiscard]] bool has_untold(std::size_t who) const {
    for (const bool one : contenders[who].untold)
      if (one) return true;
    return false;
  }
  void give_back(std::size_t who) {
    for (int& seat : owner)
      if (seat == static_cast<int>(who)) seat = nobody;
    contenders[who].quorum.start();
    contenders[who].untold.assign(owner.size(), false);
  }
};

/// Every world that may follow; those that need no server to fail come first, and `calm` says how many they are.
std::vector<World> after(const World& world, std::size_t& calm) {
  std::vector<World> next;
  for (std::size_t who = 0; who < world.contenders.size(); ++who) {
    const Contender& contender = world.contenders[who];
    const auto change = [&](auto act) {
      next.push_back(world);
      act(next.back(), next.back().contenders[who]);
    };
    for (std::size_t seat = 0; seat < world.owner.size(); ++seat) {
      if (!contender.untold[seat]) continue;
      change([&](World& after, Contender& self) {
        self.untold[seat] = false;
        self.quorum.lost(seat);
        if (self.stage == Contender::Stage::holding && !self.quorum.is_had()) {  // lost, and final
          self.stage = Contender::Stage::done;
          after.give_back(who);
        }
      });
    }
    if (contender.stage == Contender::Stage::done) continue;
    if (contender.stage == Contender::Stage::holding) {
      change([&](World& after, Contender& self) {
        self.stage = Contender::Stage::done;
        after.give_back(who);
      });
      continue;
    }
    const auto move = contender.quorum.next();
    if (move == Quorum::Move::hold) {
      change([](World&, Contender& self) { self.stage = Contender::Stage::holding; });
    } else if (move == Quorum::Move::give_back) {
      change([&](World& after, Contender&) { after.give_back(who); });
    } else {
      const std::size_t seat = contender.quorum.seat();
      if (!world.up[seat]) {
        change([&](World&, Contender& self) { self.quorum.missed(seat); });
      } else if (world.owner[seat] == nobody) {
        change([&](World& after, Contender& self) {
          after.owner[seat] = static_cast<int>(who);
          self.quorum.got(seat);
        });
      } else if (move == Quorum::Move::try_for) {
        change([&](World&, Contender& self) { self.quorum.missed(seat); });
      }
    }
  }
  for (std::size_t seat = 0; seat < world.up.size(); ++seat) {
    if (world.up[seat]) continue;
    next.push_back(world);
    next.back().up[seat] = true;
  }
  calm = next.size();
  if (world.failures_left == 0) return next;
  // A server that is back before anybody notices stands for a broken connection, and for a way that only one can't go.
  for (std::size_t seat = 0; seat < world.up.size(); ++seat) {
    if (!world.up[seat]) continue;
    World failed = world;
    --failed.failures_left;
    failed.up[seat] = false;
    if (const int owner = std::exchange(failed.owner[seat], nobody); owner != nobody)
      failed.contenders[static_cast<std::size_t>(owner)].untold[seat] = true;
    next.push_back(std::move(failed));
  }
  return next;
}

struct Size {
  std::size_t contenders;
  std::size_t servers;
  int failures;

  friend std::ostream& operator<<(std::ostream& out, const Size& size) {
    return out << size.contenders << " on " << size.servers << ", failures: " << size.failures;
  }
};

class QuorumSearch : public ::testing::TestWithParam<Size> {};

/// Has it as far as the servers know.
bool has_it(const World& world, std::size_t who) {
  const auto seats = static_cast<std::size_t>(std::ranges::count(world.owner, static_cast<int>(who)));
  return world.contenders[who].stage == Contender::Stage::holding &&
         seats >= world.contenders[who].quorum.needed();
}

bool is_over(const World& world) {
  return std::ranges::all_of(world.contenders,
                             [](const Contender& one) { return one.stage == Contender::Stage::done; });
}

TEST_P(QuorumSearch, FindsNoTwoOwnersAndNobodyStuck) {
  const Size size = GetParam();
  World start;
  start.contenders.assign(size.contenders, {Quorum(size.servers), std::vector<bool>(size.servers, false),
                                            Contender::Stage::taking});
  start.owner.assign(size.servers, nobody);
  start.up.assign(size.servers, true);
  start.failures_left = size.failures;

  std::map<World, std::size_t> numbers{{start, 0}};
  std::deque<World> left{start};
  std::vector<std::vector<std::size_t>> calmly_from;  // by what may follow without another failure
  std::deque<std::size_t> ended;
  for (std::size_t number = 0; !left.empty(); ++number, left.pop_front()) {
    const World& world = left.front();
    std::size_t owners = 0;
    for (std::size_t who = 0; who < world.contenders.size(); ++who) {
      owners += has_it(world, who) ? 1 : 0;
      EXPECT_TRUE(!world.believes(who) || has_it(world, who) || world.has_untold(who))
          << "wrong, and never told";
    }
    ASSERT_LE(owners, 1u);
    if (is_over(world)) ended.push_back(number);
    std::size_t calm = 0;
    for (const World& next : after(world, calm)) {
      const auto [found, is_new] = numbers.try_emplace(next, numbers.size());
      if (is_new) left.push_back(next);
      calmly_from.resize(numbers.size());
      if (calm > 0) calmly_from[found->second].push_back(number);
      calm -= calm > 0 ? 1 : 0;
    }
  }
  // From wherever they are, all of them can still have had it.
  std::set<std::size_t> good(ended.begin(), ended.end());
  for (; !ended.empty(); ended.pop_front()) {
    for (const std::size_t before : calmly_from[ended.front()])
      if (good.insert(before).second) ended.push_back(before);
  }
  EXPECT_EQ(good.size(), numbers.size()) << "somebody is stuck";
  std::cout << size << ": " << numbers.size() << " states\n";
}

INSTANTIATE_TEST_SUITE_P(Sizes, QuorumSearch,
                         ::testing::Values(Size{2, 3, 0}, Size{2, 3, 1}, Size{2, 3, 3}, Size{3, 3, 1},
                                           Size{2, 5, 2}, Size{2, 4, 1}, Size{2, 1, 1}, Size{2, 2, 1}));

/// What the search can't see, for it costs nothing but time.
TEST(Quorum, WaitsOnlyWhereThereIsHopeAndNeed) {
  Quorum enough(3);
  enough.got(0);
  EXPECT_EQ(enough.next(), Quorum::Move::wait_for);
  enough.got(1);
  EXPECT_EQ(enough.next(), Quorum::Move::try_for) << "a seat to spare";
  Quorum hopeless(3);
  hopeless.missed(0);
  EXPECT_EQ(hopeless.next(), Quorum::Move::wait_for);
  hopeless.missed(1);
  EXPECT_EQ(hopeless.next(), Quorum::Move::give_back) << "whatever the third does";
}

}  // namespace
}  // namespace sublock::core
