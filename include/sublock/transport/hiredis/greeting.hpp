// SPDX-License-Identifier: MIT
#pragma once

// The first words on a connection, in one write: log in, ask who is there, choose a database, or try a
// transaction. Pure: bytes out, replies in, a verdict.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::hiredis {

class Greeting {
 public:
  Greeting() = default;
  /// Of a connection that is to hear, or to speak.
  Greeting(const Settings& settings, bool hears)
      : where_(settings.where),
        by_hearsay_(!settings.endpoint.sentinels.empty() || settings.dialect.sharded),
        in_cluster_(settings.dialect.sharded),
        hears_(hears) {
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
    if (in_cluster_) {
      append(bytes_, {"CLUSTER", "INFO"});
      steps_.push_back("CLUSTER INFO");
    } else if (hears) {
      for (const std::string_view word : {"MULTI", "EXEC"}) {
        append(bytes_, {word});
        steps_.push_back(word);
      }
    } else if (endpoint.database != 0) {
      append(bytes_, {"SELECT", std::to_string(endpoint.database)});
      steps_.push_back("SELECT");
    }
  }

  /// What is to be sent now: at first, and after an answer that gives reason to ask more.
  [[nodiscard]] std::string take_bytes() { return std::exchange(bytes_, {}); }
  [[nodiscard]] bool done() const noexcept { return steps_.empty(); }

  /// What is said between MULTI and EXEC is done as one, or not at all.
  [[nodiscard]] bool transacts() const noexcept { return transacts_; }

  /// A server before 2.6.12, or one that won't say.
  [[nodiscard]] bool is_old() const noexcept { return is_old_; }

  /// What is wrong with the server or with us, if anything.
  [[nodiscard]] std::optional<Failure> take(const redisReply& reply) {
    const std::string_view step = steps_.front();
    steps_.pop_front();
    if (step == "CLUSTER INFO") return take_cluster_info(reply);
    if (is_error(reply)) {
      const std::string_view error = text_of(reply);
      // A server before 6.0 doesn't know HELLO: it is asked by INFO. A user may lack both: then its role stays
      // unknown.
      if (step == "HELLO" && error.starts_with("NOPERM")) return {};
      if (step == "HELLO" && is_unknown_command(error)) {
        ask_for_version();
        return {};
      }
      if (step == "INFO") return {};
      // One who may MULTI but not EXEC would be stuck there.
      if (step == "MULTI" || (step == "EXEC" && !(transacts_ && error.starts_with("NOPERM")))) {
        transacts_ = false;
        return {};
      }
      return refusal(where_, step, error);
    }
    if (step == "HELLO") return take_hello(reply);
    if (step == "INFO") return take_info(text_of(reply));
    if (is_status(reply, "OK") || (step == "EXEC" && is_array(reply, 0))) return {};
    return nonsense(step);
  }

 private:
  /// Only the mouth does.
  void ask_for_version() {
    if (hears_) return;
    is_old_ = true;
    append(bytes_, {"INFO"});
    steps_.push_back("INFO");
  }

  [[nodiscard]] std::optional<Failure> take_info(std::string_view info) {
    constexpr std::array<int, 3> sets_with_options{2, 6, 12};
    const std::string_view version = field_of(info, "redis_version:");
    std::array<int, 3> parts{};
    const char* at = version.data();
    const char* const end = version.data() + version.size();
    for (int& part : parts) {
      at = std::from_chars(at, end, part).ptr;
      if (at != end) ++at;
    }
    is_old_ = parts < sets_with_options;
    if (field_of(info, "role:") == "slave") return wrong_role("a replica", "connect to its primary");
    return {};
  }

  static std::string_view field_of(std::string_view info, std::string_view name) {
    const std::size_t start = info.find(name);
    if (start == std::string_view::npos) return {};
    info.remove_prefix(start + name.size());
    return info.substr(0, info.find('\r'));
  }

  [[nodiscard]] std::optional<Failure> take_hello(const redisReply& reply) const {
    if (reply.type != REDIS_REPLY_ARRAY) return nonsense("HELLO");
    for (std::size_t at = 0; at + 1 < reply.elements; at += 2) {
      const std::string_view field = text_of(*reply.element[at]);
      const std::string_view value = text_of(*reply.element[at + 1]);
      if (field == "role" && (value == "replica" || value == "slave")) {
        return wrong_role("a replica", "connect to its primary");
      }
      if (field == "mode" && value == "cluster" && !in_cluster_) {
        return wrong_role("a cluster node", "use sublock::RedisClusterLock, or a server outside a cluster");
      }
      if (field == "mode" && value == "sentinel") {
        return wrong_role("a sentinel", "connect to the primary that it watches");
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<Failure> take_cluster_info(const redisReply& reply) const {
    if (is_error(reply)) return refusal(where_, "CLUSTER INFO", text_of(reply));
    const std::string trouble = trouble_of_cluster(reply);
    if (trouble.empty()) return {};
    return Failure{Errc::connect, "Redis at " + where_ + ' ' + trouble};
  }

  [[nodiscard]] Failure wrong_role(const std::string& role, const std::string& advice) const {
    if (by_hearsay_)
      return {Errc::connect, "Redis " + where_ + " is " + role + " just now, while others agree on another"};
    return {Errc::usage, "Redis at " + where_ + " is " + role +
                             ", which counts its own subscribers only, so that two owners could happen; " +
                             advice};
  }

  [[nodiscard]] Failure nonsense(std::string_view step) const {
    return {Errc::protocol, "Redis at " + where_ + " answered " + std::string(step) + " with something else"};
  }

  std::string where_;
  std::string bytes_;
  bool by_hearsay_ = false;  // sentinels have sent us there, and may be behind the times
  bool in_cluster_ = false;
  bool hears_ = false;
  bool is_old_ = false;
  bool transacts_ = true;
  std::deque<std::string_view> steps_;
};

}  // namespace sublock::hiredis
