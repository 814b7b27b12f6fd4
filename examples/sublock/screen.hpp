// SPDX-License-Identifier: MIT
#pragma once

// The terminal as a page that is drawn anew, and its keys. Whatever happens, the terminal is left as it was found.

#include "people.hpp"
#include "signals.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace command {

/// Make it in the main thread. Signals that end a process end only `wait` from then on.
class Screen {
 public:
  /// Whether stdout is a terminal that can be drawn on.
  [[nodiscard]] static bool is_there() {
    const char* const kind = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && *kind != '\0' &&
           std::string_view(kind) != "dumb";
  }

  Screen() {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      has_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
    }
    put("\x1b[?1049h\x1b[?25l");  // a page of its own, and no cursor
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    put("\x1b[?25h\x1b[?1049l");
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  /// As many of the lines as there is room for, each cut where the screen ends; `last` comes at the bottom.
  void draw(const Words& lines, const std::string& last) {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    const std::size_t columns = known ? size.ws_col : 80;
    const std::size_t room = (known ? std::max<std::size_t>(size.ws_row, 3) : 24) - 2;
    std::string page = "\x1b[H";
    for (std::size_t at = 0; at < lines.size(); ++at) {
      const bool full = at + 1 == room && lines.size() > room;
      const std::string more = "... and " + std::to_string(lines.size() - at) + " more";
      page += cut(full ? more : lines[at], columns) + "\x1b[K\r\n";
      if (full) break;
    }
    put(page + "\x1b[K\r\n" + cut(last, columns) + "\x1b[J");
  }

  /// Waits until then; true once somebody wants to leave.
  [[nodiscard]] bool wait_until(Instant limit) {
    while (std::chrono::steady_clock::now() < limit) {
      std::array<pollfd, 2> polls{{{signals_.fd(), POLLIN, 0}, {has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}}};
      const auto left = std::chrono::ceil<Milliseconds>(limit - std::chrono::steady_clock::now()).count();
      ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
      while (const auto arrival = signals_.next()) {
        if (is_ending(arrival->number)) return true;
      }
      if (polls[1].revents == 0) continue;
      std::array<char, 64> keys{};
      const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
      if (count <= 0) has_keys_ = false;
      const std::string_view typed(keys.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (typed.find_first_of("qQ\x03\x04") != std::string_view::npos) return true;
    }
    return false;
  }

 private:
  /// The start of `line`, as wide as that; a character takes one column here, and none is cut in two.
  static std::string cut(std::string_view line, std::size_t columns) {
    std::size_t bytes = 0;
    for (std::size_t seen = 0; bytes < line.size(); ++bytes) {
      if ((static_cast<unsigned char>(line[bytes]) & 0xc0U) != 0x80U && seen++ == columns) break;
    }
    return std::string(line.substr(0, bytes));
  }

  static void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
      if (count < 0 && errno != EINTR) return;
      if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  Signals signals_;
  termios before_{};
  bool has_keys_ = false;
};

}  // namespace command
