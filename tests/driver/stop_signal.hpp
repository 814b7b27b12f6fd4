// SPDX-License-Identifier: MIT
#pragma once

// From SIGTERM or SIGINT to a stop_token. The handler only writes to a pipe of its own, since a stop
// may not be requested in a handler; a thread that blocks every signal reads it. That thread is
// separate from the handler so that the lock's threads are made by a thread with an ordinary signal
// mask, as in any program.

#include <array>
#include <cerrno>
#include <csignal>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace driver {

/// One for each program. Not thread-safe.
class StopSignal {
 public:
  /// From here on the signals are remembered. SIGINT stays ignored where it was, as in a shell's
  /// background job.
  StopSignal() {
    if (::pipe2(pipe_.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe2");
    write_end_ = pipe_[1];
    handle(SIGTERM);
    struct sigaction old {};
    if (::sigaction(SIGINT, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) handle(SIGINT);
  }

  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  ~StopSignal() {
    on_signal(0);
    if (reader_.joinable()) reader_.join();
    // The handler may still run, so its end stays open.
    ::close(pipe_[0]);
  }

  /// From here on a signal, also an earlier one, requests the stop.
  void listen() {
    if (reader_.joinable()) return;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    reader_ = std::thread([end = pipe_[0], source = source_]() mutable {
      char byte = 0;
      while (::read(end, &byte, 1) < 0 && errno == EINTR) {
      }
      source.request_stop();
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  static void on_signal(int) {
    const int error = errno;
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(write_end_, &byte, 1);
    errno = error;
  }

  static void handle(int number) {
    struct sigaction action {};
    action.sa_handler = on_signal;  // without SA_RESTART: the library must bear EINTR
    ::sigaction(number, &action, nullptr);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);  // whatever our parent had blocked
  }

  static inline volatile std::sig_atomic_t write_end_ = -1;

  std::array<int, 2> pipe_{-1, -1};
  std::stop_source source_;
  std::thread reader_;
};

}  // namespace driver
