// SPDX-License-Identifier: MIT
#pragma once

// Another process on a leash: its output line by line, its end, both with a bound. Nothing of it outlives
// the object, nor the thread that made it.

#include "support/eventually.hpp"
#include "support/standstill.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// A process did not do in time what a test waited for; `what()` shows all that it printed.
struct ProcessError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A running program. Its stderr is collected too. Not thread-safe.
class Process {
 public:
  /// `argv[0]` is looked up in PATH. Throws ProcessError if it can't be run.
  explicit Process(std::vector<std::string> argv) : argv_(std::move(argv)) {
    auto [child_in, in] = pipe();
    auto [out, child_out] = pipe();
    auto [err, child_err] = pipe();
    auto [started, failed] = pipe();
    std::vector<char*> words;
    for (auto& word : argv_) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw ProcessError("fork: " + std::string(std::strerror(errno)));
    if (pid_ == 0) {  // only async-signal-safe calls from here on
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      ::dup2(child_in.get(), STDIN_FILENO);
      ::dup2(child_out.get(), STDOUT_FILENO);
      ::dup2(child_err.get(), STDERR_FILENO);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::execvp(words[0], words.data());
      const int error = errno;
      static_cast<void>(::write(failed.get(), &error, sizeof error) + 0);
      ::_exit(127);
    }
    failed.close();
    int error = 0;
    if (::read(started.get(), &error, sizeof error) == sizeof error) {
      ::waitpid(pid_, nullptr, 0);
      throw ProcessError("can't run " + argv_[0] + ": " + std::strerror(error));
    }
    in_ = std::move(in);
    out_.fd = std::move(out);
    err_.fd = std::move(err);
  }

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  ~Process() {
    if (status_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// The next line of its stdout, without the line end; nothing once the bound or the output is over.
  [[nodiscard]] std::optional<std::string> next_line(TestClock::duration within = 10s) {
    const auto deadline = TestClock::now() + within;
    while (read_ == lines_.size()) {
      if (out_.fd.get() < 0 || !pump(deadline)) return std::nullopt;
    }
    return lines_[read_++];
  }

  /// The next line of its stdout in which the regular expression is found; those before it are passed over.
  /// Throws ProcessError if there is none within the bound.
  std::string expect_line(const std::string& pattern, TestClock::duration within = 10s) {
    const std::regex regex(pattern);
    const auto deadline = TestClock::now() + within;
    for (;;) {
      const auto left = std::max(deadline - TestClock::now(), TestClock::duration::zero());
      auto line = next_line(left);
      if (!line) throw ProcessError("no line \"" + pattern + "\" " + transcript());
      if (std::regex_search(*line, regex)) return *line;
    }
  }

  /// Whether no line with that pattern comes for the whole span.
  [[nodiscard]] bool stays_without(const std::string& pattern, TestClock::duration span) {
    try {
      expect_line(pattern, span);
      return false;
    } catch (const ProcessError&) {
      return true;
    }
  }

  /// Writes a line to its stdin.
  void say(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const auto n = ::write(in_.get(), rest.data(), rest.size());
      if (n < 0 && errno != EINTR) throw ProcessError("it does not listen " + transcript());
      if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void signal(int number) {
    if (!status_) ::kill(pid_, number);
  }

  /// It stands still when this returns; a signal alone takes its time on a busy machine.
  void freeze() {
    if (!status_ && !stop_and_wait(pid_)) throw ProcessError("it does not stand still");
  }

  [[nodiscard]] bool running() { return !reap(WNOHANG); }

  /// Its exit status, or 128 plus the signal that ended it. Throws ProcessError if it does not end.
  int exit_status(TestClock::duration within = 10s) {
    const auto deadline = TestClock::now() + within;
    while ((out_.fd.get() >= 0 || err_.fd.get() >= 0) && pump(deadline)) {
    }
    const auto left = std::max(deadline - TestClock::now(), TestClock::duration::zero());
    if (!eventually([&] { return reap(WNOHANG); }, left))
      throw ProcessError("it does not end " + transcript());
    return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : 128 + WTERMSIG(*status_);
  }

  /// Every line of its stdout so far, those included that nobody asked for yet.
  const std::vector<std::string>& lines() {
    while (pump(TestClock::now())) {
    }
    return lines_;
  }

  [[nodiscard]] const std::string& errors() {
    lines();
    return err_.text;
  }

  /// What it is and all that it said, for a failing test.
  [[nodiscard]] std::string transcript() {
    std::string text = "from";
    for (const auto& word : argv_) text.append(1, ' ').append(word.substr(0, 200));
    text += "; it said:\n";
    for (const auto& line : lines()) text.append("  ").append(line).append("\n");
    if (!err_.text.empty()) text += "and on stderr:\n" + err_.text;
    return text;
  }

 private:
  class Fd {
   public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
      std::swap(fd_, other.fd_);
      return *this;
    }
    ~Fd() { close(); }
    [[nodiscard]] int get() const noexcept { return fd_; }
    void close() noexcept {
      if (fd_ >= 0) ::close(fd_);
      fd_ = -1;
    }

   private:
    int fd_ = -1;
  };

  struct Stream {
    Fd fd;
    std::string text;
  };

  static std::pair<Fd, Fd> pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw ProcessError("pipe: " + std::string(std::strerror(errno)));
    return {Fd(ends[0]), Fd(ends[1])};
  }

  /// Takes in what it printed, waiting for some until the deadline; false if nothing came.
  bool pump(TestClock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - TestClock::now()).count();
    std::array<pollfd, 2> ready{{{out_.fd.get(), POLLIN, 0}, {err_.fd.get(), POLLIN, 0}}};
    if (ready[0].fd < 0 && ready[1].fd < 0) return false;
    const int n =
        ::poll(ready.data(), ready.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 600'000)));
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    if (ready[0].revents != 0) take(out_);
    if (ready[1].revents != 0) take(err_);
    for (auto end = out_.text.find('\n'); end != std::string::npos; end = out_.text.find('\n')) {
      lines_.push_back(out_.text.substr(0, end));
      out_.text.erase(0, end + 1);
    }
    return true;
  }

  static void take(Stream& stream) {
    std::array<char, 65536> chunk{};
    const auto n = ::read(stream.fd.get(), chunk.data(), chunk.size());
    if (n > 0) stream.text.append(chunk.data(), static_cast<std::size_t>(n));
    if (n == 0) stream.fd.close();
  }

  bool reap(int flags) {
    if (status_) return true;
    int status = 0;
    if (::waitpid(pid_, &status, flags) != pid_) return false;
    status_ = status;
    return true;
  }

  std::vector<std::string> argv_;
  pid_t pid_ = -1;
  Fd in_;
  Stream out_;
  Stream err_;
  std::vector<std::string> lines_;
  std::size_t read_ = 0;
  std::optional<int> status_;
};

/// The CLOCK_MONOTONIC seconds with which the driver and the peers begin each line.
[[nodiscard]] inline double stamp_of(const std::string& line) { return std::strtod(line.c_str(), nullptr); }

}  // namespace support
