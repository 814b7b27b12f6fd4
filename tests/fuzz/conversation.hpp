// SPDX-License-Identifier: MIT
#pragma once

// A participant that has been brought to any phase by an orderly conversation, so that something disorderly
// can be said to it there. Plays the transport and the time; judges nothing.

#include <sublock/core/participant.hpp>
#include <sublock/election/lowest_id.hpp>
#include <sublock/reaper/client_list.hpp>

#include <boost/hana/functional/overload.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sublock::fuzz {

inline const std::string channel = "jobs";
inline const std::string own_id = "55555555555555555555555555555555";
inline const std::string reader_id = "22222222222222222222222222222222";
inline const std::string silent_id = "99999999999999999999999999999999";

/// Every phase in which a participant can be found; readers grant nothing, and are leaving instead.
inline constexpr core::Phase phases[] = {
    core::Phase::idle,    core::Phase::opening,   core::Phase::joining,  core::Phase::tuning,
    core::Phase::probing, core::Phase::examining, core::Phase::killing,  core::Phase::resting,
    core::Phase::fencing, core::Phase::holding,   core::Phase::granting, core::Phase::leaving,
    core::Phase::waiting,
};

class Conversation {
 public:
  using Participant = core::Participant<LowestIdElection, ClientListReaper>;

  /// A participant in that phase; in `probing` it has heard itself, and of three whom the ping reached nobody
  /// else has answered.
  Conversation(core::Phase phase, LockMode mode)
      : participant_({channel, own_id, "host", 1, "label", 0}, core::Dice({1, 2})) {
    core::Request request;
    request.mode = mode;
    request.deadline = now_ + std::chrono::hours(1);
    request.fencing = phase == core::Phase::fencing;
    if (phase != core::Phase::idle) {
      participant_.acquire(request, now_, actions_);
      take_actions();
      bring_to(phase);
    }
    const bool reader_left = phase == core::Phase::granting && mode == LockMode::shared;
    if (participant_.phase() != phase && !reader_left)
      throw std::logic_error("the conversation did not lead there");
  }

  /// What the participant asks for in return.
  std::vector<core::Action> hear(const core::Event& event) {
    participant_.on(event, now_, actions_);
    return take_actions();
  }

  std::vector<core::Action> decide() {
    participant_.decide(now_, actions_);
    return take_actions();
  }

  /// Time passes, and what falls due meanwhile is done.
  std::vector<core::Action> pass(core::Duration span) {
    now_ += span;
    participant_.tick(now_, actions_);
    return take_actions();
  }

  [[nodiscard]] const Participant& participant() const { return participant_; }
  [[nodiscard]] const std::string& response_channel() const { return response_channel_; }

 private:
  using Phase = core::Phase;

  void bring_to(Phase phase) {
    if (phase == Phase::opening) return;
    hear(core::event::Opened{});
    if (phase == Phase::joining) return;
    if (phase == Phase::holding || phase == Phase::fencing || phase == Phase::granting) {
      hear(core::event::Joined{1});
      if (phase == Phase::granting) grant();
      return;
    }
    hear(core::event::Joined{3});
    switch (phase) {
      case Phase::resting:
        hear(core::event::Refused{core::Verb::ping, {Errc::connect, "the mouth broke"}});
        return;
      case Phase::leaving:
      case Phase::waiting:
        answer(R"({"holder_id":"1","mode":"exclusive","protocol":1,"elected":true})");
        decide();
        if (phase == Phase::waiting) hear(core::event::Left{});
        return;
      default: break;
    }
    be_heard(3);
    if (phase == Phase::probing) return;
    pass(std::chrono::seconds(1));
    if (phase == Phase::examining) return;
    hear(core::event::Listed{{{7, core::client_name(channel, silent_id)}}});
    if (phase == Phase::tuning) return;
    hear(core::event::Listening{response_channel_});
    be_heard(3);
    pass(std::chrono::seconds(1));
    hear(core::event::Listed{{{7, core::client_name(channel, silent_id)}}});
  }

  /// Gives the lock back while a writer stands ready; a reader has nothing to grant.
  void grant() {
    core::Ping ping{channel + "-1", true, {silent_id, 0}, HolderMode::pending, false, true};
    hear(core::event::Message{channel, core::encode(ping)});
    participant_.release(now_, actions_);
    take_actions();
  }

  /// The ping comes back on the own ear, and reached so many.
  void be_heard(std::size_t count) {
    const std::string ping = ping_;
    hear(core::event::Message{channel, ping});
    hear(core::event::Pinged{response_channel_, count, count});
  }

  void answer(std::string_view payload) { hear(core::event::Message{response_channel_, payload}); }

  std::vector<core::Action> take_actions() {
    const auto note = boost::hana::overload(
        [&](const core::action::Join& join) { response_channel_ = join.response_channel; },
        [&](const core::action::Listen& listen) { response_channel_ = listen.channel; },
        [&](const core::action::Ping& ping) { ping_ = ping.payload; }, [](const auto&) {});
    for (const core::Action& action : actions_) std::visit(note, action);
    return std::exchange(actions_, {});
  }

  Participant participant_;
  core::Instant now_ = core::Instant(std::chrono::hours(1));
  std::vector<core::Action> actions_;
  std::string response_channel_;
  std::string ping_;
};

}  // namespace sublock::fuzz
