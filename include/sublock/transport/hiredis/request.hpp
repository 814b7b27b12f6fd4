// SPDX-License-Identifier: MIT
#pragma once

// What can be asked of the command connection: for each request its bytes, and the reading of its
// answers into an event. Pure; who sends it and when is the business of Mouth.

#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/client_list_reply.hpp>
#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/key_exchange.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::hiredis {

/// One request and, later, its answer.
class Request {
 public:
  [[nodiscard]] static Request ping(const Dialect& dialect, std::string_view channel,
                                    std::string_view response_channel, std::string_view payload) {
    Request request(Kind::ping, core::Verb::ping, dialect);
    request.channel_ = std::string(channel);
    request.response_channel_ = std::string(response_channel);
    request.add({"MULTI"});
    // A replica, too, would count and deliver for its own subscribers.
    if (dialect.sharded) request.add({"ROLE"});
    request.add({"PUBSUB", dialect.count, channel});
    request.add({dialect.publish, channel, payload});
    request.add({"EXEC"});
    return request;
  }

  [[nodiscard]] static Request publish(const Dialect& dialect, std::string_view channel,
                                       std::string_view payload) {
    Request request(Kind::publish, {}, dialect);
    request.add({dialect.publish, channel, payload});
    return request;
  }

  [[nodiscard]] static Request count(const Dialect& dialect, std::string_view channel) {
    Request request(Kind::count, core::Verb::count, dialect);
    request.channel_ = std::string(channel);
    request.add({"PUBSUB", dialect.count, channel});
    return request;
  }

  [[nodiscard]] static Request list() {
    Request request(Kind::list, core::Verb::list);
    request.add({"CLIENT", "LIST", "TYPE", "pubsub"});
    return request;
  }

  /// `ids` must not be empty.
  [[nodiscard]] static Request kill(std::span<const std::int64_t> ids) {
    Request request(Kind::kill, core::Verb::kill);
    for (const std::int64_t id : ids) request.add({"CLIENT", "KILL", "ID", std::to_string(id)});
    return request;
  }

  [[nodiscard]] static Request increment(std::string_view key) {
    Request request(Kind::increment, core::Verb::increment);
    request.channel_ = std::string(key);
    request.add({"INCR", key});
    return request;
  }

  [[nodiscard]] static Request about(KeyExchange exchange) {
    Request request(Kind::exchange, exchange.verb());
    request.bytes_ = exchange.take_bytes();
    request.exchange_ = std::make_unique<KeyExchange>(std::move(exchange));
    return request;
  }

  [[nodiscard]] static Request sign_of_life() {
    Request request(Kind::sign_of_life, {});
    request.add({"PING"});
    return request;
  }

  /// How a node of a cluster sees the cluster.
  [[nodiscard]] static Request cluster_state() {
    Request request(Kind::cluster_state, {});
    request.add({"CLUSTER", "INFO"});
    return request;
  }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  /// For requests that are never sent twice.
  [[nodiscard]] std::string take_bytes() { return std::exchange(bytes_, {}); }

  [[nodiscard]] bool is_cluster_state() const noexcept { return kind_ == Kind::cluster_state; }
  [[nodiscard]] bool found_no_primary() const noexcept { return !misplaced_.empty(); }
  /// Why the server that has answered is the wrong one, if it is.
  [[nodiscard]] std::string misplaced() const {
    if (!misplaced_.empty() || !is_elsewhere(error_)) return misplaced_;
    return "says " + shown(error_);
  }

  /// Empty where nobody waits for an answer.
  [[nodiscard]] std::optional<core::Verb> verb() const noexcept { return verb_; }
  /// Sent again where it is not known to have arrived: for the receiver, the same words come late or twice.
  [[nodiscard]] bool repeatable() const noexcept { return kind_ == Kind::publish; }

  /// The next answer; false where it makes no sense.
  [[nodiscard]] bool take(const redisReply& reply) {
    const std::size_t step = taken_++;
    switch (kind_) {
      case Kind::publish:
      case Kind::sign_of_life: return true;
      case Kind::cluster_state:
        if (const std::string why = trouble_of_cluster(reply); !why.empty()) misplaced_ = why;
        return true;
      case Kind::ping: return take_ping(step, reply);
      case Kind::count: return note_error(count_command(), reply) || take_count(reply);
      case Kind::list: return note_error("CLIENT LIST", reply) || take_list(reply);
      case Kind::kill: return take_kill(reply);
      case Kind::increment: return note_error("INCR", reply) || take_increment(reply);
      case Kind::exchange: return exchange_->take(reply);
    }
    return false;
  }
  [[nodiscard]] bool done() const noexcept { return exchange_ ? exchange_->done() : taken_ == replies_; }

  /// Nothing else may be said until it is done.
  [[nodiscard]] bool excludes_others() const noexcept { return exchange_ && exchange_->excludes_others(); }
  /// What is to be sent next of it, after an answer; mostly nothing.
  [[nodiscard]] std::string next_bytes() { return exchange_ ? exchange_->take_bytes() : std::string(); }

  /// What to tell once it is done; only where there is a verb.
  [[nodiscard]] core::Event event(const std::string& where) const {
    if (!error_.empty()) {
      return core::event::Refused{*verb_, refusal(where, error_command_, error_, channel_)};
    }
    switch (kind_) {
      case Kind::ping: return core::event::Pinged{response_channel_, count_, receivers_};
      case Kind::count: return core::event::Counted{count_};
      case Kind::list: return core::event::Listed{connections_};
      case Kind::increment: return core::event::Incremented{value_};
      case Kind::exchange: return exchange_->event(where);
      case Kind::publish:
      case Kind::sign_of_life:
      case Kind::cluster_state:
      case Kind::kill: break;
    }
    return core::event::Killed{count_};
  }

 private:
  enum class Kind { ping, publish, count, list, kill, increment, exchange, sign_of_life, cluster_state };

  Request(Kind kind, std::optional<core::Verb> verb, const Dialect& dialect = whole_server)
      : kind_(kind), verb_(verb), dialect_(&dialect) {}

  [[nodiscard]] std::string_view count_command() const {
    return dialect_->sharded ? "PUBSUB SHARDNUMSUB" : "PUBSUB NUMSUB";
  }

  void add(std::initializer_list<std::string_view> words) {
    append(bytes_, words);
    ++replies_;
  }

  bool note_error(std::string_view command, const redisReply& reply) {
    if (!is_error(reply)) return false;
    if (error_.empty()) {
      error_command_ = command;
      error_ = reply.len == 0 ? "ERR" : std::string(text_of(reply));
    }
    return true;
  }

  [[nodiscard]] bool take_ping(std::size_t step, const redisReply& reply) {
    const std::string_view commands[] = {"MULTI", "ROLE", count_command(), dialect_->publish, "EXEC"};
    const std::size_t asks_role = dialect_->sharded ? 1 : 0;
    if (step > 0 && asks_role == 0) ++step;
    const bool failed = !error_.empty();
    if (step < 4) {
      // Where MULTI is refused, the others are carried out at once and answer as they like.
      return note_error(commands[step], reply) || failed || is_status(reply, step == 0 ? "OK" : "QUEUED");
    }
    if (note_error(commands[step], reply) || failed) return true;
    if (!is_array(reply, 2 + asks_role)) return false;
    if (asks_role > 0 && !take_role(*reply.element[0])) return false;
    const redisReply& count = *reply.element[asks_role];
    const redisReply& receivers = *reply.element[asks_role + 1];
    if (note_error(commands[2], count) || note_error(commands[3], receivers)) return true;
    if (receivers.type != REDIS_REPLY_INTEGER || receivers.integer < 0) return false;
    receivers_ = static_cast<std::size_t>(receivers.integer);
    return take_count(count);
  }

  [[nodiscard]] bool take_role(const redisReply& reply) {
    if (note_error("ROLE", reply)) return true;
    if (reply.type != REDIS_REPLY_ARRAY || reply.elements == 0) return false;
    if (text_of(*reply.element[0]) != "master") misplaced_ = "is no primary any more";
    return true;
  }

  [[nodiscard]] bool take_count(const redisReply& reply) {
    const long long count = subscribers_in(reply);
    if (count < 0 || text_of(*reply.element[0]) != channel_) return false;
    count_ = static_cast<std::size_t>(count);
    return true;
  }

  [[nodiscard]] bool take_list(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_STRING) return false;
    connections_ = parse_client_list(text_of(reply));
    return true;
  }

  [[nodiscard]] bool take_increment(const redisReply& reply) {
    value_ = reply.integer;
    return reply.type == REDIS_REPLY_INTEGER;
  }

  [[nodiscard]] bool take_kill(const redisReply& reply) {
    if (is_error(reply) && contains(text_of(reply), "No such client")) return true;
    if (note_error("CLIENT KILL", reply)) return true;
    if (is_status(reply, "OK")) {
      ++count_;
    } else if (reply.type == REDIS_REPLY_INTEGER && reply.integer >= 0) {
      count_ += static_cast<std::size_t>(reply.integer);
    } else {
      return false;
    }
    return true;
  }

  Kind kind_;
  std::optional<core::Verb> verb_;
  const Dialect* dialect_;
  std::string bytes_;
  std::size_t replies_ = 0;
  std::size_t taken_ = 0;
  std::string channel_;
  std::string response_channel_;
  std::size_t count_ = 0;
  std::size_t receivers_ = 0;
  std::int64_t value_ = 0;
  std::vector<core::Connection> connections_;
  std::string error_;
  std::string misplaced_;  // why this is not the server to ask
  std::string_view error_command_;
  std::unique_ptr<KeyExchange> exchange_;  // for keys
};

}  // namespace sublock::hiredis
