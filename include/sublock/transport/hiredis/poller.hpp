// SPDX-License-Identifier: MIT
#pragma once

// Which links the keeper thread watches, and how it is woken. A link that a waiting caller reads is
// leased to that caller and not watched meanwhile, so that no answer costs a hop between threads; one
// that awaits nothing may stay unwatched for a while, so that taking it up again costs nothing.

#include <sublock/core/holder.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sublock::hiredis {

class Link;

[[nodiscard]] inline Descriptor make_eventfd() {
  return Descriptor::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
}

/// Wakes whoever polls `fd`. Takes no lock; any thread.
inline void signal_eventfd(int fd) noexcept {
  const std::uint64_t one = 1;
  while (::write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

inline void clear_eventfd(int fd) noexcept {
  std::uint64_t count = 0;
  while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

/// Descriptors to wake callers by, so that it needs one for each that waits, not one for each lock.
class SpareWakes {
 public:
  /// Empty where descriptors have run out.
  [[nodiscard]] Descriptor take() {
    if (spare_.empty()) return make_eventfd();
    Descriptor wake = std::move(spare_.back());
    spare_.pop_back();
    return wake;
  }
  void give_back(Descriptor wake, bool signalled) {
    if (!wake) return;
    if (signalled) clear_eventfd(wake.get());
    spare_.push_back(std::move(wake));
  }

 private:
  std::vector<Descriptor> spare_;
};

/// A thread that polls on its own, and how to interrupt it.
class Sleeper {
 public:
  /// Nothing to do while it is awake: it looks at everything before it falls asleep.
  void wake() noexcept {
    if (asleep_) interrupt();
  }

 protected:
  ~Sleeper() = default;

  /// Takes no lock; any thread.
  void interrupt() noexcept {
    if (!wake_) return;
    interrupted_ = true;
    signal_eventfd(wake_.get());
  }

  Descriptor wake_;  // may be empty where descriptors have run out: then it sleeps in short slices
  bool asleep_ = false;
  std::atomic<bool> interrupted_ = false;  // ever
};

/// Everything here needs the transport's mutex, but for wake() and wait().
class Poller {
 public:
  static constexpr std::uint64_t wake_id = 0;

  /// Makes the descriptors, once. Returns why not, or nothing.
  [[nodiscard]] std::string start() {
    if (wake_) return {};
    Descriptor epoll = Descriptor::open([] { return ::epoll_create1(EPOLL_CLOEXEC); });
    if (!epoll) return std::strerror(errno);
    Descriptor wake = make_eventfd();
    if (!wake) return std::strerror(errno);
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = wake_id;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) return std::strerror(errno);
    epoll_ = std::move(epoll);
    wake_ = std::move(wake);
    return {};
  }

  [[nodiscard]] std::uint64_t add(Link& link) {
    links_.emplace(++last_id_, &link);
    return last_id_;
  }
  void remove(std::uint64_t id) { links_.erase(id); }
  [[nodiscard]] Link* find(std::uint64_t id) const {
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : found->second;
  }
  [[nodiscard]] const std::unordered_map<std::uint64_t, Link*>& links() const noexcept { return links_; }

  /// Has the keeper watch `fd` for what `events` says, from now on or other than before; false where the
  /// kernel has no memory for it.
  bool watch(int fd, std::uint64_t id, std::uint32_t events, bool already_watched) noexcept {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = id;
    return ::epoll_ctl(epoll_.get(), already_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
  }
  void unwatch(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  /// This link must be pumped soon, whether or not its socket says so.
  void attend(std::weak_ptr<Link> link) {
    attention_.push_back(std::move(link));
    if (!busy_) wake();
  }
  [[nodiscard]] std::vector<std::weak_ptr<Link>> take_attention() { return std::exchange(attention_, {}); }

  /// Nobody watches this link now: the keeper takes it up when it looks next.
  void leave_unwatched(std::uint64_t id) { unwatched_.push_back(id); }
  [[nodiscard]] const std::vector<std::uint64_t>& unwatched() const noexcept { return unwatched_; }
  [[nodiscard]] std::vector<std::uint64_t> take_unwatched() { return std::exchange(unwatched_, {}); }

  /// While busy, somebody is about to look at everything, so that nobody needs waking; links collect
  /// what they have to send.
  void set_busy(bool busy) noexcept { busy_ = busy; }
  [[nodiscard]] bool busy() const noexcept { return busy_; }

  /// Something is due at `when`: the keeper must look then.
  void hasten(core::Instant when) noexcept {
    if (when >= next_tick_) return;
    next_tick_ = when;
    wake();
  }
  [[nodiscard]] core::Instant next_tick() const noexcept { return next_tick_; }
  void set_next_tick(core::Instant when) noexcept { next_tick_ = when; }

  void wake() noexcept {
    if (wake_) signal_eventfd(wake_.get());
  }

  /// The keeper's sleep.
  [[nodiscard]] int wait(epoll_event* events, int events_max, int timeout_ms) noexcept {
    return ::epoll_wait(epoll_.get(), events, events_max, timeout_ms);
  }
  void clear_wake() noexcept { clear_eventfd(wake_.get()); }

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::uint64_t last_id_ = wake_id;
  std::unordered_map<std::uint64_t, Link*> links_;
  std::vector<std::weak_ptr<Link>> attention_;
  std::vector<std::uint64_t> unwatched_;
  bool busy_ = false;
  core::Instant next_tick_ = core::Instant::max();
};

}  // namespace sublock::hiredis
