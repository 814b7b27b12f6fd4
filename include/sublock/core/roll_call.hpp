// SPDX-License-Identifier: MIT
#pragma once

// Asking who is there without being there: a ping from outside the channel, which nobody counts and
// nobody stands back for. As pure as the participant.

#include <sublock/core/census.hpp>
#include <sublock/core/event.hpp>
#include <sublock/core/wire.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core {

class RollCall {
 public:
  using Actions = std::vector<Action>;

  RollCall(std::string channel, std::string response_channel, Candidate asker)
      : channel_(std::move(channel)),
        response_channel_(std::move(response_channel)),
        asker_(std::move(asker)) {}

  void start(Actions& out) const { out.emplace_back(action::Open{channel_}); }

  void on(const Event& event, Actions& out) {
    if (std::holds_alternative<event::Opened>(event)) {
      out.emplace_back(action::Ask{channel_, response_channel_, question()});
    } else if (std::holds_alternative<event::Listening>(event)) {
      out.emplace_back(action::Ping{channel_, response_channel_, question()});
    } else if (const auto* message = std::get_if<event::Message>(&event)) {
      if (message->channel == response_channel_) census_.add(decode_reply(message->payload));
    } else if (const auto* pinged = std::get_if<event::Pinged>(&event)) {
      asked_ = true;
      census_.reach(pinged->count, pinged->receivers);
    } else if (const auto* listed = std::get_if<event::Listed>(&event)) {
      connections_ = listed->connections;
    } else if (std::holds_alternative<event::Killed>(event)) {
      killed_ = true;
    } else if (const auto* refused = std::get_if<event::Refused>(&event)) {
      if (refused->verb == Verb::ask) {
        out.emplace_back(action::Listen{response_channel_});  // the long way, then
      } else {
        failure_ = refused->failure;
      }
    } else if (const auto* lost = std::get_if<event::Lost>(&event)) {
      failure_ = lost->failure;
    }
  }

  [[nodiscard]] const Census& census() const { return census_; }
  [[nodiscard]] bool asked() const { return asked_; }
  [[nodiscard]] bool complete() const { return census_.standing() == Census::Standing::complete; }
  [[nodiscard]] const std::optional<std::vector<Connection>>& connections() const { return connections_; }
  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  [[nodiscard]] std::string question() const {
    Ping ping;
    ping.response_channel = response_channel_;
    ping.sublock = true;
    ping.from = asker_;
    ping.waiting = true;
    return encode(ping);
  }

  std::string channel_;
  std::string response_channel_;
  Candidate asker_;
  Census census_;
  bool asked_ = false;
  bool killed_ = false;
  std::optional<std::vector<Connection>> connections_;
  std::optional<Failure> failure_;
};

}  // namespace sublock::core
