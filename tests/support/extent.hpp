// SPDX-License-Identifier: MIT
#pragma once

// How much of a search a test program can afford.

#include <cstdlib>
#include <string_view>

namespace support {

/// Sanitizers make a search ten times slower, and find what they are for in a small one.
enum class Extent { small, standard, large };

/// SUBLOCK_SEARCH=large in the environment asks for hours and gigabytes, SUBLOCK_SEARCH=small for seconds.
[[nodiscard]] inline Extent extent() {
  const char* wanted = std::getenv("SUBLOCK_SEARCH");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (wanted != nullptr && std::string_view(wanted) == "large") return Extent::large;
  if (wanted != nullptr && std::string_view(wanted) == "small") return Extent::small;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return Extent::small;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return Extent::small;
#else
  return Extent::standard;
#endif
#else
  return Extent::standard;
#endif
}

}  // namespace support
