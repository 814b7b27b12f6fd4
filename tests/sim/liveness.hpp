// SPDX-License-Identifier: MIT
#pragma once

// Whether the lock can still be had, from everywhere: the steps between worlds, and from which of them
// something good is still within reach. Knows worlds by their numbers only.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sublock::sim {

class Liveness {
 public:
  /// Steps must come in the order of the worlds they start from.
  void add_step(std::uint32_t from, std::uint32_t to, std::uint8_t label) {
    while (starts_.size() <= from) starts_.push_back(targets_.size());
    targets_.push_back(to);
    labels_.push_back(label);
  }

  /// The first world that `must`, and from which no way over steps that are `allowed` leads to a `good` one.
  /// `must` and `good` take a world's number, `allowed` a step's label.
  [[nodiscard]] std::optional<std::uint32_t> first_without(std::size_t worlds,
                                                           const std::function<bool(std::uint32_t)>& must,
                                                           const std::function<bool(std::uint32_t)>& good,
                                                           const std::function<bool(std::uint8_t)>& allowed) {
    while (starts_.size() <= worlds) starts_.push_back(targets_.size());
    std::vector<bool> leads(worlds);
    for (std::uint32_t at = 0; at < worlds; ++at) leads[at] = good(at);
    // Backwards, for most steps lead to worlds that were found later; again for those that don't.
    for (bool changed = true; changed;) {
      changed = false;
      for (auto at = static_cast<std::uint32_t>(worlds); at-- > 0;) {
        if (leads[at] || !reaches(at, leads, allowed)) continue;
        leads[at] = changed = true;
      }
    }
    for (std::uint32_t at = 0; at < worlds; ++at) {
      if (!leads[at] && must(at)) return at;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool reaches(std::uint32_t at, const std::vector<bool>& leads,
                             const std::function<bool(std::uint8_t)>& allowed) const {
    for (std::size_t i = starts_[at]; i < starts_[at + 1]; ++i) {
      if (leads[targets_[i]] && allowed(labels_[i])) return true;
    }
    return false;
  }

  std::vector<std::size_t> starts_;  // of the steps of each world
  std::vector<std::uint32_t> targets_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace sublock::sim
