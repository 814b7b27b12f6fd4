// SPDX-License-Identifier: MIT
#pragma once

// The command connection that all lines of a transport share. It may break and come back while locks
// are held: what is said meanwhile waits its turn, what was asked is refused.

#include <sublock/clock/steady.hpp>
#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/link.hpp>
#include <sublock/transport/hiredis/request.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sublock::hiredis {

/// Needs the transport's mutex.
class Mouth final : public Link {
 public:
  /// What may wait for a connection; beyond either, the oldest is given up.
  static constexpr std::size_t queue_max = 10'000;
  static constexpr std::size_t queue_bytes_max = unsent_max / 2;

  class Owner {
   public:
    /// None may call a listener.
    virtual void on_mouth_ready() = 0;
    virtual void on_mouth_unavailable(const Failure& failure) = 0;
    /// A node of a cluster has said what is wrong with the cluster; empty where all is well.
    virtual void on_cluster_state(const std::string& trouble) = 0;
    /// The server is not the one to ask, says the answer to `line`, which may be null: none is any more, or only
    /// that line's channel is elsewhere.
    virtual void on_misplaced(LineState* line, bool all, const std::string& why) = 0;
    /// Whether any line is open, so that a mouth is worth having.
    [[nodiscard]] virtual bool mouth_wanted() const = 0;
    /// Where to connect to; empty while that isn't known.
    [[nodiscard]] virtual const Addresses& addresses() const = 0;

   protected:
    ~Owner() = default;
  };

  Mouth(Poller& poller, const Settings& settings, SpareReader& spare_reader, Delivery& delivery, Owner& owner)
      : Link(poller, settings, spare_reader), delivery_(delivery), owner_(owner) {}

  /// Connects unless that is done or under way.
  void want(core::Instant now) {
    if (!closed() || owner_.addresses().empty()) return;
    retry_at_ = core::Instant::max();
    connect(owner_.addresses(), now);
  }

  /// Says it now, or as soon as there is a connection again. What `line` is told of the outcome comes
  /// later; it is null where nobody is.
  void say(LineState* line, Request request) {
    Said said{line ? line->weak_from_this() : std::weak_ptr<LineState>(), line ? line->epoch : 0,
              std::move(request)};
    if (ready() && waiting_.empty() && !engaged_) return transmit(std::move(said));
    keep(std::move(said));
    give_up_excess();
  }

  /// The server is not the right one any more.
  void break_off(const Failure& failure) { fail(failure); }

  /// Something has been asked, or is about to be.
  [[nodiscard]] bool awaits_answers() const noexcept { return !sent_.empty() || !waiting_.empty(); }

  /// When a new attempt is due, beside the link's own due().
  [[nodiscard]] core::Instant retry_at() const noexcept { return retry_at_; }
  void retry(core::Instant now) {
    if (now < retry_at_) return;
    retry_at_ = core::Instant::max();
    if (owner_.mouth_wanted()) want(now);
  }

  /// Nobody is there any more who could care.
  void forget() {
    waiting_.clear();
    waiting_bytes_ = 0;
    retry_at_ = core::Instant::max();
    complaint_.reset();
  }

 private:
  struct Said {
    std::weak_ptr<LineState> line;
    std::uint64_t epoch;
    Request request;
  };
  static constexpr core::Duration first_delay = std::chrono::milliseconds(50);
  static constexpr core::Duration delay_max = std::chrono::seconds(1);
  static constexpr core::Duration proven_after = std::chrono::milliseconds(100);

  /// What is asked for an attempt that has ended is asked in vain; what ends one, or tells others, is not.
  [[nodiscard]] static bool is_in_vain(const Said& said) {
    if (!said.request.verb() || said.request.verb() == core::Verb::drop) return false;
    const auto line = said.line.lock();
    return !line || line->epoch != said.epoch;
  }

  void transmit(Said said) {
    if (complaint_ && said.request.verb()) return refuse(said, *std::exchange(complaint_, {}));
    engaged_ = said.request.excludes_others();
    std::string bytes = said.request.repeatable() ? said.request.bytes() : said.request.take_bytes();
    sent_.push_back(std::move(said));
    send(std::move(bytes));
  }

  void refuse(const Said& said, const Failure& failure) {
    const auto line = said.line.lock();
    if (!line || line->epoch != said.epoch || !said.request.verb()) return;
    delivery_.later(*line, core::event::Refused{*said.request.verb(), failure});
  }

  void on_ready(core::Instant now) override {
    ready_since_ = now;
    transmit_waiting();
    owner_.on_mouth_ready();
  }

  void transmit_waiting() {
    waiting_bytes_ = 0;
    for (Said& said : std::exchange(waiting_, {})) {
      if (is_in_vain(said)) continue;
      // It may break under the weight.
      ready() && !engaged_ ? transmit(std::move(said)) : keep(std::move(said));
    }
  }

  void on_reply(const redisReply& reply, core::Instant) override {
    if (sent_.empty()) {
      // Nobody waits for anything, so the next who asks must hear of it.
      fail_protocol("sent a reply that nobody asked for");
      return;
    }
    Request& request = sent_.front().request;
    if (!request.take(reply)) return fail_protocol("answered with something that no Redis would");
    if (std::string more = request.next_bytes(); !more.empty()) send(std::move(more));
    if (!request.done()) return;
    const Said said = std::move(sent_.front());
    sent_.pop_front();
    const auto line = said.line.lock();
    const bool heeded = line && line->epoch == said.epoch;
    if (said.request.is_cluster_state()) return owner_.on_cluster_state(said.request.misplaced());
    if (const std::string why = said.request.misplaced(); !why.empty()) {
      return owner_.on_misplaced(heeded ? line.get() : nullptr, said.request.found_no_primary(), why);
    }
    if (heeded && said.request.verb()) delivery_.now(*line, said.request.event(where()));
    if (said.request.excludes_others()) {
      engaged_ = false;
      transmit_waiting();
    }
  }

  void on_broken(const Failure& failure, bool was_ready) override {
    engaged_ = false;
    std::deque<Said> unanswered = std::exchange(sent_, {});
    const std::size_t were_sent = unanswered.size();
    std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(unanswered));
    waiting_bytes_ = 0;
    bool complained = false;
    for (std::size_t at = 0; at < unanswered.size(); ++at) {
      Said& said = unanswered[at];
      const bool waited_in_vain = at < were_sent || !was_ready;
      if (said.request.repeatable() || !waited_in_vain) {
        keep(std::move(said));
      } else {
        refuse(said, failure);
        complained = complained || said.request.verb();
      }
    }
    give_up_excess();
    if (failure.code == Errc::protocol && !complained) complaint_ = failure;
    if (!was_ready) owner_.on_mouth_unavailable(failure);
    schedule_retry(was_ready);
  }

  void keep(Said said) {
    waiting_bytes_ += said.request.bytes().size();
    waiting_.push_back(std::move(said));
  }

  void give_up_excess() {
    while (waiting_.size() > queue_max || waiting_bytes_ > queue_bytes_max) {
      const Said said = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= said.request.bytes().size();
      refuse(said, {Errc::connect, "too much to say while there is no connection to Redis at " + where()});
    }
  }

  /// At once after a break, then ever more slowly until a connection has lasted.
  void schedule_retry(bool was_ready) {
    if (!owner_.mouth_wanted()) return forget();
    const core::Instant now = SteadyClock().now();
    if (was_ready && now - ready_since_ >= proven_after) delay_ = core::Duration::zero();
    retry_at_ = now + delay_;
    delay_ = std::clamp(delay_ * 2, first_delay, delay_max);
    poller_.hasten(retry_at_);
  }

  void ask_for_sign_of_life() override {
    if (!engaged_) transmit({{}, 0, Request::sign_of_life()});  // else an answer is due anyway
  }

  [[nodiscard]] bool hears() const noexcept override { return false; }
  [[nodiscard]] bool awaits_nothing() const override { return !awaits_answers(); }

  Delivery& delivery_;
  Owner& owner_;
  std::deque<Said> sent_;     // in the order of the answers to come
  std::deque<Said> waiting_;  // for a connection
  std::size_t waiting_bytes_ = 0;
  bool engaged_ = false;  // in an exchange that nobody may interrupt
  std::optional<Failure> complaint_;
  core::Instant ready_since_;
  core::Instant retry_at_ = core::Instant::max();
  core::Duration delay_ = core::Duration::zero();
};

}  // namespace sublock::hiredis
