// SPDX-License-Identifier: MIT
#pragma once

// The keys of the in-memory server: strings that may expire, and counters. Knows what time it is only by asking.

#include <sublock/core/event.hpp>
#include <sublock/policies.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::in_memory {

/// Guarded by the world's mutex. A key that has expired is gone when somebody looks.
class Keys {
 public:
  explicit Keys(std::function<Instant()> now) : now_(std::move(now)) {}

  /// SET; without `expire` the key stays.
  void set(const std::string& key, std::string value, std::optional<Duration> expire) {
    std::optional<Instant> until;
    if (expire) until = core::saturating_add(now_(), *expire);
    texts_[key] = {std::move(value), until};
  }

  /// SET with NX; whether it was done.
  bool set_if_absent(const std::string& key, const std::string& value, Duration expire) {
    if (find(key) || counters_.contains(key)) return false;
    set(key, value, expire);
    return true;
  }

  /// DEL; whether there was one.
  bool erase(std::string_view key) {
    const bool was_there = find(key) != nullptr;
    if (was_there) texts_.erase(texts_.find(key));
    return was_there;
  }

  /// Whether a string is stored there that begins with `mark`.
  [[nodiscard]] bool begins_with(std::string_view key, std::string_view mark) {
    const Text* text = find(key);
    return text != nullptr && text->value.starts_with(mark);
  }

  /// INCR.
  std::int64_t increment(const std::string& key) { return ++counters_[key]; }

  /// TYPE, GETRANGE and PTTL together.
  [[nodiscard]] core::event::Looked look(std::string_view key) {
    if (const Text* text = find(key)) {
      core::event::Looked looked{"string", text->value, {}};
      if (text->until) looked.left = *text->until - now_();
      return looked;
    }
    if (const auto counter = counters_.find(key); counter != counters_.end())
      return {"string", std::to_string(counter->second), {}};
    return {"none", {}, {}};
  }

  /// FLUSHALL, or a server that starts with nothing.
  void clear() {
    texts_.clear();
    counters_.clear();
  }

 private:
  struct Text {
    std::string value;
    std::optional<Instant> until;  ///< empty: never expires
  };

  const Text* find(std::string_view key) {
    const auto found = texts_.find(key);
    if (found == texts_.end()) return nullptr;
    if (!found->second.until || now_() < *found->second.until) return &found->second;
    texts_.erase(found);
    return nullptr;
  }

  std::function<Instant()> now_;
  std::map<std::string, Text, std::less<>> texts_;
  std::map<std::string, std::int64_t, std::less<>> counters_;
};

}  // namespace sublock::in_memory
