// SPDX-License-Identifier: MIT
#pragma once

// Which worlds are known, and nothing else of them: a set of hashes, each with the order in which it came.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sublock::sim {

/// A world is known by 64 bits of hash: among ten million worlds, the odds that two share them, so that one
/// is overlooked, are about one in 370,000.
class Atlas {
 public:
  Atlas() : table_(std::size_t{1} << 16U, none) {}

  /// The number of the world with that hash, and whether it is a new one.
  std::pair<std::uint32_t, bool> find_or_add(std::uint64_t hash) {
    if ((hashes_.size() + 1) * 5 > table_.size() * 3) grow();
    std::size_t at = slot(hash);
    while (table_[at] != none) {
      if (hashes_[table_[at]] == hash) return {table_[at], false};
      at = (at + 1) & (table_.size() - 1);
    }
    table_[at] = static_cast<std::uint32_t>(hashes_.size());
    hashes_.push_back(hash);
    return {table_[at], true};
  }

  /// Has that part of the table come from memory meanwhile, which takes longer than all else.
  void expect(std::uint64_t hash) const { __builtin_prefetch(&table_[slot(hash)]); }

  [[nodiscard]] bool contains(std::uint64_t hash) const {
    std::size_t at = slot(hash);
    while (table_[at] != none && hashes_[table_[at]] != hash) at = (at + 1) & (table_.size() - 1);
    return table_[at] != none;
  }

  [[nodiscard]] std::size_t size() const { return hashes_.size(); }

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  [[nodiscard]] std::size_t slot(std::uint64_t hash) const { return hash & (table_.size() - 1); }

  void grow() {
    table_.assign(table_.size() * 2, none);
    for (std::uint32_t i = 0; i < hashes_.size(); ++i) {
      std::size_t at = slot(hashes_[i]);
      while (table_[at] != none) at = (at + 1) & (table_.size() - 1);
      table_[at] = i;
    }
  }

  std::vector<std::uint32_t> table_;  // open addressing; the hash itself is in hashes_
  std::vector<std::uint64_t> hashes_;
};

}  // namespace sublock::sim
