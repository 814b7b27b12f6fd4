// SPDX-License-Identifier: MIT
#pragma once

// Processes that stand still, and are known to.

#include <support/eventually.hpp>

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace support {

/// Sends SIGSTOP, and waits until every thread of that process has heeded it. False if one does not.
inline bool stop_and_wait(pid_t pid) {
  ::kill(pid, SIGSTOP);
  const auto stands_still = [](const std::filesystem::directory_entry& thread) {
    std::ifstream stat(thread.path() / "stat");
    std::string text;
    std::getline(stat, text);
    const auto name_ends = text.rfind(") ");  // a name may have blanks
    return name_ends != std::string::npos && text.compare(name_ends + 2, 1, "T") == 0;
  };
  const std::filesystem::path threads = "/proc/" + std::to_string(pid) + "/task";
  return eventually(
      [&] { return std::ranges::all_of(std::filesystem::directory_iterator(threads), stands_still); });
}

}  // namespace support
