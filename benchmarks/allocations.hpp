// SPDX-License-Identifier: MIT
#pragma once

// Counts what a program allocates, by taking the place of operator new. In one file of a program only.

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

void* operator new(std::size_t size) { return bench::allocate(size); }
void* operator new[](std::size_t size) { return bench::allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
