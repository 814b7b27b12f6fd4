// SPDX-License-Identifier: MIT
#pragma once

// A terminal of a test's own, with a program in its foreground.

#include <gtest/gtest.h>

#include <support/eventually.hpp>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// A program in the foreground of a new terminal. Nothing of it outlives the object.
class Terminal {
 public:
  struct Size {
    unsigned short rows = 24;
    unsigned short columns = 80;
  };
  explicit Terminal(std::vector<std::string> argv, Size size = {24, 80}) {
    std::vector<char*> words;
    for (auto& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    const winsize room{size.rows, size.columns, 0, 0};
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &room);
    if (pid_ != 0) return;
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    if (!ended_) ::kill(pid_, SIGKILL);
    if (!ended_) ::waitpid(pid_, nullptr, 0);
    ::close(fd_);
  }

  void type(std::string_view keys) {
    ASSERT_EQ(::write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  [[nodiscard]] bool shows(std::string_view text) {
    return eventually([&] { return screen().find(text) != std::string::npos; });
  }

  /// All that it has shown.
  const std::string& screen() {
    std::array<char, 4096> chunk{};
    for (pollfd ready{fd_, POLLIN, 0}; ::poll(&ready, 1, 0) > 0;) {
      const auto size = ::read(fd_, chunk.data(), chunk.size());
      if (size <= 0) break;
      screen_.append(chunk.data(), static_cast<std::size_t>(size));
    }
    return screen_;
  }

  [[nodiscard]] int exit_status() {
    int status = 0;
    ended_ = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    return ended_ && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  bool ended_ = false;
  std::string screen_;
};

}  // namespace support
