// SPDX-License-Identifier: MIT
#pragma once

// Joining as one exchange: which commands make a participant heard and counted in one step, and what
// their answers amount to. Pure: bytes out, replies in, an outcome.

#include <sublock/core/event.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::hiredis {

/// What has been learnt about the server by trying.
struct ServerTraits {
  bool refuses_subscribe_in_multi = false;
};

/// How to name a response channel or inbox in an error: by the pattern that a grant would need.
[[nodiscard]] inline std::string pattern_of(std::string_view channel) {
  constexpr std::size_t id_size = 32;
  const auto dash = channel.rfind('-');
  const bool ours = dash != std::string_view::npos && channel.size() - dash - 1 == id_size;
  return std::string(ours ? channel.substr(0, dash) : channel) + (ours ? "-*" : "");
}

/// One join, from its bytes to its outcome.
class Join {
 public:
  enum class Outcome {
    joined,
    refused,        ///< see failure()
    retry_plainly,  ///< this server takes no SUBSCRIBE in a transaction
    nonsense,       ///< no Redis answers like that
  };

  Join(const Dialect& dialect, std::string_view channel, std::string_view response_channel,
       std::string_view client_name, core::action::Rosters rosters)
      : dialect_(dialect),
        channel_(channel),
        response_channel_(response_channel),
        client_name_(client_name),
        rosters_(std::move(rosters)) {}

  /// Appends the commands of one try and starts to expect their answers. With `vouch`, an empty message
  /// that nobody hears proves that this user may publish: one who may not could never answer a ping. Without
  /// `transacts`, what should be one step may be done in part, and nobody may be on a roster but not on the
  /// channel.
  void begin(std::string& bytes, bool vouch, bool plainly, bool transacts) {
    steps_.clear();
    next_ = 0;
    error_.clear();
    plainly_ = plainly;
    listed_ = transacts && !rosters_.own.empty();
    multi_refused_ = subscribe_refused_ = channel_refused_ = response_channel_refused_ = false;
    executed_ = plainly;
    joined_ = {};
    if (!plainly) add(bytes, Step::multi, {"MULTI"});
    if (vouch) add(bytes, Step::publish, {dialect_.publish, response_channel_, ""});
    add(bytes, Step::name, {"CLIENT", "SETNAME", client_name_});
    // One command for each: two channels in one command would break the nesting of EXEC's reply.
    add(bytes, Step::subscribe, {dialect_.subscribe, channel_});
    add(bytes, Step::subscribe_response, {dialect_.subscribe, response_channel_});
    if (plainly) return;
    if (listed_) add(bytes, Step::subscribe_roster, {dialect_.subscribe, rosters_.own});
    if (knows_kinds()) {
      add(bytes, Step::count, {"PUBSUB", dialect_.count, channel_, rosters_.own, rosters_.other});
    } else {
      add(bytes, Step::count, {"PUBSUB", dialect_.count, channel_});
    }
    add(bytes, Step::exec, {"EXEC"});
  }

  [[nodiscard]] std::size_t steps() const noexcept { return steps_.size(); }

  /// The next answer. An outcome once it was the last, or as soon as one makes no sense.
  [[nodiscard]] std::optional<Outcome> take(const redisReply& reply) {
    const Step step = steps_[next_++];
    bool sensible = true;
    if (is_error(reply) && !(step == Step::exec && has_error())) {
      note(step, text_of(reply));
      multi_refused_ = multi_refused_ || step == Step::multi;
    } else if (step == Step::exec) {
      sensible = is_error(reply) || take_executed(reply);
    } else if (plainly_) {
      sensible = is_answer(step, reply);
    } else if (!multi_refused_) {
      sensible = is_status(reply, step == Step::multi ? "OK" : "QUEUED");
    }
    if (!sensible) return Outcome::nonsense;
    if (next_ < steps_.size()) return {};
    if (!has_error()) return Outcome::joined;
    return subscribe_refused_ && !plainly_ && !multi_refused_ ? Outcome::retry_plainly : Outcome::refused;
  }

  /// Whether a refused join may have left something subscribed.
  [[nodiscard]] bool left_traces() const noexcept { return executed_ || multi_refused_; }

  /// Who was counted; nobody after a plain join.
  [[nodiscard]] const core::event::Joined& joined() const noexcept { return joined_; }

  /// Why it was refused: the first of the errors, naming every channel that is off limits.
  [[nodiscard]] Failure failure(const std::string& where) const {
    std::string channels = channel_refused_ ? channel_ : "";
    if (channel_refused_ && response_channel_refused_) channels += " and ";
    if (response_channel_refused_) channels += pattern_of(response_channel_);
    return refusal(where, name_of(error_step_), error_, channels);
  }

 private:
  enum class Step { multi, publish, name, subscribe, subscribe_response, subscribe_roster, count, exec };

  [[nodiscard]] std::string_view name_of(Step step) const {
    switch (step) {
      case Step::multi: return "MULTI";
      case Step::publish: return dialect_.publish;
      case Step::name: return "CLIENT SETNAME";
      case Step::subscribe:
      case Step::subscribe_response:
      case Step::subscribe_roster: return dialect_.subscribe;
      case Step::count: return "PUBSUB NUMSUB";
      case Step::exec: return "EXEC";
    }
    return {};
  }

  void add(std::string& bytes, Step step, std::initializer_list<std::string_view> words) {
    append(bytes, words);
    steps_.push_back(step);
  }

  [[nodiscard]] bool knows_kinds() const noexcept { return listed_ && !rosters_.other.empty(); }
  [[nodiscard]] bool has_error() const noexcept { return !error_.empty(); }

  void note(Step step, std::string_view error) {
    const bool subscribes = name_of(step) == dialect_.subscribe;
    if (is_channel_refusal(error)) {
      (step == Step::subscribe ? channel_refused_ : response_channel_refused_) = true;
    } else if (subscribes && !error.starts_with("NOPERM") && !error.starts_with("BUSY ") &&
               !error.starts_with("LOADING") && !is_unknown_command(error)) {
      subscribe_refused_ = true;
    }
    if (has_error()) return;
    error_step_ = step;
    error_ = error.empty() ? "ERR" : std::string(error);
  }

  [[nodiscard]] bool is_answer(Step step, const redisReply& reply) {
    switch (step) {
      case Step::publish: return reply.type == REDIS_REPLY_INTEGER;
      case Step::name: return is_status(reply, "OK");
      case Step::subscribe: return confirms(reply, channel_);
      case Step::subscribe_response: return confirms(reply, response_channel_);
      case Step::subscribe_roster: return confirms(reply, rosters_.own);
      case Step::count: return take_count(reply);
      case Step::multi:
      case Step::exec: break;
    }
    return false;
  }

  [[nodiscard]] bool take_count(const redisReply& reply) {
    const std::size_t channels = knows_kinds() ? 3 : 1;
    const long long count = subscribers_in(reply, channels);
    const long long own_kind = knows_kinds() ? subscribers_in(reply, channels, 1) : 0;
    const long long other_kind = knows_kinds() ? subscribers_in(reply, channels, 2) : 0;
    if (count < 1 || own_kind < (knows_kinds() ? 1 : 0) || other_kind < 0) return false;  // we are one
    joined_ = {static_cast<std::size_t>(count), static_cast<std::size_t>(own_kind),
               static_cast<std::size_t>(other_kind)};
    return true;
  }

  [[nodiscard]] bool confirms(const redisReply& reply, std::string_view channel) const {
    return is_push(reply, 3, dialect_.subscribed) && text_of(*reply.element[1]) == channel;
  }

  [[nodiscard]] bool take_executed(const redisReply& reply) {
    if (multi_refused_) return true;
    if (!is_array(reply, steps_.size() - 2)) return false;
    executed_ = true;
    for (std::size_t at = 0; at < reply.elements; ++at) {
      const Step step = steps_[at + 1];
      if (is_error(*reply.element[at])) {
        note(step, text_of(*reply.element[at]));
      } else if (!is_answer(step, *reply.element[at])) {
        return false;
      }
    }
    return true;
  }

  const Dialect& dialect_;
  std::string channel_;
  std::string response_channel_;
  std::string client_name_;
  core::action::Rosters rosters_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  bool plainly_ = false;
  bool listed_ = false;  // on the roster
  bool executed_ = false;
  bool multi_refused_ = false;
  bool subscribe_refused_ = false;
  bool channel_refused_ = false;
  bool response_channel_refused_ = false;
  std::string error_;
  Step error_step_ = Step::exec;
  core::event::Joined joined_;
};

}  // namespace sublock::hiredis
