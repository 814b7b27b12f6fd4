// SPDX-License-Identifier: MIT
#pragma once

// Which sublock this is. Here, and nowhere else: the build and the packages read it from these lines.

#define SUBLOCK_VERSION_MAJOR 0
#define SUBLOCK_VERSION_MINOR 1
#define SUBLOCK_VERSION_PATCH 0

/// One number that grows with each release: 10203 is 1.2.3.
#define SUBLOCK_VERSION_NUMBER \
  (SUBLOCK_VERSION_MAJOR * 10000 + SUBLOCK_VERSION_MINOR * 100 + SUBLOCK_VERSION_PATCH)

namespace sublock {

/// The same in words, such as "1.2.3".
#define SUBLOCK_VERSION_WORD(number) #number
#define SUBLOCK_VERSION_TEXT(major, minor, patch) \
  SUBLOCK_VERSION_WORD(major) "." SUBLOCK_VERSION_WORD(minor) "." SUBLOCK_VERSION_WORD(patch)
inline constexpr const char* version =
    SUBLOCK_VERSION_TEXT(SUBLOCK_VERSION_MAJOR, SUBLOCK_VERSION_MINOR, SUBLOCK_VERSION_PATCH);
#undef SUBLOCK_VERSION_TEXT
#undef SUBLOCK_VERSION_WORD

}  // namespace sublock
