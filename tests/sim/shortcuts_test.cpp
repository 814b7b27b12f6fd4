// SPDX-License-Identifier: MIT

// What makes the searches affordable, against the same without: a state that stands for all with its key,
// messages left out because nobody would notice, and orders left out because another comes to the same.

#include "searches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

namespace sublock::sim {
namespace {

using Shipped = core::Participant<LowestIdElection, ClientListReaper>;

/// Everything that can be seen of worlds but what is on its way.
struct Sights {
  std::set<std::string> participants;  // each alone
  std::set<std::string> together;
  std::set<std::string> owners;  // who believes to hold, and whom the server counts
};

Sights sights(std::string_view mix, const Circumstances& how) {
  Search<Shipped> search(requests(mix, how), cast_as(mix, how));
  Sights seen;
  search.watch([&](const World& world) {
    std::string all;
    std::string owners;
    for (unsigned who = 0; who < mix.size(); ++who) {
      const Player& player = world.players[who];
      const std::string counted = player.ear.counted ? " counted; " : " not counted; ";
      // A lean world forgets at once what a successor who has turned to leave had asked.
      const std::string key =
          std::to_string(who) + ' ' + replaced(search.cast().key(player.state), "-present-", "-past-");
      const bool holds = search.cast().facts(player.state).phase == core::Phase::holding;
      seen.participants.insert(key);
      all += key + counted;
      owners += (holds ? "holds" : "waits") + counted;
    }
    seen.together.insert(all);
    seen.owners.insert(owners);
  });
  EXPECT_TRUE(search.run().complete);
  return seen;
}

void expect_all_seen(const std::set<std::string>& seen, const std::set<std::string>& all,
                     std::string_view mix) {
  std::vector<std::string> missing;
  std::ranges::set_difference(all, seen, std::back_inserter(missing));
  EXPECT_TRUE(missing.empty()) << mix << ": " << missing.size() << " of " << all.size()
                               << " are not seen, the first of them " << missing.front();
}

/// Where a full world is bounded by messages that a lean one leaves out, by the backlog or by a count still
/// under way, the lean one sees a little more; and so it does where a grant comes to one who rests, who would
/// ask again at once, and not only whenever he likes.
TEST(Shortcuts, ALeanWorldShowsAll) {
  const auto compare = [](std::string_view mix, Circumstances how, bool bounded = true) {
    how.reduced = false;
    const Sights lean = sights(mix, how);
    how.lean = false;
    const Sights full = sights(mix, how);
    expect_all_seen(lean.together, full.together, mix);
    expect_all_seen(lean.participants, full.participants, mix);
    expect_all_seen(full.participants, lean.participants, mix);
    if (!bounded) {
      EXPECT_EQ(lean.owners, full.owners) << mix;
    }
    EXPECT_GT(lean.together.size(), 40U) << mix;  // two readers ask nothing where joins are counted
  };
  for (const std::string_view mix : {"WW", "WR", "RR"}) {
    compare(mix, {.kills = 1});
    compare(mix, {.losses = 1, .breaks = 1, .cancels = false});
    compare(mix, {.tries = 2, .timeouts = 0, .recounts = false}, false);
    if (extent() == Extent::small) continue;
    compare(mix, {.timeouts = 1, .cancels = false, .join_counts = false});
    compare(mix, {.timeouts = 1, .recounts = false, .cancels = false, .join_in_pieces = true});
    compare(mix, {.kills = 1, .recounts = false, .backlog = 4}, false);
    compare(mix, {.losses = 1, .recounts = false, .cancels = false, .backlog = 4}, false);
  }
  if (extent() > Extent::small) compare("WWW", {.timeouts = 0, .recounts = false, .cancels = false}, false);
}

TEST(Shortcuts, OrdersLeftOutLeadNowhereElse) {
  const auto compare = [](std::string_view mix, Circumstances how) {
    const Sights reduced = sights(mix, how);
    how.reduced = false;
    const Sights full = sights(mix, how);
    EXPECT_EQ(reduced.participants, full.participants) << mix;
    EXPECT_EQ(reduced.owners, full.owners) << mix;
    expect_all_seen(full.together, reduced.together, mix);
  };
  for (const std::string_view mix : {"wW", "wR"}) compare(mix, {.timeouts = 2, .kills = 1, .cancels = false});
  for (const std::string_view mix : {"WW", "WR", "RR"}) {
    compare(mix, {.kills = 1});
    compare(mix, {.losses = 1, .cancels = false});
    compare(mix, {.timeouts = 1, .kills = 1, .recounts = false, .join_in_pieces = true});
    compare(mix, {.timeouts = 2, .kills = 2, .losses = 2, .faults = 2, .recounts = false});
    if (extent() == Extent::small) continue;
    compare(mix, {.tries = 2, .recounts = false});
    compare(mix, {.timeouts = 1, .join_counts = false});
    compare(mix, {.timeouts = 1, .stranger = true});
  }
  if (extent() == Extent::small) return;
  compare("WWW", {.timeouts = 0, .recounts = false, .cancels = false});
  compare("WRR", {.timeouts = 0, .recounts = false, .cancels = false});
  compare("RRR", {.timeouts = 1, .kills = 1, .losses = 1, .faults = 1, .recounts = false, .cancels = false});
}

/// What happens to the one who moves; nothing where it is the server.
std::optional<Code> happening(const World& world, Move move) {
  const Player& player = world.players[move.who];
  const auto timer = [](core::Timer which) { return Code(Kind::call, fire + static_cast<unsigned>(which)); };
  switch (move.what) {
    case What::acquire: return Code(Kind::call, acquire);
    case What::hear_ear: return player.ear_news.front();
    case What::hear_loss:
    case What::lose_ear: return Code(Kind::lost);
    case What::hear_mouth: return player.mouth_news.front();
    case What::decide: return Code(Kind::call, decide);
    case What::fire_deadline: return timer(core::Timer::deadline);
    case What::fire_patience: return timer(core::Timer::patience);
    case What::fire_recount: return timer(core::Timer::recount);
    case What::fire_again: return timer(core::Timer::again);
    case What::release: return Code(Kind::call, release);
    case What::cancel: return Code(Kind::call, cancel);
    default: return std::nullopt;
  }
}

/// Random ways through the world, walked by participants with a past of their own beside the states that
/// stand for them.
TEST(Shortcuts, AStateStandsForAllWithItsKey) {
  const std::uint64_t walks = extent() == Extent::small ? 100 : 2000;
  std::mt19937 random(7);  // NOLINT: the same ways each time
  for (const std::string_view mix : {"WWW", "WRW", "RRW", "wWr"}) {
    for (const bool lean : {true, false}) {
      const Circumstances how{.tries = 3,
                              .kills = 2,
                              .losses = 1,
                              .breaks = 1,
                              .deadlines = true,
                              .fencing = lean,
                              .join_counts = lean,
                              .join_in_pieces = mix == "WRW",
                              .stranger = !lean,
                              .resets = true,
                              .lean = lean};
      Cast<Shipped> cast(requests(mix, how), cast_as(mix, how).shared_ears);
      Stage<Shipped> stage(cast, how);
      std::size_t steps = 0;
      for (std::uint64_t walk = 0; walk < walks; ++walk) {
        World world = stage.beginning();
        std::vector<Cast<Shipped>::Live> live;
        for (unsigned who = 0; who < mix.size(); ++who) live.push_back(cast.fresh(who, walk));
        for (int tries = 0; tries < 3000; ++tries) {
          const Move move{static_cast<std::uint8_t>(random() % mix.size()),
                          static_cast<What>(random() % whats)};
          // Mostly let things go on; faults and callers' whims are rarer than they are many.
          if (!is_delivery(move.what) && move.what != What::acquire && random() % 16 != 0) continue;
          World next;
          if (stage.play(world, move, next) != Outcome::done) continue;
          if (const auto code = happening(world, move)) {
            Cast<Shipped>::Live& self = live[move.who];
            const std::vector<Code> asked = cast.act(move.who, self, *code);
            const Step& step = cast.step(move.who, world.players[move.who].state, *code);
            ASSERT_EQ(asked, step.actions);
            ASSERT_EQ(self.key(), cast.key(step.next));
            if (next.players[move.who].state == cast.beginning(move.who)) {
              self = cast.fresh(move.who, random());
            }
            ++steps;
          }
          for (unsigned who = 0; who < mix.size(); ++who) {
            const bool outdated = who != move.who && next.players[who].state != world.players[who].state;
            if (outdated) cast.act(who, live[who], {Kind::outdate, move.who});
          }
          world = next;
        }
      }
      std::cout << "[   STATES ] " << mix << ": " << steps << " steps by " << cast.states()
                << " states of single participants\n";
      EXPECT_GT(cast.states(), 100U);
    }
  }
}

}  // namespace
}  // namespace sublock::sim
