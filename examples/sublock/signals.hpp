// SPDX-License-Identifier: MIT
#pragma once

// Signals and alarms as descriptors that can be waited for, and the waiting. Nothing here decides what a signal
// means.

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace command {

using Instant = std::chrono::steady_clock::time_point;

[[noreturn]] inline void give_up(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

/// Owns a descriptor, which no child inherits.
class Descriptor {
 public:
  /// `fd` is what `call` returned. Throws std::system_error where that is -1.
  Descriptor(int fd, const char* call) : fd_(fd) {
    if (fd < 0) give_up(call);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// A bell that another thread rings.
class Alarm {
 public:
  void ring() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
  }

  /// Whether it has rung since this was last asked.
  [[nodiscard]] bool rang() const noexcept {
    std::uint64_t rings = 0;
    return ::read(bell_.get(), &rings, sizeof rings) == sizeof rings;
  }

  [[nodiscard]] int fd() const noexcept { return bell_.get(); }

 private:
  Descriptor bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"};
};

/// From its making until the process ends, signals are read here instead of doing what they do: those that are
/// passed on, and SIGCHLD. Those that were ignored stay ignored. The terminal can't stop the process any more,
/// since nobody would answer for its lock. Make it in the main thread, before all threads that don't block
/// every signal themselves.
class Signals {
 public:
  struct Arrival {
    int number;
    bool from_kernel;  ///< such as a key of the terminal, which reaches the whole foreground
  };

  Signals() {
    std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, a child's end can't be asked for
    sigset_t read;
    ::sigemptyset(&read);
    ::sigaddset(&read, SIGCHLD);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP}) {
      struct sigaction action {};
      if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
        ::sigaddset(&read, number);
    }
    sigset_t blocked = read;
    for (const int number : {SIGTTIN, SIGTTOU, SIGTSTP}) ::sigaddset(&blocked, number);
    ::sigprocmask(SIG_BLOCK, &blocked, &before_);
    // Those that our parent had blocked are read here all the same; the child has them blocked again.
    fd_.emplace(::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The next one that has arrived.
  [[nodiscard]] std::optional<Arrival> next() const {
    signalfd_siginfo info{};
    if (::read(fd_->get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return Arrival{static_cast<int>(info.ssi_signo), info.ssi_code > 0};
  }

  /// What was blocked before, for a child.
  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  [[nodiscard]] int fd() const noexcept { return fd_->get(); }

 private:
  sigset_t before_{};
  std::optional<Descriptor> fd_;
};

/// Whether a process that does not care about it is ended by it.
[[nodiscard]] constexpr bool is_ending(int number) noexcept {
  return number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM;
}

/// Waits for a signal, for the alarm, or until `limit`.
inline void wait_for(const Signals& signals, const Alarm& alarm, std::optional<Instant> limit) {
  using namespace std::chrono;
  std::array<pollfd, 2> polls{{{signals.fd(), POLLIN, 0}, {alarm.fd(), POLLIN, 0}}};
  timespec span{};
  if (limit) {
    const nanoseconds left = std::max(nanoseconds(*limit - steady_clock::now()), nanoseconds::zero());
    span.tv_sec = duration_cast<seconds>(left).count();
    span.tv_nsec = (left % seconds(1)).count();
  }
  if (::ppoll(polls.data(), polls.size(), limit ? &span : nullptr, nullptr) < 0 && errno != EINTR)
    give_up("ppoll");
}

}  // namespace command
