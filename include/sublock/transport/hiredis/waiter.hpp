// SPDX-License-Identifier: MIT
#pragma once

// A caller that waits: it reads its line's connections itself, so that an answer reaches it without a
// hop through the keeper. The only place where a user's thread blocks.

#include <sublock/clock/steady.hpp>
#include <sublock/transport/hiredis/hub.hpp>
#include <sublock/transport/hiredis/server.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

namespace sublock::hiredis {

/// Made and destroyed with the hub's mutex held. While there is one, it reads the line's connections, the
/// keeper does not: whoever lets go of the mutex between two waits must end it first.
class Waiter final : public Sleeper {
 public:
  Waiter(Hub& hub, LineState& line) : hub_(hub), line_(line.shared_from_this()) {
    wake_ = hub.spare_wakes.take();
    line_->sleepers.push_back(this);
    lease();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    for (const Leased& leased : leased_) give_back(*leased.link);
    hub_.hand_over();
    std::erase(line_->sleepers, this);
    hub_.spare_wakes.give_back(std::move(wake_), interrupted_);
  }

  void wait(std::unique_lock<std::mutex>& lock, core::Duration at_most, const std::stop_token& stop) {
    const core::Instant deadline = core::saturating_add(SteadyClock().now(), at_most);
    const auto told = line_->told;
    const std::stop_callback on_stop(stop, [this] { interrupt(); });  // inside request_stop() of any thread
    bool slept = false;
    for (bool late = false;;) {
      core::Instant now = SteadyClock().now();
      lease();
      hub_.settle(now);
      lease();  // of what has been asked just now
      if (line_->told != told || stop.stop_requested() || late) break;
      if (hub_.needs_errand(*line_) && hub_.errand_is_free()) {
        run_errand(lock);
        continue;
      }
      slept = true;
      block(lock, deadline - now);
      now = SteadyClock().now();
      late = now >= deadline;
      for (std::size_t at = 0; at < leased_.size(); ++at) {
        leased_[at].drained = polls_[at].revents != 0 && !hub_.pump(*leased_[at].link, now);
      }
    }
    if (slept) read_the_rest();
  }

 private:
  static constexpr std::size_t links_max = 2;

  struct Leased {
    std::shared_ptr<Link> link;
    bool drained = false;  // since the last sleep, there was no more to read
  };

  void run_errand(std::unique_lock<std::mutex>& lock) {
    for (const Leased& leased : std::exchange(leased_, {}))
      give_back(*leased.link);  // this may take its time
    const Hub::Errand errand = hub_.errand();
    hub_.set_running_errand(true);
    lock.unlock();
    const Hub::Conclusion conclude = errand();
    lock.lock();
    hub_.set_running_errand(false);
    conclude();
  }

  /// Takes over what this line depends on, unless another caller reads it already, and nothing else.
  void lease() {
    // On the way to a free lock the mouth has nothing to tell; the keeper may as well keep it.
    const std::shared_ptr<Mouth> mouth = line_->open && line_->server ? line_->server->mouth : nullptr;
    const bool needs_mouth = mouth && (!line_->announced || mouth->awaits_answers());
    const std::shared_ptr<Link> ear = line_->ear ? line_->ear->link() : nullptr;
    std::erase_if(leased_, [&](const Leased& leased) {
      const bool needed = leased.link == ear || (leased.link == mouth && needs_mouth);
      if (needed && !leased.link->closed()) return false;
      give_back(*leased.link);
      return true;
    });
    take(ear);
    if (needs_mouth) take(mouth);
  }

  void take(const std::shared_ptr<Link>& link) {
    if (!link || link->closed() || link->lease() != nullptr) return;
    link->set_lease(this);
    leased_.push_back({link});
  }

  void give_back(Link& link) {
    if (link.lease() == this) link.set_lease(nullptr);
  }

  void block(std::unique_lock<std::mutex>& lock, core::Duration at_most) {
    std::size_t count = 0;
    for (const Leased& leased : leased_) {
      const bool writes = leased.link->wants_to_write();
      polls_[count++] = {leased.link->fd(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
    }
    if (wake_) {
      polls_[count++] = {wake_.get(), POLLIN, 0};
    } else {
      at_most = std::min<core::Duration>(at_most, std::chrono::milliseconds(10));
    }
    const timespec timeout = timespec_of(at_most);
    asleep_ = true;
    lock.unlock();
    const int ready = ::ppoll(polls_.data(), count, &timeout, nullptr);
    lock.lock();
    asleep_ = false;
    if (ready <= 0) {
      for (pollfd& poll : polls_) poll.revents = 0;
    } else if (wake_ && polls_[count - 1].revents != 0) {
      clear_eventfd(wake_.get());
    }
  }

  static timespec timespec_of(core::Duration duration) {
    const auto bounded = std::clamp<core::Duration>(duration, core::Duration::zero(), std::chrono::hours(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(bounded);
    return {static_cast<std::time_t>(seconds.count()), static_cast<long>((bounded - seconds).count())};
  }

  void read_the_rest() {
    constexpr int rounds_max = 64;  // a flood must not keep the caller
    const core::Instant now = SteadyClock().now();
    bool read = false;
    for (Leased& leased : leased_) {
      read = read || !leased.drained;
      for (int round = 0; round < rounds_max && !leased.drained; ++round) {
        leased.drained = !hub_.pump(*leased.link, now);
      }
    }
    if (read) hub_.settle(now);
  }

  Hub& hub_;
  const std::shared_ptr<LineState> line_;
  std::vector<Leased> leased_;
  std::array<pollfd, links_max + 1> polls_ = {};
};

}  // namespace sublock::hiredis
