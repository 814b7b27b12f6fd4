// SPDX-License-Identifier: MIT
#pragma once

// The in-memory worlds of the lock's laws, with the raw client for keys that the laws of RedisGetlock need.

#include <lock/in_memory_worlds.hpp>

#include <optional>
#include <string>

namespace sublock::testing {

template <class World>
struct InMemoryKeys : World {
  void set(const std::string& key, const std::string& value, std::optional<Duration> expire) {
    this->redis->set(key, value, expire);
  }
  void erase(const std::string& key) { this->redis->erase(key); }
  [[nodiscard]] std::string value(const std::string& key) { return this->redis->look(key).value; }
  [[nodiscard]] std::optional<Duration> left(const std::string& key) {
    const auto found = this->redis->look(key);
    return found.type == "none" ? Duration::zero() : found.left;
  }
};

}  // namespace sublock::testing
