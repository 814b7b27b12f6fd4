// SPDX-License-Identifier: MIT

// libFuzzer on what arrives on the lock channel.

#include <fuzz/targets.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sublock::fuzz::lock_channel({reinterpret_cast<const char*>(data), size});
  return 0;
}
