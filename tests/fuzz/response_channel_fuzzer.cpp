// SPDX-License-Identifier: MIT

// libFuzzer on what arrives on a response channel.

#include <fuzz/targets.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sublock::fuzz::response_channel({reinterpret_cast<const char*>(data), size});
  return 0;
}
