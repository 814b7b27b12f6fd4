// SPDX-License-Identifier: MIT
#pragma once

// Whether this program, and so the driver beside it, is built with a sanitizer: slower, and larger.

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUBLOCK_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUBLOCK_SANITIZED
#endif

namespace support {

#if defined(SUBLOCK_SANITIZED)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// A bound in seconds that is the subject's own, and what it may be where the program is slow.
constexpr double within(double bound) { return sanitized ? 10 * bound : bound; }

}  // namespace support
