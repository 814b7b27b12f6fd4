// SPDX-License-Identifier: MIT
#pragma once

// One look at a channel from outside: who is on it, and who waits for it in an inbox. Never subscribes to the
// lock's channel, nor to a pattern that covers it: either would get in the way. What it costs is a message to
// everybody seen, and an answer from each.

#include "people.hpp"
#include "talk.hpp"

#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace command {

/// What a look has shown.
struct Sight {
  std::vector<Holder> people;  ///< holding, leaving, waiting; of those who wait, the longest first
  std::size_t silent = 0;      ///< subscribers of the channel that have not answered
  bool overheard = false;      ///< somebody listens by pattern
  std::string blind;           ///< why those who wait in an inbox could not be seen; empty where they could

  [[nodiscard]] bool is_held() const { return std::ranges::any_of(people, is_holding); }
};

/// Asks those who listen in inboxes: nobody counts them, and they answer nobody else.
class Visit {
 public:
  using Actions = std::vector<sublock::core::Action>;

  Visit(std::vector<std::string> inboxes, std::string response_channel, const std::string& asker)
      : inboxes_(std::move(inboxes)), response_channel_(std::move(response_channel)) {
    sublock::core::Ping ping;
    ping.response_channel = response_channel_;
    ping.sublock = true;
    ping.from.holder_id = asker;
    ping.waiting = true;
    question_ = encode(ping);
  }

  void start(Actions& out) const { out.emplace_back(sublock::core::action::Open{response_channel_}); }

  void on(const sublock::core::Event& event, Actions& out) {
    namespace event_of = sublock::core::event;
    namespace action = sublock::core::action;
    if (std::holds_alternative<event_of::Opened>(event)) {
      out.emplace_back(action::Listen{response_channel_});
    } else if (std::holds_alternative<event_of::Listening>(event)) {
      for (const std::string& inbox : inboxes_) out.emplace_back(action::Publish{inbox, question_});
    } else if (const auto* message = std::get_if<event_of::Message>(&event)) {
      Holder answer = sublock::core::decode_reply(message->payload);
      if (!answer.legacy) answers_.insert_or_assign(answer.holder_id, std::move(answer));
    } else if (const auto* refused = std::get_if<event_of::Refused>(&event)) {
      failure_ = refused->failure;
    } else if (const auto* lost = std::get_if<event_of::Lost>(&event)) {
      failure_ = lost->failure;
    }
  }

  [[nodiscard]] const std::map<std::string, Holder>& answers() const { return answers_; }
  [[nodiscard]] const std::optional<sublock::Failure>& failure() const { return failure_; }

 private:
  std::vector<std::string> inboxes_;
  std::string response_channel_;
  std::string question_;
  std::map<std::string, Holder> answers_;
  std::optional<sublock::Failure> failure_;
};

/// Looks again and again, on the same connections; after they broke, on new ones.
class Lookout {
 public:
  Lookout(const sublock::ConnectionOptions& options, std::string channel)
      : options_(options),
        channel_(std::move(channel)),
        self_(dice_.fresh_id()),
        connection_(sublock::HiredisTransport::make(options)) {
    sublock::core::check_channel(channel_);
  }

  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  [[nodiscard]] std::string server() const { return connection_->server(); }

  /// Waits for answers no longer than `patience`, and half as long again for those who wait outside. Throws
  /// LockError where the server gives none.
  [[nodiscard]] Sight look(Milliseconds patience = Milliseconds(1000)) {
    Sight sight;
    std::map<std::string, Holder> people = ask_channel(sight, patience);
    std::size_t ours = 0;
    for (const auto& [id, holder] : people) ours += holder.sublock ? 1 : 0;
    std::vector<std::string> inboxes = find_inboxes(sight);
    std::erase_if(inboxes, [&](const std::string& inbox) {
      const std::string id = inbox.substr(channel_.size() + 1);
      const auto is_shared_ear_of = [&](const auto& entry) { return entry.second.ear == id; };
      return people.contains(id) || std::ranges::any_of(people, is_shared_ear_of);
    });
    // Everybody of ours on the channel has a channel for answers as well, where nobody answers us.
    if (inboxes.size() > ours) people.merge(ask_outside(inboxes, inboxes.size() - ours, patience / 2));
    for (auto& [id, holder] : people) sight.people.push_back(std::move(holder));
    std::ranges::stable_sort(sight.people, [](const Holder& a, const Holder& b) {
      if (doing(a) != doing(b)) return doing(a) < doing(b);
      return a.waiting_for.value_or(Milliseconds(0)) > b.waiting_for.value_or(Milliseconds(0));
    });
    return sight;
  }

 private:
  using Line = sublock::HiredisTransport::Line;
  template <class Question>
  using Asker = sublock::Inquiry<sublock::HiredisTransport, Line, Question, sublock::SteadyClock>;

  [[nodiscard]] std::string fresh_response_channel() { return channel_ + '-' + dice_.fresh_id(); }

  std::map<std::string, Holder> ask_channel(Sight& sight, Milliseconds patience) {
    using sublock::core::RollCall;
    Asker<RollCall> asker(connection_, {}, RollCall(channel_, fresh_response_channel(), {self_, 0}));
    asker.wait_until(patience, [](const RollCall& call) {
      return call.asked() && (call.complete() || call.census().reached() == 0);
    });
    const sublock::core::Census& census = asker.question().census();
    if (!census.reached())
      throw sublock::LockError({sublock::Errc::connect, server() + " did not answer in time"});
    sight.silent = census.missing();
    sight.overheard = census.overheard();
    return census.answers();
  }

  /// Every channel that looks like an inbox of this lock; what a connection uses only for answers looks the same.
  std::vector<std::string> find_inboxes(Sight& sight) {
    using namespace sublock;
    std::vector<std::string> found;
    const Reply reply = ask({"PUBSUB", "CHANNELS", pattern_of(channel_) + "-*"});
    if (is_error(*reply))
      sight.blind = hiredis::refusal(talk_->where(), "PUBSUB CHANNELS", text_of(*reply)).text;
    if (is_error(*reply)) return found;
    for (std::size_t at = 0; at < reply->elements; ++at) {
      std::string name(text_of(*reply->element[at]));
      if (name.size() <= channel_.size() || !core::is_holder_id(name.substr(channel_.size() + 1))) continue;
      const bool is_roster = name == core::roster(channel_, LockMode::shared) ||
                             name == core::roster(channel_, LockMode::exclusive);
      if (!is_roster) found.push_back(std::move(name));
    }
    return found;
  }

  std::map<std::string, Holder> ask_outside(std::vector<std::string> inboxes, std::size_t expected,
                                            Milliseconds patience) {
    Asker<Visit> asker(connection_, {}, Visit(std::move(inboxes), fresh_response_channel(), self_));
    asker.wait_until(patience, [&](const Visit& visit) { return visit.answers().size() >= expected; });
    return asker.question().answers();
  }

  /// On a connection that may have broken since it was last used.
  Reply ask(std::initializer_list<std::string_view> words) {
    for (const bool again : {true, false}) {
      const bool used_before = talk_.has_value();
      try {
        if (!used_before) talk_.emplace(options_);
        if (talk_->objection()) throw sublock::LockError(*talk_->objection());
        return talk_->ask(words);
      } catch (const sublock::LockError&) {
        talk_.reset();
        if (!used_before || !again) throw;
      }
    }
    return nullptr;
  }

  /// For PUBSUB CHANNELS, which takes a pattern: the channel, byte for byte.
  static std::string pattern_of(std::string_view channel) {
    std::string pattern;
    for (const char c : channel) {
      if (std::string_view("*?[]\\^").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
    return pattern;
  }

  const sublock::ConnectionOptions options_;
  const std::string channel_;
  sublock::core::Dice dice_{sublock::random_seed()};
  const std::string self_;
  std::shared_ptr<sublock::HiredisTransport> connection_;
  std::optional<Talk> talk_;
};

}  // namespace command
