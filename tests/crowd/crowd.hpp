// SPDX-License-Identifier: MIT
#pragma once

// Hundreds of participants after one lock, in virtual time and on one thread: the shipping core on the lines of
// one in-memory connection, each packet a while on its way, and every message and byte of it counted.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/core/participant.hpp>
#include <sublock/perform.hpp>
#include <sublock/transport/in_memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {

using namespace std::chrono_literals;

/// Nobody waits here: whoever moves the crowd asks what comes next, and makes it that late.
class CrowdPacing final : public in_memory::Pacing {
 public:
  static constexpr Duration one_way = 50us;

  explicit CrowdPacing(ManualClock clock) : clock_(std::move(clock)) {}

  [[nodiscard]] Instant now() const override { return clock_.now(); }
  void pause(std::unique_lock<std::mutex>&, const void*, Instant, Instant, const std::stop_token&) override {
    throw std::logic_error("nobody waits in a crowd");
  }
  void wake(const void* /*line*/) override {}
  [[nodiscard]] Duration latency() override {
    arrivals_.insert(now() + one_way);
    return one_way;
  }

  /// When the next packet arrives.
  [[nodiscard]] Instant next_arrival() {
    arrivals_.erase(arrivals_.begin(), arrivals_.upper_bound(now()));
    return arrivals_.empty() ? Instant::max() : *arrivals_.begin();
  }

 private:
  ManualClock clock_;
  std::set<Instant> arrivals_;
};

/// What something costs: what the server executes and delivers, and the bytes of what is published, once for
/// whoever says it and once for each who hears it.
struct Traffic {
  std::size_t commands = 0;
  std::size_t messages = 0;  ///< copies of what is published
  std::size_t bytes = 0;

  friend Traffic operator-(Traffic one, const Traffic& other) {
    return {one.commands - other.commands, one.messages - other.messages, one.bytes - other.bytes};
  }
};

class Crowd {
 public:
  static constexpr const char* channel = "crowd";

  /// One who tries for the lock, or has it: what a lock object is, but for the thread that waits in it.
  class Member final : private core::Listener {
   public:
    Member(Crowd& crowd, std::size_t number) : crowd_(crowd), dice_({number, 7}), id_(dice_.fresh_id()) {}
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() {
      locked([this] { line_.reset(); });
    }

    void acquire(core::Request request) {
      request.polite = request.polite || had_company_;
      locked([&] {
        line_.emplace(crowd_.process_, static_cast<core::Listener&>(*this));
        participant_.emplace(core::Identity{channel, id_, "host", 1, "label", 0}, dice_.split());
        participant_->acquire(request, crowd_.clock_.now(), actions_);
        perform();
      });
    }

    void release() {
      locked([&] {
        participant_->release(crowd_.clock_.now(), actions_);
        perform();
      });
      had_company_ = participant_->had_company();
    }

    [[nodiscard]] bool holds() const { return participant_ && participant_->holds(); }
    [[nodiscard]] core::Phase phase() const { return participant_->phase(); }
    [[nodiscard]] core::Result result() const { return participant_->result(); }

   private:
    friend Crowd;
    using Participant = core::Participant<LowestIdElection, ClientListReaper>;

    void locked(auto act) {
      const std::lock_guard lock(crowd_.process_->mutex());
      act();
    }

    void on_event(const core::Event& event) override {
      if (const auto* message = std::get_if<core::event::Message>(&event)) {
        crowd_.bytes_ += message->payload.size();
      }
      has_news_ = true;
      participant_->on(event, crowd_.clock_.now(), actions_);
      perform();
    }

    /// As one does who waits in a lock, whenever he wakes.
    void settle() {
      if (!participant_) return;
      has_news_ = false;
      locked([&] {
        const Instant now = crowd_.clock_.now();
        participant_->decide(now, actions_);
        participant_->tick(now, actions_);
        participant_->decide(now, actions_);
        perform();
      });
    }

    void perform() {
      for (const core::Action& action : actions_) crowd_.weigh(action);
      sublock::perform(actions_, *line_, crowd_.clock_,
                       [&](const std::string& text) { crowd_.warnings_ += text + '\n'; });
    }

    [[nodiscard]] Instant next_due() const {
      if (has_news_) return Instant::min();
      return participant_ ? participant_->next_due().value_or(Instant::max()) : Instant::max();
    }

    Crowd& crowd_;
    core::Dice dice_;
    std::string id_;
    std::optional<Participant> participant_;
    std::optional<in_memory::Line> line_;
    std::vector<core::Action> actions_;
    bool has_news_ = false;
    bool had_company_ = false;
  };

  explicit Crowd(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) members_.push_back(std::make_unique<Member>(*this, i));
  }

  [[nodiscard]] Member& operator[](std::size_t number) { return *members_[number]; }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] Instant now() const { return clock_.now(); }
  [[nodiscard]] std::size_t kills() const { return redis_.counts().kills; }
  [[nodiscard]] std::size_t subscribers() const { return redis_.subscribers(channel); }
  [[nodiscard]] const std::string& warnings() const { return warnings_; }

  [[nodiscard]] Traffic traffic() const {
    const in_memory::Counts counts = redis_.counts();
    return {counts.commands, counts.messages, bytes_};
  }

  [[nodiscard]] std::size_t holders() const {
    return static_cast<std::size_t>(std::ranges::count_if(members_, holds));
  }
  /// The first of them.
  [[nodiscard]] std::size_t holder() const {
    return static_cast<std::size_t>(std::ranges::find_if(members_, holds) - members_.begin());
  }

  /// Lets things happen until `done()`, looked at whenever something has; false where that takes longer.
  bool run(auto done, Duration at_most) {
    const Instant end = now() + at_most;
    for (;;) {
      while (redis_.pump() > 0 || settle() > 0) {
      }
      if (done()) return true;
      const Instant next = std::min({next_due(), pacing_->next_arrival(), end});
      if (next <= now()) return false;
      clock_.advance(next - now());
    }
  }

  void run(Duration span) {
    run([] { return false; }, span);
  }

 private:
  static bool holds(const std::unique_ptr<Member>& member) { return member->holds(); }

  /// Those who have heard something, or for whom it is time; returns how many.
  std::size_t settle() {
    std::size_t count = 0;
    for (const auto& member : members_) {
      if (member->next_due() > now()) continue;
      member->settle();
      ++count;
    }
    return count;
  }

  [[nodiscard]] Instant next_due() const {
    Instant next = Instant::max();
    for (const auto& member : members_) next = std::min(next, member->next_due());
    return next;
  }

  void weigh(const core::Action& action) {
    namespace action_ = core::action;
    if (const auto* ping = std::get_if<action_::Ping>(&action)) bytes_ += ping->payload.size();
    if (const auto* publish = std::get_if<action_::Publish>(&action)) bytes_ += publish->payload.size();
    if (const auto* leave = std::get_if<action_::Leave>(&action)) {
      for (const action_::Note& note : leave->notes) bytes_ += note.payload.size();
    }
  }

  ManualClock clock_;
  std::shared_ptr<CrowdPacing> pacing_ = std::make_shared<CrowdPacing>(clock_);
  InMemoryRedis redis_{pacing_};
  const std::shared_ptr<InMemoryTransport> process_ = redis_.connect();
  std::size_t bytes_ = 0;
  std::string warnings_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace sublock::testing
