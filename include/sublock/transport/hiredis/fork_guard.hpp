// SPDX-License-Identifier: MIT
#pragma once

// Descriptors that a forked child must not share. The child closes its copies before fork() returns
// there, without a byte on the wire, and every object made before the fork can tell that it is now in
// the wrong process. No sockets are made here.

#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace sublock::hiredis {

/// All open descriptors of this library in this process. Thread-safe.
class ForkGuard {
 public:
  [[nodiscard]] static ForkGuard& instance() {
    // Never destroyed: locks with static storage close their connections after anything here would die.
    static ForkGuard& guard = *new ForkGuard;
    return guard;
  }

  /// How many forks lie between the first process and this one.
  [[nodiscard]] unsigned generation() const noexcept { return generation_.load(std::memory_order_relaxed); }

  /// Runs `open`, which returns a descriptor or -1, so that no fork falls between it and its being known.
  template <class Open>
  int open(Open&& open) {
    const std::lock_guard guard(mutex_);
    const int fd = open();
    if (fd < 0) return -1;
    if (known_.size() <= static_cast<std::size_t>(fd)) known_.resize(static_cast<std::size_t>(fd) + 64);
    known_[static_cast<std::size_t>(fd)] = 1;
    return fd;
  }

  void close(int fd) noexcept {
    const std::lock_guard guard(mutex_);
    known_[static_cast<std::size_t>(fd)] = 0;
    ::close(fd);
  }

 private:
  ForkGuard() {
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().enter_child(); });
  }

  void enter_child() noexcept {
    for (std::size_t fd = 0; fd < known_.size(); ++fd) {
      if (known_[fd] != 0) ::close(static_cast<int>(fd));
      known_[fd] = 0;
    }
    generation_.fetch_add(1, std::memory_order_relaxed);
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<char> known_;  // by descriptor; reading it in the child allocates nothing
  std::atomic<unsigned> generation_ = 0;
};

/// Owns one descriptor. In a forked child it owns nothing: its number may be somebody else's by then.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      generation_ = other.generation_;
    }
    return *this;
  }
  ~Descriptor() { close(); }

  /// Takes what `open` returns; with -1, errno is as `open` left it.
  template <class Open>
  [[nodiscard]] static Descriptor open(Open&& open) {
    Descriptor descriptor;
    descriptor.generation_ = ForkGuard::instance().generation();
    descriptor.fd_ = ForkGuard::instance().open(std::forward<Open>(open));
    return descriptor;
  }

  void close() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && generation_ == ForkGuard::instance().generation()) ForkGuard::instance().close(fd);
  }

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
  unsigned generation_ = 0;
};

}  // namespace sublock::hiredis
