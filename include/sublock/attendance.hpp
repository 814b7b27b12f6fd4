// SPDX-License-Identifier: MIT
#pragma once

// A caller who waits on a line again and again, for transports that gain by knowing it.

namespace sublock {

/// While there is one, the line's mutex is held but for its waits, which follow one another.
template <class Line>
class Attendance {
 public:
  explicit Attendance(Line& line) : line_(line) { attend(true); }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;
  ~Attendance() { attend(false); }

 private:
  void attend(bool whether) {
    if constexpr (requires { line_.attend(whether); }) line_.attend(whether);
  }

  Line& line_;
};

}  // namespace sublock
