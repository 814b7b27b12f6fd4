// SPDX-License-Identifier: MIT
#pragma once

// What is said and heard about one key: bytes out, replies in, an event. With a server that has SET with options
// (2.6.12) one round, compared and done in one command or script; with an older one two, held together by WATCH.
// Pure; who sends it and when is the business of Mouth.

#include <sublock/core/event.hpp>
#include <sublock/core/lease/value.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::hiredis {

/// A lease as the server is to know it; `value` is empty where nothing is stored.
struct KeyClaim {
  std::string key;
  std::string mark = {};
  std::string value = {};
  std::chrono::milliseconds expire{};
};

class KeyExchange {
 public:
  /// `old`: for a server without SET with options, or who can't say.
  KeyExchange(core::Verb verb, KeyClaim claim, bool old) : verb_(verb), claim_(std::move(claim)), old_(old) {
    if (verb_ == core::Verb::look) {
      ask_what_there_is();
    } else {
      old_ ? watch() : act();
    }
  }

  [[nodiscard]] core::Verb verb() const noexcept { return verb_; }
  /// More than one round: nobody else may say anything on that connection until it is over.
  [[nodiscard]] bool excludes_others() const noexcept { return old_ && verb_ != core::Verb::look; }

  /// What is to be sent now; empty where nothing is.
  [[nodiscard]] std::string take_bytes() { return std::exchange(bytes_, {}); }
  [[nodiscard]] bool done() const noexcept { return taken_ == asked_; }

  /// The next reply; false where it makes no sense. May leave new bytes.
  [[nodiscard]] bool take(const redisReply& reply) {
    const std::string_view command = commands_[taken_++];
    if (command == "GETRANGE" && is_wrong_type(reply)) return true;  // TYPE tells
    if (is_error(reply) && !(is_wrong_type(reply) && command == "EVAL")) {
      if (error_.empty()) error_command_ = command, error_ = text_of(reply);
    } else if (error_.empty() && !read(command, reply)) {
      return false;
    }
    if (done() && watches_) decide();
    return true;
  }

  [[nodiscard]] core::Event event(const std::string& where) const {
    if (!error_.empty()) return core::event::Refused{verb_, refusal(where, error_command_, error_)};
    if (verb_ == core::Verb::look) return found_;
    return core::event::Keyed{verb_, done_, done_ && verb_ == core::Verb::take && found_.type != "none"};
  }

 private:
  static constexpr std::string_view extend_script =
      "if redis.call('getrange',KEYS[1],0,#ARGV[1]-1)==ARGV[1] then "
      "redis.call('set',KEYS[1],ARGV[2],'px',ARGV[3]) return 1 end return 0";
  static constexpr std::string_view drop_script =
      "if redis.call('getrange',KEYS[1],0,#ARGV[1]-1)==ARGV[1] then "
      "return redis.call('del',KEYS[1]) end return 0";

  void ask(std::initializer_list<std::string_view> words) {
    append(bytes_, words);
    commands_.at(asked_++) = *words.begin();
  }

  // --- one round ---------------------------------------------------------------------------------

  void act() {
    const std::string expire = std::to_string(claim_.expire.count());
    if (verb_ == core::Verb::take) {
      ask({"SET", claim_.key, claim_.value, "NX", "PX", expire});
    } else if (verb_ == core::Verb::extend) {
      ask({"EVAL", extend_script, "1", claim_.key, claim_.mark, claim_.value, expire});
    } else {
      ask({"EVAL", drop_script, "1", claim_.key, claim_.mark});
    }
  }

  void ask_what_there_is() {
    ask({"TYPE", claim_.key});
    ask({"GETRANGE", claim_.key, "0", std::to_string(core::lease::value_bytes_max - 1)});
    ask({old_ ? "TTL" : "PTTL", claim_.key});
  }

  // --- two rounds, for old servers ---------------------------------------------------------------

  void watch() {
    watches_ = true;
    // Whoever may not transact must hear of it before something is done that nothing holds together.
    ask({"MULTI"});
    ask({"DISCARD"});
    ask({"WATCH", claim_.key});
    ask_what_there_is();
  }

  /// Acts on what there is, unless it has changed in between.
  void decide() {
    watches_ = false;
    if (!error_.empty() || !may_act()) return ask({"UNWATCH"});
    const std::string seconds =
        std::to_string(std::chrono::ceil<std::chrono::seconds>(claim_.expire).count());
    ask({"MULTI"});
    if (verb_ == core::Verb::drop) {
      ask({"DEL", claim_.key});
    } else {
      ask({verb_ == core::Verb::take && found_.type == "none" ? "SETNX" : "GETSET", claim_.key,
           claim_.value});
      ask({"EXPIRE", claim_.key, seconds});  // in the same transaction, so that no key is left without
    }
    ask({"EXEC"});
  }

  [[nodiscard]] bool may_act() const {
    if (verb_ == core::Verb::take) return found_.type == "none" || is_stale();
    return found_.type == "string" && found_.value.starts_with(claim_.mark);
  }

  /// Its owner ended between SETNX and EXPIRE: the key would stay for ever, but says itself that it is over. By
  /// our clock, so that the owner's must not be behind ours by more than the lease.
  [[nodiscard]] bool is_stale() const {
    if (found_.type != "string" || found_.left) return false;
    const auto end = core::lease::expire_at(found_.value);
    const auto ours = core::lease::expire_at(claim_.value);
    return end && ours && *end < *ours - claim_.expire;
  }

  // --- replies -----------------------------------------------------------------------------------

  static bool is_wrong_type(const redisReply& reply) {
    return is_error(reply) && contains(text_of(reply), "WRONGTYPE");
  }

  [[nodiscard]] bool read(std::string_view command, const redisReply& reply) {
    if (command == "SET") return read_set(reply);
    if (command == "EVAL") return read_count(reply);
    if (command == "TYPE") return read_type(reply);
    if (command == "GETRANGE") return read_value(reply);
    if (command == "TTL" || command == "PTTL") return read_left(reply);
    if (command == "EXEC") return read_exec(reply);
    return reply.type == REDIS_REPLY_STATUS;  // WATCH, UNWATCH, MULTI, QUEUED
  }

  bool read_set(const redisReply& reply) {
    done_ = is_status(reply, "OK");
    return done_ || reply.type == REDIS_REPLY_NIL;
  }

  bool read_count(const redisReply& reply) {
    done_ = reply.type == REDIS_REPLY_INTEGER && reply.integer == 1;
    return reply.type == REDIS_REPLY_INTEGER || is_error(reply);
  }

  bool read_type(const redisReply& reply) {
    found_.type = text_of(reply);
    return reply.type == REDIS_REPLY_STATUS;
  }

  bool read_value(const redisReply& reply) {
    found_.value = text_of(reply);
    return reply.type == REDIS_REPLY_STRING;
  }

  bool read_left(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_INTEGER) return false;
    if (reply.integer == -2) found_.type = "none";  // it has gone since
    if (reply.integer < 0) return true;
    found_.left = old_ ? core::Duration(std::chrono::seconds(reply.integer))
                       : core::Duration(std::chrono::milliseconds(reply.integer));
    return true;
  }

  bool read_exec(const redisReply& reply) {
    done_ = reply.type == REDIS_REPLY_ARRAY;
    if (reply.type != REDIS_REPLY_NIL) return done_;
    if (verb_ == core::Verb::take) return true;  // somebody was quicker
    // It was touched, maybe by what we said ourselves on a connection that broke: asked again, we know.
    error_command_ = "EXEC";
    error_ = "TRYAGAIN the key was changed at this very moment";
    return true;
  }

  core::Verb verb_;
  KeyClaim claim_;
  bool old_;
  bool watches_ = false;
  std::string bytes_;
  std::array<std::string_view, 10> commands_{};  // in the order of the replies to come
  std::size_t asked_ = 0;
  std::size_t taken_ = 0;
  bool done_ = false;
  core::event::Looked found_{"none", {}, {}};
  std::string_view error_command_;
  std::string error_;
};

}  // namespace sublock::hiredis
