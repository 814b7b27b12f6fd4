// SPDX-License-Identifier: MIT
#pragma once

// One subscriber connection for many channels: what it has been told to hear, in the order in which that will be
// confirmed, and whose everything is that it hears. What a line makes of it is the business of its seat.

#include <sublock/core/shared_ear.hpp>
#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/link.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sublock::shared_ear {

/// What is said to the server in one command, and by whom. Its channels are confirmed one by one, or refused
/// together.
enum class What { name, join, listen, leave, forget, sign_of_life };

/// Needs the transport's mutex. Never reconnected.
class CommonEar final : public hiredis::Link {
 public:
  /// Whoever sits here, on behalf of one channel. None may call a listener but `heard` and `done`.
  class Sitter {
   public:
    virtual void on_ready() = 0;
    virtual void on_broken(const Failure& failure) = 0;
    virtual void heard(std::string_view channel, std::string_view payload) = 0;
    /// It was confirmed, or refused with that error.
    virtual void done(What what, const std::vector<std::string>& channels,
                      std::optional<std::string_view> error) = 0;

   protected:
    ~Sitter() = default;
  };

  CommonEar(hiredis::Poller& poller, const hiredis::Settings& settings, hiredis::SpareReader& spare_reader,
            std::string id)
      : Link(poller, settings, spare_reader), id_(std::move(id)) {}

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] bool named() const noexcept { return named_; }
  [[nodiscard]] bool empty() const noexcept { return sitters_.empty(); }

  /// Nobody else has that channel here, nor is he still about to leave it: the server would count two as one.
  [[nodiscard]] bool has_seat_for(const std::string& channel) const { return !sitters_.contains(channel); }
  void seat(const std::string& channel, std::shared_ptr<Sitter> sitter) {
    sitters_.emplace(channel, std::move(sitter));
  }
  void vacate(const std::string& channel) { sitters_.erase(channel); }

  void subscribe(What what, const std::shared_ptr<Sitter>& sitter, std::vector<std::string> channels) {
    for (const std::string& channel : channels) {
      Route& route = routes_[channel];
      route.sitter = sitter.get();
      ++route.times;
    }
    order(words().subscribe, {what, sitter, std::move(channels)});
  }
  void unsubscribe(What what, const std::shared_ptr<Sitter>& sitter, std::vector<std::string> channels) {
    order(words().unsubscribe, {what, sitter, std::move(channels)});
  }

 private:
  struct Order {
    What what;
    std::shared_ptr<Sitter> sitter;     // null for what concerns all
    std::vector<std::string> channels;  // none: one answer
    std::size_t confirmed = 0;
  };
  struct Route {
    Sitter* sitter = nullptr;  // whoever said so keeps his seat until it is undone
    std::size_t times = 0;     // subscribed to, and not yet confirmed to be no more
  };

  [[nodiscard]] const hiredis::Dialect& words() const noexcept { return settings_.dialect; }

  void order(std::string_view command, Order order) {
    std::vector<std::string_view> all{command};
    all.insert(all.end(), order.channels.begin(), order.channels.end());
    std::string bytes;
    hiredis::append(bytes, all);
    orders_.push_back(std::move(order));
    send(std::move(bytes));
  }

  /// Before it hears anything, for then it may say no more: whoever looks into silence knows it by its name.
  void on_ready(core::Instant) override {
    std::string bytes;
    hiredis::append(bytes, {"CLIENT", "SETNAME", core::shared_ear_name(id_)});
    orders_.push_back({What::name, nullptr, {}});
    send(std::move(bytes));
  }

  void on_broken(const Failure& failure, bool) override {
    named_ = false;
    orders_.clear();
    routes_.clear();
    for (const auto& entry : std::exchange(sitters_, {})) entry.second->on_broken(failure);
  }

  void ask_for_sign_of_life() override {
    std::string bytes;
    hiredis::append(bytes, {"PING"});
    orders_.push_back({What::sign_of_life, nullptr, {}});
    send(std::move(bytes));
  }

  [[nodiscard]] bool hears() const noexcept override { return true; }
  [[nodiscard]] bool awaits_nothing() const override { return orders_.empty() && sitters_.empty(); }

  void on_reply(const redisReply& reply, core::Instant) override {
    if (hiredis::is_push(reply, 3, words().message)) {
      return hear(hiredis::text_of(*reply.element[1]), hiredis::text_of(*reply.element[2]));
    }
    if (orders_.empty()) return fail_protocol("sent a reply that nobody asked for");
    if (!take(reply)) fail_protocol("answered with something that no Redis would");
  }

  void hear(std::string_view channel, std::string_view payload) {
    const auto route = routes_.find(std::string(channel));
    if (route != routes_.end()) route->second.sitter->heard(channel, payload);
  }

  /// False where the reply makes no sense.
  [[nodiscard]] bool take(const redisReply& reply) {
    Order& order = orders_.front();
    switch (order.what) {
      case What::name: orders_.pop_front(); return take_name(reply);
      case What::sign_of_life:
        orders_.pop_front();
        return hiredis::is_error(reply) || hiredis::is_status(reply, "PONG") ||
               hiredis::is_push(reply, 2, "pong");
      default: break;
    }
    if (hiredis::is_error(reply)) return take_refusal(hiredis::text_of(reply));
    const bool subscribes = order.what == What::join || order.what == What::listen;
    if (!hiredis::is_push(reply, 3, subscribes ? words().subscribed : words().unsubscribed)) return false;
    if (hiredis::text_of(*reply.element[1]) != order.channels[order.confirmed]) return false;
    if (++order.confirmed < order.channels.size()) return true;
    const Order done = std::move(order);
    orders_.pop_front();
    if (!subscribes) forget_routes(done);
    done.sitter->done(done.what, done.channels, {});
    return true;
  }

  [[nodiscard]] bool take_name(const redisReply& reply) {
    if (hiredis::is_error(reply)) {
      fail(hiredis::refusal(where(), "CLIENT SETNAME", hiredis::text_of(reply)));
      return true;
    }
    if (!hiredis::is_status(reply, "OK")) return false;
    named_ = true;
    const auto sitters = sitters_;
    for (const auto& entry : sitters) entry.second->on_ready();
    return true;
  }

  [[nodiscard]] bool take_refusal(std::string_view error) {
    const Order refused = std::move(orders_.front());
    orders_.pop_front();
    if (refused.confirmed > 0) return false;
    if (refused.what != What::join && refused.what != What::listen) {
      // One who can't unsubscribe would be counted for ever.
      fail(hiredis::refusal(where(), words().unsubscribe, error));
      return true;
    }
    forget_routes(refused);
    refused.sitter->done(refused.what, refused.channels, error);
    return true;
  }

  void forget_routes(const Order& order) {
    for (const std::string& channel : order.channels) {
      const auto route = routes_.find(channel);
      if (route != routes_.end() && --route->second.times == 0) routes_.erase(route);
    }
  }

  const std::string id_;
  bool named_ = false;
  std::unordered_map<std::string, std::shared_ptr<Sitter>> sitters_;  // by the lock's channel
  std::unordered_map<std::string, Route> routes_;
  std::deque<Order> orders_;
};

}  // namespace sublock::shared_ear
