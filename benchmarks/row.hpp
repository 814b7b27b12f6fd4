// SPDX-License-Identifier: MIT
#pragma once

// What is compared with what: the rows of the table. How they are repeated and printed is main.cpp's
// business; what they do is in the *_benchmark.cpp, one for each subject.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Does something many times over and says what it cost: one figure, in the row's unit.
using Batch = std::function<double()>;

struct Entry {
  std::string name;
  Batch run;
};

struct Goal {
  enum class Kind { none, at_most, at_least };

  Kind kind = Kind::none;
  double ratio = 0;

  [[nodiscard]] bool met(double measured) const {
    return kind == Kind::at_most ? measured <= ratio : measured >= ratio;
  }
};

[[nodiscard]] inline Goal at_most(double ratio) { return {Goal::Kind::at_most, ratio}; }
[[nodiscard]] inline Goal at_least(double ratio) { return {Goal::Kind::at_least, ratio}; }

/// One subject. Its entries are run in turns, in random order; each is judged by the median of its figures.
struct Row {
  std::string what;
  std::string unit;
  Goal goal;
  int repeats;
  /// Sets the scene and leaves what runs in it: the floor first, ours last, in between what explains the
  /// difference. What the entries own is there until the row is done.
  std::function<std::vector<Entry>()> entries;
};

struct Server;

std::vector<Row> uncontended(const Server& server);
std::vector<Row> hand_over(const Server& server);
std::vector<Row> presence(const Server& server);
std::vector<Row> many_locks(const Server& server);
std::vector<Row> cluster();
std::vector<Row> majority();
std::vector<Row> core_step();
/// What is counted, not timed.
void print_costs();

[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

[[nodiscard]] inline double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// The median time of `act`, in microseconds.
template <class Act>
[[nodiscard]] double median_of(int times, Act&& act) {
  std::vector<double> samples;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    act();
    samples.push_back(microseconds(std::chrono::steady_clock::now() - start));
  }
  return median(std::move(samples));
}

}  // namespace bench
