// SPDX-License-Identifier: MIT

// Eight processes, writers and readers, after one lock on a real server, while processes are frozen, their
// connections killed and the server ended, at random; what they said is judged afterwards. It takes 20 s.
//
//   SUBLOCK_SOAK_SECONDS=600 build/tests/sublock_soak_tests    as long as you like
//   SUBLOCK_SOAK_SEED=7      the faults of an earlier run, which has printed its seed
//   SUBLOCK_SOAK_LOG=FILE    keeps what was done and said, in order of time

#include <gtest/gtest.h>

#include <soak/judge.hpp>
#include <soak/plan.hpp>
#include <soak/stage.hpp>
#include <support/sanitized.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace soak {
namespace {

/// A number from the environment.
double chosen(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

std::string load() {
  std::array<double, 3> load{};
  return ::getloadavg(load.data(), 3) == 3 ? std::to_string(load[0]) : "unknown";
}

double cpu_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print(const History& history, const Judgement& judgement, const Stage& stage) {
  std::cout << "turns:";
  double longest_wait = 0;
  long failures = 0;
  for (unsigned who = 0; who < history.tales.size(); ++who) {
    std::cout << ' ' << history.tales[who].holds.size() << (Stage::exclusive(who) ? 'w' : 'r');
    longest_wait = std::max(longest_wait, history.tales[who].longest_wait);
    failures += history.tales[who].failures;
  }
  long reaped = 0;
  for (const auto& [who, times] : history.reaped) reaped += times;
  std::cout << "; longest wait " << longest_wait << " s, attempts that failed " << failures << '\n'
            << "done: " << stage.done() << "connections killed by contenders " << reaped << '\n'
            << "losses " << judgement.losses << " (" << judgement.losses_awake
            << " of them for silence while awake), longest notice " << judgement.longest_notice << " s\n"
            << "overlaps " << judgement.overlaps << ", longest " << judgement.longest_overlap
            << " s, longest with both awake " << judgement.longest_overlap_awake << " s\n";
}

TEST(Soak, NoTwoOwnersThatALossDoesNotExplain) {
  const double seconds = chosen("SUBLOCK_SOAK_SECONDS", 20);
  const auto seed = static_cast<std::uint64_t>(chosen("SUBLOCK_SOAK_SEED", std::random_device()()));
  std::cout << "seed " << seed << ", " << seconds << " s, load " << load() << std::endl;
  History history;
  {
    Stage stage;
    stage.start();
    if (HasFatalFailure()) return;
    stage.play(plan(seed, seconds));
    EXPECT_TRUE(stage.everybody_has_a_turn_after(now()));
    history = stage.finish();
    Bounds bounds;
    bounds.notice = support::within(bounds.notice);
    const Judgement judgement = judge(history, bounds);
    print(history, judgement, stage);
    for (const std::string& complaint : judgement.complaints) ADD_FAILURE() << complaint;
    if (const char* const path = std::getenv("SUBLOCK_SOAK_LOG")) stage.write_log(path);
  }
  std::cout << "load " << load() << ", CPU of processes and server " << cpu_of_children() << " s"
            << std::endl;
}

}  // namespace
}  // namespace soak
