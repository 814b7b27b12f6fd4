// SPDX-License-Identifier: MIT
#pragma once

// A subscriber connection of a line's own: joining, listening and leaving, each in one write, and everything that is
// heard meanwhile. Confirmations, answers and messages share this connection and come in one order.

#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/ear.hpp>
#include <sublock/transport/hiredis/join.hpp>
#include <sublock/transport/hiredis/link.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::hiredis {

/// Needs the transport's mutex. Never reconnected.
class OwnEar final : public Ear, public Link {
 public:
  OwnEar(Poller& poller, const Settings& settings, SpareReader& spare_reader, Delivery& delivery,
         ServerTraits& traits, Owner& owner)
      : Link(poller, settings, spare_reader), delivery_(delivery), traits_(traits), owner_(owner) {}

  [[nodiscard]] std::shared_ptr<Link> link() override { return shared_from_this(); }
  void open(const Addresses& addresses, core::Instant now) override { connect(addresses, now); }
  void drop() override { close(); }
  [[nodiscard]] bool hears_now() const noexcept override { return ready(); }

  [[nodiscard]] bool clean() const override {
    return ready() && !subscribed_ && !private_channel_ && !hears_besides_ && !misnamed_ &&
           std::ranges::all_of(awaited_, passes);
  }

  void retire() override {
    if (!ready() || subscribed_ || !std::ranges::all_of(awaited_, passes)) return;
    if (!private_channel_ && !hears_besides_) return;
    std::string bytes;
    append(bytes, {words().unsubscribe});
    await(What::retired);
    private_channel_.reset();
    hears_besides_ = false;
    send(std::move(bytes));
  }

  void join(std::string_view channel, std::string_view response_channel, std::string_view client_name,
            const core::action::Rosters& rosters) override {
    if (join_) return;
    join_ = std::make_unique<Join>(words(), channel, response_channel, client_name, rosters);
    try_join(private_channel_.has_value());
    subscribed_ = true;
    private_channel_ = std::string(response_channel);
  }

  void listen(std::string_view channel) override {
    std::string bytes;
    append(bytes, {words().subscribe, channel});
    await(What::listen);
    to_listen_to_.emplace_back(channel);
    if (private_channel_ && *private_channel_ != channel) {
      append(bytes, {words().unsubscribe, *private_channel_});
      await(What::unsubscribed);
    }
    private_channel_ = std::string(channel);
    send(std::move(bytes));
  }

  void listen_besides(std::string_view channel) override {
    std::string bytes;
    append(bytes, {words().subscribe, channel});
    await(What::listen_besides);
    hears_besides_ = true;
    send(std::move(bytes));
  }

  /// In one transaction, for once it hears something, this connection may not publish any more.
  void ask(std::string_view channel, std::string_view response_channel, std::string_view payload) override {
    if (words().sharded) {
      return delivery_.later(
          *line_, core::event::Refused{core::Verb::ask,
                                       {Errc::protocol, "a shard takes no subscription in a transaction"}});
    }
    std::string bytes;
    append(bytes, {"MULTI"});
    append(bytes, {words().subscribe, response_channel});
    append(bytes, {"PUBSUB", words().count, channel});
    append(bytes, {words().publish, channel, payload});
    append(bytes, {"EXEC"});
    for (const What next : {What::queued, What::queued, What::queued, What::queued, What::asked}) await(next);
    private_channel_ = std::string(response_channel);
    send(std::move(bytes));
  }

  void leave(const std::vector<core::action::Note>& notes) override { forget_everything(What::left, notes); }

 private:
  enum class What : std::uint8_t {
    join,
    listen,
    listen_besides,
    queued,
    asked,
    unsubscribed,
    unsubscribed_all,
    noted,
    left,
    undone,
    retired,
    pong
  };
  struct Heard {
    std::string channel;
    std::string payload;
  };
  static constexpr std::size_t early_max = 1024;

  [[nodiscard]] const Dialect& words() const noexcept { return settings_.dialect; }

  /// A slot that moves takes its subscriptions along: the server unsubscribes us, unasked.
  [[nodiscard]] bool has_lost_its_slot(const redisReply& reply) const {
    if (is_error(reply)) return is_elsewhere(text_of(reply));
    if (!is_push(reply, 3, words().unsubscribed)) return false;
    const What next = awaited_.empty() ? What::pong : awaited_.front();
    return next != What::unsubscribed && next != What::unsubscribed_all && next != What::retired;
  }

  static bool passes(What awaited) { return awaited == What::pong || awaited == What::retired; }
  [[nodiscard]] bool retires() const { return std::ranges::find(awaited_, What::retired) != awaited_.end(); }

  void await(What what) { awaited_.push_back(what); }

  void try_join(bool unsubscribe_first) {
    std::string bytes;
    if (unsubscribe_first) {
      append(bytes, {words().unsubscribe});
      await(What::unsubscribed_all);
    }
    join_->begin(bytes, !vouched_, words().sharded || traits_.refuses_subscribe_in_multi, transacts());
    for (std::size_t left = join_->steps(); left > 0; --left) await(What::join);
    send(std::move(bytes));
  }

  void forget_everything(What then, const std::vector<core::action::Note>& notes = {}) {
    std::string bytes;
    append(bytes, {words().unsubscribe});
    await(What::unsubscribed_all);
    for (const core::action::Note& note : notes) {
      append(bytes, {words().publish, note.channel, note.payload});
      await(What::noted);
    }
    append(bytes, {"CLIENT", "SETNAME", ""});
    await(then);
    subscribed_ = false;
    private_channel_.reset();
    send(std::move(bytes));
  }

  void on_ready(core::Instant) override { owner_.on_ear_ready(*this); }

  void on_broken(const Failure& failure, bool) override {
    awaited_.clear();
    to_listen_to_.clear();
    join_.reset();
    owner_.on_ear_broken(*this, failure);
  }

  void ask_for_sign_of_life() override {
    std::string bytes;
    append(bytes, {"PING"});
    await(What::pong);
    send(std::move(bytes));
  }

  [[nodiscard]] bool hears() const noexcept override { return true; }
  [[nodiscard]] bool awaits_nothing() const override { return clean(); }

  void on_reply(const redisReply& reply, core::Instant) override {
    if (is_push(reply, 3, words().message)) {
      return hear(text_of(*reply.element[1]), text_of(*reply.element[2]));
    }
    if (words().sharded && has_lost_its_slot(reply)) {
      return fail({Errc::connect, "Redis at " + where() + " does not serve the channel's slot any more"});
    }
    if (awaited_.empty()) return fail_protocol("sent a reply that nobody asked for");
    if (!take(reply)) fail_protocol("answered with something that no Redis would");
  }

  void hear(std::string_view channel, std::string_view payload) {
    if (line_ == nullptr || undoing_ || retires()) return;
    if (!join_) return tell(core::event::Message{channel, payload});
    // Only a plain join can hear something before it is complete; nothing may come before Joined.
    if (early_.size() < early_max) early_.push_back({std::string(channel), std::string(payload)});
  }

  void tell(const core::Event& event) {
    if (line_ != nullptr) delivery_.now(*line_, event);
  }

  /// False where the reply makes no sense.
  [[nodiscard]] bool take(const redisReply& reply) {
    const What awaited = awaited_.front();
    if (awaited == What::unsubscribed_all || awaited == What::retired) {
      if (!is_push(reply, 3, words().unsubscribed) || reply.element[2]->type != REDIS_REPLY_INTEGER)
        return false;
      if (reply.element[2]->integer == 0) awaited_.erase(awaited_.begin());  // one for each channel
      return true;
    }
    awaited_.erase(awaited_.begin());
    switch (awaited) {
      case What::join: return take_join(reply);
      case What::listen: return take_listen(reply);
      case What::queued: return true;  // where it was not, EXEC says so
      case What::asked: return take_asked(reply);
      case What::noted: return is_error(reply) || reply.type == REDIS_REPLY_INTEGER;
      case What::listen_besides: return is_error(reply) || is_push(reply, 3, words().subscribed);
      case What::unsubscribed: return is_push(reply, 3, words().unsubscribed);
      case What::left:
      case What::undone: return take_forgotten(awaited, reply);
      case What::pong: return is_error(reply) || is_status(reply, "PONG") || is_push(reply, 2, "pong");
      case What::retired:
      case What::unsubscribed_all: break;
    }
    return false;
  }

  [[nodiscard]] bool take_join(const redisReply& reply) {
    const auto outcome = join_->take(reply);
    if (!outcome) return true;
    switch (*outcome) {
      case Join::Outcome::joined: complete_join(); return true;
      case Join::Outcome::refused: abandon_join(); return true;
      case Join::Outcome::retry_plainly:
        traits_.refuses_subscribe_in_multi = true;
        try_join(join_->left_traces());
        return true;
      case Join::Outcome::nonsense: break;
    }
    return false;
  }

  void complete_join() {
    const core::event::Joined joined = join_->joined();
    join_.reset();
    vouched_ = true;
    tell(joined);
    for (const Heard& heard : std::exchange(early_, {})) hear(heard.channel, heard.payload);
  }

  void abandon_join() {
    const core::event::Refused refused{core::Verb::join, join_->failure(where())};
    const bool left_traces = join_->left_traces();
    join_.reset();
    early_.clear();
    if (left_traces) {
      undoing_ = refused;
      return forget_everything(What::undone);
    }
    subscribed_ = false;
    private_channel_.reset();
    tell(refused);
  }

  [[nodiscard]] bool take_listen(const redisReply& reply) {
    const std::string channel = std::move(to_listen_to_.front());
    to_listen_to_.erase(to_listen_to_.begin());
    if (is_error(reply)) {
      if (private_channel_ == channel) private_channel_.reset();
      const std::string pattern = pattern_of(channel);
      tell(core::event::Refused{core::Verb::listen,
                                refusal(where(), words().subscribe, text_of(reply), pattern)});
      return true;
    }
    if (!is_push(reply, 3, words().subscribed) || text_of(*reply.element[1]) != channel) return false;
    tell(core::event::Listening{channel});
    return true;
  }

  [[nodiscard]] bool take_asked(const redisReply& reply) {
    const auto failed = [](const redisReply* part) { return is_error(*part); };
    if (is_error(reply) || std::any_of(reply.element, reply.element + reply.elements, failed)) {
      tell(core::event::Refused{core::Verb::ask, refusal(where(), "EXEC", text_of(reply))});
      return true;
    }
    if (!is_array(reply, 3)) return false;
    const redisReply& subscribed = *reply.element[0];
    const long long count = subscribers_in(*reply.element[1]);
    const redisReply& receivers = *reply.element[2];
    if (!is_push(subscribed, 3, words().subscribed) || count < 0) return false;
    if (receivers.type != REDIS_REPLY_INTEGER || receivers.integer < 0) return false;
    tell(core::event::Pinged{std::string(text_of(*subscribed.element[1])), static_cast<std::size_t>(count),
                             static_cast<std::size_t>(receivers.integer)});
    return true;
  }

  [[nodiscard]] bool take_forgotten(What what, const redisReply& reply) {
    // Without CLIENT we are gone all the same, but the connection still bears the lock's name.
    if (is_error(reply)) misnamed_ = true;
    if (!is_error(reply) && !is_status(reply, "OK")) return false;
    if (what == What::left) {
      tell(core::event::Left{});
    } else {
      tell(*std::exchange(undoing_, {}));
    }
    return true;
  }

  Delivery& delivery_;
  ServerTraits& traits_;
  Owner& owner_;

  // What holds once everything sent so far has been answered.
  bool subscribed_ = false;                     // to a lock channel
  std::optional<std::string> private_channel_;  // response channel or inbox
  bool hears_besides_ = false;                  // other channels

  std::vector<What> awaited_;              // in the order of the answers to come
  std::vector<std::string> to_listen_to_;  // one for each listen among them
  std::unique_ptr<Join> join_;
  std::optional<core::event::Refused> undoing_;  // a refused join that left traces: told when they are gone
  std::vector<Heard> early_;
  bool vouched_ = false;   // this user may publish
  bool misnamed_ = false;  // still named like a holder
};

}  // namespace sublock::hiredis
