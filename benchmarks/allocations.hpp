// SPDX-License-Identifier: MIT
#pragma once

// Counts what a program allocates, by taking the place of operator new. In one file of a program only; under
// a sanitizer nothing is counted.

#include <cstddef>
#include <cstdlib>
#include <new>

namespace bench {

/// By this thread, since it began.
inline thread_local std::size_t allocations = 0;

[[nodiscard]] inline void* allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace bench

// Sanitizers have their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUBLOCK_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SUBLOCK_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef SUBLOCK_COUNTS_ALLOCATIONS
#define SUBLOCK_COUNTS_ALLOCATIONS 1
void* operator new(std::size_t size) { return bench::allocate(size); }
void* operator new[](std::size_t size) { return bench::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
#endif
