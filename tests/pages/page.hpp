// SPDX-License-Identifier: MIT
#pragma once

// A page of documentation as its tests see it: blocks of code, each of a kind that somebody tries.

#include <fstream>
#include <iterator>
#include <ostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace pages {

struct Block {
  int line = 0;  ///< of its first line
  std::string kind;
  std::vector<std::string> lines;

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& one : lines) all += one + '\n';
    return all;
  }

  friend std::ostream& operator<<(std::ostream& out, const Block& block) {
    return out << block.kind << " at line " << block.line;
  }
};

/// All fenced blocks of a file below the top of the repository. Throws std::runtime_error for one without an end.
[[nodiscard]] inline std::vector<Block> blocks_of(const std::string& path) {
  std::ifstream in(std::string(SUBLOCK_SOURCE_DIR) + '/' + path);
  if (!in) throw std::runtime_error("no page " + path);
  std::vector<Block> blocks;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({number + 1, line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  if (inside) throw std::runtime_error(path + ": a block has no end");
  return blocks;
}

[[nodiscard]] inline std::vector<Block> blocks_of(const std::string& path, const std::string& kind) {
  std::vector<Block> blocks = blocks_of(path);
  std::erase_if(blocks, [&](const Block& block) { return block.kind != kind; });
  return blocks;
}

}  // namespace pages
