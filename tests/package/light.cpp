// SPDX-License-Identifier: MIT

// A program that costs nothing to build: it finds the headers and, where it was promised one, the library.

#include <sublock/options.hpp>
#include <sublock/version.hpp>

#if defined(LINKS_HIREDIS)
#include <hiredis/hiredis.h>
#endif

#include <iostream>

int main() {
  std::cout << sublock::version << '\n';
#if defined(LINKS_HIREDIS)
  redisReaderFree(redisReaderCreate());
#endif
  return sublock::AcquireOptions().timeout ? 1 : 0;
}
