// SPDX-License-Identifier: MIT
#pragma once

// How long something took, many times, and what can be said of that. Measures nothing.

#include "people.hpp"
#include "server_checks.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace command {

class Samples {
 public:
  explicit Samples(std::string name) : name_(std::move(name)) {}

  void add(Microseconds span) {
    spans_.push_back(span);
    is_sorted_ = false;
  }

  [[nodiscard]] bool empty() const noexcept { return spans_.empty(); }

  /// The least span that so much of all were no longer than; `part` is above 0 and at most 1. Not where there
  /// are none.
  [[nodiscard]] Microseconds percentile(double part) {
    if (!std::exchange(is_sorted_, true)) std::ranges::sort(spans_);
    const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(spans_.size())));
    return spans_.at(std::max<std::size_t>(rank, 1) - 1);
  }

  [[nodiscard]] static Words heading() { return {"", "p50", "p90", "p99", "max", "count"}; }

  [[nodiscard]] Words row() {
    Words row{name_};
    for (const double part : parts) row.push_back(empty() ? "-" : fine_span(percentile(part)));
    row.push_back(std::to_string(spans_.size()));
    return row;
  }

  [[nodiscard]] nlohmann::json json() {
    nlohmann::json json{{"name", name_}, {"count", spans_.size()}};
    if (empty()) return json;
    json["p50_us"] = percentile(0.5).count();
    json["p90_us"] = percentile(0.9).count();
    json["p99_us"] = percentile(0.99).count();
    json["max_us"] = percentile(1).count();
    return json;
  }

 private:
  static constexpr double parts[] = {0.5, 0.9, 0.99, 1};

  std::string name_;
  std::vector<Microseconds> spans_;
  bool is_sorted_ = true;
};

}  // namespace command
