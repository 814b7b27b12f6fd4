// SPDX-License-Identifier: MIT
#pragma once

// The first words on a connection, in one write: log in, ask who is there, choose a database, or try a
// transaction. Pure: bytes out, replies in, a verdict.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace sublock::hiredis {

class Greeting {
 public:
  Greeting() = default;
  /// Of a connection that is to hear, or to speak.
  Greeting(const Settings& settings, bool hears) : where_(settings.where) {
    const Endpoint& endpoint = settings.endpoint;
    if (endpoint.password && endpoint.user.empty()) {
      append(bytes_, {"AUTH", *endpoint.password});
      steps_.push_back("AUTH");
    } else if (endpoint.password) {
      append(bytes_, {"AUTH", endpoint.user, *endpoint.password});
      steps_.push_back("AUTH");
    }
    append(bytes_, {"HELLO", "2"});
    steps_.push_back("HELLO");
    if (hears) {
      for (const std::string_view word : {"MULTI", "EXEC"}) {
        append(bytes_, {word});
        steps_.push_back(word);
      }
    } else if (endpoint.database != 0) {
      append(bytes_, {"SELECT", std::to_string(endpoint.database)});
      steps_.push_back("SELECT");
    }
  }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool done() const noexcept { return steps_.empty(); }

  /// What is said between MULTI and EXEC is done as one, or not at all.
  [[nodiscard]] bool transacts() const noexcept { return transacts_; }

  /// What is wrong with the server or with us, if anything.
  [[nodiscard]] std::optional<Failure> take(const redisReply& reply) {
    const std::string_view step = steps_.front();
    steps_.pop_front();
    if (is_error(reply)) {
      const std::string_view error = text_of(reply);
      // A server before 6.0 doesn't know HELLO, and a user may lack it: then its role stays unknown.
      if (step == "HELLO" && (is_unknown_command(error) || error.starts_with("NOPERM"))) return {};
      // One who may MULTI but not EXEC would be stuck there.
      if (step == "MULTI" || (step == "EXEC" && !(transacts_ && error.starts_with("NOPERM")))) {
        transacts_ = false;
        return {};
      }
      return refusal(where_, step, error);
    }
    if (step == "HELLO") return take_hello(reply);
    if (is_status(reply, "OK") || (step == "EXEC" && is_array(reply, 0))) return {};
    return nonsense(step);
  }

 private:
  [[nodiscard]] std::optional<Failure> take_hello(const redisReply& reply) const {
    if (reply.type != REDIS_REPLY_ARRAY) return nonsense("HELLO");
    for (std::size_t at = 0; at + 1 < reply.elements; at += 2) {
      const std::string_view field = text_of(*reply.element[at]);
      const std::string_view value = text_of(*reply.element[at + 1]);
      if (field == "role" && (value == "replica" || value == "slave")) {
        return wrong_role("a replica", "connect to its primary");
      }
      if (field == "mode" && value == "cluster") {
        return wrong_role("a cluster node", "use a server outside a cluster");
      }
      if (field == "mode" && value == "sentinel") {
        return wrong_role("a sentinel", "connect to the primary that it watches");
      }
    }
    return {};
  }

  [[nodiscard]] Failure wrong_role(const std::string& role, const std::string& advice) const {
    return {Errc::usage, "Redis at " + where_ + " is " + role +
                             ", which counts its own subscribers only, so that two owners could happen; " +
                             advice};
  }

  [[nodiscard]] Failure nonsense(std::string_view step) const {
    return {Errc::protocol, "Redis at " + where_ + " answered " + std::string(step) + " with something else"};
  }

  std::string where_;
  std::string bytes_;
  bool transacts_ = true;
  std::deque<std::string_view> steps_;
};

}  // namespace sublock::hiredis
