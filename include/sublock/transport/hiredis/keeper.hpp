// SPDX-License-Identifier: MIT
#pragma once

// The one thread of a transport object. It reads whatever no caller is reading, tells listeners, and
// minds the time. It blocks nowhere but in its sleep, and for the mutex.

#include <sublock/clock/steady.hpp>
#include <sublock/transport/hiredis/hub.hpp>

#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace sublock::hiredis {

/// Shares the hub with its thread, so that even a transport that dies on this very thread is survived.
class Keeper {
 public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() { stop(); }

  /// Starts the thread, once; needs the hub's mutex and a started poller. Returns why not, or nothing.
  [[nodiscard]] std::string start(const std::shared_ptr<Hub>& hub) {
    if (thread_.joinable()) return {};
    // A signal must never be handled on a thread that the program doesn't know.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::string why;
    hub->pulse.beat();  // the process may stand still before the thread has its first turn
    try {
      thread_ = std::thread([hub] { run(*hub); });
      hub_ = hub;
    } catch (const std::system_error& error) {
      why = error.what();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return why;
  }

  /// Needs the hub's mutex not to be held, but by the keeper's own thread.
  void stop() {
    if (!thread_.joinable()) return;
    hub_->stopping = true;
    hub_->poller.wake();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

 private:
  static void run(Hub& hub) {
    ::pthread_setname_np(::pthread_self(), "sublock");
    std::array<epoll_event, 64> events;
    int timeout_ms = 0;
    for (;;) {
      const int count = hub.poller.wait(events.data(), static_cast<int>(events.size()), timeout_ms);
      const std::lock_guard lock(hub.mutex);
      // In this order: stop() holds no mutex, so its wake may be among those that are cleared.
      const auto woken = [](const epoll_event& event) { return event.data.u64 == Poller::wake_id; };
      if (std::any_of(events.begin(), events.begin() + std::max(count, 0), woken)) hub.poller.clear_wake();
      if (hub.stopping) return;
      core::Instant now = SteadyClock().now();
      if (const core::Duration gap = hub.pulse.gap(); gap != core::Duration::zero()) {
        hub.doubt_all("the process stood still for " + in_seconds(gap));
      }
      for (int at = 0; at < count; ++at) {
        const auto id = events[static_cast<std::size_t>(at)].data.u64;
        if (Link* link = hub.poller.find(id)) hub.pump(*link, now);  // none for a wake
      }
      hub.settle(now);
      hub.tick(now);
      hub.settle(now);
      hub.take_up();
      hub.pulse.beat();
      timeout_ms = until(hub.poller.next_tick());
      timeout_ms = sooner(timeout_ms, Pulse::interval);
    }
  }

  static int sooner(int timeout_ms, core::Duration limit) {
    const auto limit_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(limit).count());
    return timeout_ms < 0 ? limit_ms : std::min(timeout_ms, limit_ms);
  }

  static std::string in_seconds(core::Duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(span).count()) + " s";
  }

  /// Rounded up: waking a moment early would only mean to wake twice.
  static int until(core::Instant when) {
    if (when == core::Instant::max()) return -1;
    using std::chrono::milliseconds;
    const auto left = std::chrono::ceil<milliseconds>(when - SteadyClock().now());
    return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 3'600'000));
  }

  std::shared_ptr<Hub> hub_;
  std::thread thread_;
};

}  // namespace sublock::hiredis
