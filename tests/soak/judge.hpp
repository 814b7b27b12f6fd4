// SPDX-License-Identifier: MIT
#pragma once

// Whether what happened in a soak was right. Two owners at once are explained only by a loss that had its
// cause before they met; a loss only by something that was done; and nobody may stand still for long.

#include <soak/history.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace soak {

struct Bounds {
  double silence = 1;    ///< who is frozen for so long may be killed by others
  double notice = 2;     ///< from what took the lock to LOST, not counting time in the freezer
  double progress = 60;  ///< from any fault to everybody's next turn
};

struct History {
  std::vector<Tale> tales;
  std::vector<Cause> causes;
  std::vector<Freeze> freezes;
  std::map<unsigned, long> reaped;  ///< how often others say that they killed this one
};

/// All that is wrong, and the figures.
struct Judgement {
  std::vector<std::string> complaints;
  long losses = 0;
  long losses_awake = 0;  ///< killed by others for silence, but not in the freezer
  double longest_notice = 0;
  long overlaps = 0;
  double longest_overlap = 0;        ///< all of it
  double longest_overlap_awake = 0;  ///< what is left of one once the loser was out of the freezer
};

class Judge {
 public:
  Judge(const History& history, Bounds bounds) : history_(history), bounds_(bounds) {}

  [[nodiscard]] Judgement judge() {
    for (const Tale& tale : history_.tales) {
      for (const Hold& hold : tale.holds) holds_.push_back({hold, {}});
    }
    std::ranges::sort(holds_, {}, [](const Judged& judged) { return judged.hold.got; });
    for (Judged& judged : holds_) {
      if (judged.hold.lost) explain(judged);
    }
    look_for_overlaps();
    compare_tokens();
    look_for_standstill();
    return std::move(judgement_);
  }

 private:
  struct Judged {
    Hold hold;
    std::optional<double> cause;  ///< of its loss; nothing where only others know when
  };

  template <class... Values>
  void complain(const char* format, Values... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    judgement_.complaints.emplace_back(text);
  }

  /// The latest SIGCONT to `who` up to `until`; nothing is noticed before it.
  [[nodiscard]] double awake_since(unsigned who, double until) const {
    double since = 0;
    for (const Freeze& freeze : history_.freezes) {
      if (freeze.whom == who && freeze.to <= until) since = std::max(since, freeze.to);
    }
    return since;
  }

  /// How long `who` was out of the freezer before `to`, at most since `from`.
  [[nodiscard]] double awake_between(unsigned who, double from, double to) const {
    for (const Freeze& freeze : history_.freezes) {
      if (freeze.whom == who && freeze.from <= to && freeze.to > to) return 0;
    }
    return to - std::max(from, awake_since(who, to));
  }

  void explain(Judged& judged) {
    const Hold& hold = judged.hold;
    ++judgement_.losses;
    double earliest = std::numeric_limits<double>::max();
    double before = 0;  // the last one between TRY and GOT: it struck when the lock was ours already
    const auto weigh = [&](double from, double to) {
      if (from > *hold.lost || to < hold.tried) return;
      const double at = std::max(from, hold.tried);
      to < hold.got ? before = std::max(before, at) : earliest = std::min(earliest, at);
    };
    for (const Cause& cause : history_.causes) {
      if (cause.victim.value_or(hold.who) == hold.who) weigh(cause.from, cause.to);
    }
    for (const Freeze& freeze : history_.freezes) {
      if (freeze.whom == hold.who && freeze.to - freeze.from >= bounds_.silence)
        weigh(freeze.from, freeze.to);
    }
    if (earliest > *hold.lost && before > 0) earliest = before;
    if (earliest > *hold.lost) {
      ++judgement_.losses_awake;
      const auto reaped = history_.reaped.find(hold.who);
      if (reaped == history_.reaped.end())
        complain("%.6f: process %u lost the lock, and nothing had been done to it", *hold.lost, hold.who);
      return;
    }
    judged.cause = earliest;
    const double notice = *hold.lost - std::max(earliest, awake_since(hold.who, *hold.lost));
    judgement_.longest_notice = std::max(judgement_.longest_notice, notice);
    if (notice > bounds_.notice)
      complain("%.6f: process %u learned of its loss after %.3f s", *hold.lost, hold.who, notice);
  }

  void look_for_overlaps() {
    std::vector<const Judged*> inside;
    for (const Judged& next : holds_) {
      std::erase_if(inside, [&](const Judged* one) { return one->hold.ended <= next.hold.got; });
      for (const Judged* one : inside) {
        if (one->hold.exclusive || next.hold.exclusive) overlap(*one, next);
      }
      inside.push_back(&next);
    }
  }

  void overlap(const Judged& first, const Judged& second) {
    const double from = second.hold.got;
    const double to = std::min(first.hold.ended, second.hold.ended);
    ++judgement_.overlaps;
    judgement_.longest_overlap = std::max(judgement_.longest_overlap, to - from);
    const auto explains = [from](const Judged& judged) {
      return judged.hold.lost && judged.cause.value_or(from) <= from;
    };
    if (!explains(first) && !explains(second)) {
      complain("%.6f: processes %u and %u both held the lock, for %.6f s", from, first.hold.who,
               second.hold.who, to - from);
      return;
    }
    const Judged& loser = explains(first) ? first : second;
    judgement_.longest_overlap_awake =
        std::max(judgement_.longest_overlap_awake, awake_between(loser.hold.who, from, to));
  }

  /// Whoever tried after another had drawn his token has a greater one.
  void compare_tokens() {
    std::map<long, const Hold*> by_token;
    for (const Judged& judged : holds_) {
      if (!judged.hold.token) continue;
      if (!by_token.emplace(*judged.hold.token, &judged.hold).second)
        complain("%.6f: token %ld was given twice", judged.hold.got, *judged.hold.token);
    }
    double greater_since = std::numeric_limits<double>::max();
    for (auto at = by_token.rbegin(); at != by_token.rend(); ++at) {
      if (greater_since < at->second->tried)
        complain("%.6f: token %ld after greater ones", at->second->got, at->first);
      greater_since = std::min(greater_since, at->second->got);
    }
  }

  void look_for_standstill() {
    std::vector<double> ends;
    for (const Cause& cause : history_.causes) ends.push_back(cause.to);
    for (const Freeze& freeze : history_.freezes) ends.push_back(freeze.to);
    for (std::size_t who = 0; who < history_.tales.size(); ++who) {
      const auto& holds = history_.tales[who].holds;
      for (const double end : ends) {
        const auto next = std::ranges::upper_bound(holds, end, {}, &Hold::got);
        if (next != holds.end() && next->got - end <= bounds_.progress) continue;
        complain("%.6f: process %zu has no turn within %.0f s", end, who, bounds_.progress);
        break;
      }
    }
  }

  const History& history_;
  Bounds bounds_;
  std::vector<Judged> holds_;
  Judgement judgement_;
};

[[nodiscard]] inline Judgement judge(const History& history, Bounds bounds = {}) {
  return Judge(history, bounds).judge();
}

}  // namespace soak
