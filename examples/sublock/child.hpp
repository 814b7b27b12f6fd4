// SPDX-License-Identifier: MIT
#pragma once

// One child process: started, signalled, and its end. It dies with us, inherits no descriptor of ours, and where
// there is no terminal it leads a process group of its own, so that signals reach its children as well. Knows
// nothing of locks.

#include "signals.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace command {

/// There is no such command, or it may not be run.
struct CannotRun : std::system_error {
  using std::system_error::system_error;
};

/// Make it in a thread that lives as long as the process: the child dies with the thread that made it.
class Child {
 public:
  enum class State { running, stopped, ended };

  /// `argv[0]` is looked up in PATH. Throws CannotRun, or std::system_error where there is
  /// no process for it.
  Child(std::vector<std::string> argv, std::vector<std::string> environment, const sigset_t& mask)
      : leads_group_(!has_terminal()) {
    std::vector<char*> words = pointers(argv);
    std::vector<char*> variables = pointers(environment);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe");
    const Descriptor reader(ends[0], "pipe");
    Descriptor writer(ends[1], "pipe");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) give_up("fork");
    if (pid_ == 0) {  // only async-signal-safe calls from here on
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(0);  // it died before we asked for that signal
      if (leads_group_) ::setpgid(0, 0);
      ::sigprocmask(SIG_SETMASK, &mask, nullptr);
      environ = variables.data();
      ::execvp(words[0], words.data());
      const int error = errno;
      [[maybe_unused]] const ssize_t written = ::write(writer.get(), &error, sizeof error);
      ::_exit(0);
    }
    writer.close();
    int error = 0;
    ssize_t size = 0;
    do {
      size = ::read(reader.get(), &error, sizeof error);  // ends at exec
    } while (size < 0 && errno == EINTR);
    if (size == 0) return;
    ::waitpid(pid_, nullptr, 0);
    throw CannotRun(error, std::generic_category(), argv[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (status_) return;
    ::kill(target(), SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// Looks what has become of it. Once it has ended, what is left of its group can still be signalled, until
  /// `status`.
  State look() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      return State::running;
    if (info.si_code != CLD_STOPPED) return State::ended;
    // A stop is told once.
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG);
    return State::stopped;
  }

  /// After its end: its exit status, or 128 plus the signal that ended it.
  [[nodiscard]] int status() {
    if (!status_) {
      int raw = 0;
      ::waitpid(pid_, &raw, 0);
      status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    }
    return *status_;
  }

  void signal(int number) const noexcept { ::kill(target(), number); }

  /// Those that it has left behind end too, if it has a group of its own.
  void end_group() const noexcept {
    if (leads_group_) ::kill(-pid_, SIGKILL);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  static bool has_terminal() {
    const int fd = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  }

  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }

  [[nodiscard]] pid_t target() const noexcept { return leads_group_ ? -pid_ : pid_; }

  const bool leads_group_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace command
