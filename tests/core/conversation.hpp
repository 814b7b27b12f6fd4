// SPDX-License-Identifier: MIT
#pragma once

// A participant to talk to: what happens goes in, what it asks for comes out, and time is what the test says
// it is. Actions print as sentences, so that a script that goes wrong reads like one.

#include <gtest/gtest.h>
#include <sublock/core/participant.hpp>
#include <sublock/election/lowest_id.hpp>
#include <sublock/reaper/client_list.hpp>

#include <chrono>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::core {

namespace action {

inline void PrintTo(const Open&, std::ostream* out) { *out << "open an ear"; }
inline void PrintTo(const Close&, std::ostream* out) { *out << "close the ear"; }
inline void PrintTo(const Join& join, std::ostream* out) {
  *out << "join " << join.channel << " with " << join.response_channel << " as " << join.client_name;
}
inline void PrintTo(const Listen& listen, std::ostream* out) { *out << "listen to " << listen.channel; }
inline void PrintTo(const Ping& ping, std::ostream* out) {
  *out << "ping " << ping.channel << " for answers on " << ping.response_channel << ": " << ping.payload;
}
inline void PrintTo(const Publish& publish, std::ostream* out) {
  *out << "say on " << publish.channel << ": " << publish.payload;
}
inline void PrintTo(const Count& count, std::ostream* out) { *out << "count " << count.channel; }
inline void PrintTo(const List&, std::ostream* out) { *out << "list the connections"; }
inline void PrintTo(const Kill& kill, std::ostream* out) {
  *out << "kill " << testing::PrintToString(kill.ids);
}
inline void PrintTo(const Increment& increment, std::ostream* out) { *out << "increment " << increment.key; }
inline void PrintTo(const Leave& leave, std::ostream* out) {
  *out << "leave";
  for (const Note& note : leave.notes) *out << ", and say on " << note.channel << ": " << note.payload;
}
inline void PrintTo(const Warn& warn, std::ostream* out) { *out << "warn: " << warn.text; }

}  // namespace action

inline void PrintTo(Phase phase, std::ostream* out) {
  constexpr const char* names[] = {"idle",      "opening", "joining", "tuning",  "probing",
                                   "examining", "killing", "resting", "fencing", "holding",
                                   "granting",  "leaving", "waiting"};
  *out << names[static_cast<std::size_t>(phase)];
}

inline void PrintTo(Result result, std::ostream* out) {
  constexpr const char* names[] = {"none", "acquired", "busy", "failed", "cancelled", "released", "lost"};
  *out << names[static_cast<std::size_t>(result)];
}

namespace testing_ids {

// Four participants, in the order in which they are elected.
inline const std::string first(32, '1');
inline const std::string second(32, '2');
inline const std::string third(32, '3');
inline const std::string fourth(32, '4');

}  // namespace testing_ids

using Said = std::vector<Action>;

inline const Said nothing;
inline const Said leave{action::Leave{}};
inline const Said look_at_count{action::Count{"L"}};
inline const Said list{action::List{}};

template <class Reaper = ClientListReaper>
class Conversation {
 public:
  static constexpr const char* lock = "L";
  static constexpr Instant start = Instant(std::chrono::hours(1));

  explicit Conversation(std::string id = testing_ids::second)
      : participant_({lock, id, "web-1", 7, "import", 0}, Dice({1, 2})), id_(std::move(id)) {}

  // --- what happens ------------------------------------------------------------------------------

  Said acquire(const Request& request = {}) {
    waits_ = !request.once && !request.fail_when_locked;
    return collect([&](Said& out) { participant_.acquire(request, now_, out); });
  }
  Said release() {
    return collect([&](Said& out) { participant_.release(now_, out); });
  }
  Said cancel() {
    return collect([&](Said& out) { participant_.cancel(out); });
  }
  Said hears(const Event& event) {
    return collect([&](Said& out) { participant_.on(event, now_, out); });
  }
  Said hears_ping(const std::string& payload) { return hears(event::Message{lock, payload}); }
  Said hears_answer(const Holder& holder) {
    const std::string payload = encode_reply(holder);
    return hears(event::Message{channel_, payload});
  }
  Said hears_answer_as_written(const std::string& payload) {
    return hears(event::Message{channel_, payload});
  }
  /// From outside the lock's channel, somebody speaks to one who is outside too.
  Said hears_in_inbox(const std::string& payload) { return hears(event::Message{inbox_, payload}); }
  Said hears_in_inbox(const Holder& holder) { return hears_in_inbox(encode_reply(holder)); }
  Said concludes() {
    return collect([&](Said& out) { participant_.decide(now_, out); });
  }
  /// Time passes, and what is due happens.
  Said after(Duration span) {
    now_ += span;
    return collect([&](Said& out) { participant_.tick(now_, out); });
  }
  /// Until the next timer, which there must be.
  Said after_next_timer() {
    const auto due = participant_.next_due();
    EXPECT_TRUE(due.has_value()) << "nothing is waited for";
    return due ? after(*due - now_) : Said{};
  }

  // --- shortcuts through conversations told elsewhere ----------------------------------------------

  /// Asked to acquire, and joined beside `others` others: has pinged, and heard neither answer nor echo.
  void joins_beside(std::size_t others, const Request& request = {}) {
    acquire(request);
    hears(event::Opened{});
    hears(event::Joined{others + 1});
    EXPECT_EQ(phase(), Phase::probing);
  }
  /// The last ping has reached that many in all, itself among them.
  void reached(std::size_t subscribers) { reached(subscribers, subscribers); }
  void reached(std::size_t subscribers, std::size_t receivers) {
    hears(event::Pinged{channel_, subscribers, receivers});
    hears_ping(own_ping());
  }
  /// Listens to the next response channel, and pings.
  void asks_again() {
    EXPECT_EQ(phase(), Phase::tuning);
    hears(event::Listening{channel_});
    EXPECT_EQ(phase(), Phase::probing);
  }
  void holds_alone(const Request& request = {}) {
    acquire(request);
    hears(event::Opened{});
    hears(event::Joined{1});
    EXPECT_TRUE(participant_.holds());
  }

  // --- what is said ----------------------------------------------------------------------------------

  // With `@` for the present response channel, as in all that is said.

  /// Of a writer.
  [[nodiscard]] Action join() const {
    return action::Join{lock, "@", client_name(lock, id_), {roster(lock, LockMode::exclusive), {}}};
  }
  [[nodiscard]] Action listen() const { return action::Listen{"@"}; }
  [[nodiscard]] Action ping(HolderMode mode = HolderMode::pending) const {
    return action::Ping{lock, "@", encode(Ping{"@", true, {id_, 0}, mode, false, waits_})};
  }
  /// The question from outside: an inbox is named as it is.
  [[nodiscard]] Action question(HolderMode mode = HolderMode::pending) const {
    return action::Ping{lock, inbox_, encode(Ping{inbox_, true, {id_, 0}, mode, true, waits_})};
  }
  [[nodiscard]] Action answer(const std::string& to, Holder holder) const {
    return action::Publish{to, encode_reply(myself(std::move(holder)))};
  }

  // --- what is known -------------------------------------------------------------------------------

  [[nodiscard]] const auto& participant() const { return participant_; }
  [[nodiscard]] Phase phase() const { return participant_.phase(); }
  [[nodiscard]] Duration elapsed() const { return now_ - start; }
  [[nodiscard]] Result result() const { return participant_.result(); }
  [[nodiscard]] const std::string& channel() const { return channel_; }
  [[nodiscard]] const std::string& inbox() const { return inbox_; }
  [[nodiscard]] bool armed(Timer timer) const { return participant_.timers().armed(timer); }
  [[nodiscard]] std::string own_ping(HolderMode mode = HolderMode::pending) const {
    return encode(Ping{channel_, true, {id_, 0}, mode, false, waits_});
  }

 private:
  Said collect(auto step) {
    Said out;
    step(out);
    // On an inbox he hears nothing unless a script says so.
    if (phase() == Phase::leaving || phase() == Phase::waiting) {
      std::erase_if(out, [&](const Action& action) {
        const auto* listen = std::get_if<action::Listen>(&action);
        if (listen != nullptr) inbox_ = listen->channel;
        return listen != nullptr;
      });
    }
    for (Action& action : out) {
      if (auto* join = std::get_if<action::Join>(&action)) adopt(join->response_channel);
      if (auto* listen = std::get_if<action::Listen>(&action)) adopt(listen->channel);
      if (auto* ping = std::get_if<action::Ping>(&action); ping != nullptr && is_own(*ping)) {
        EXPECT_EQ(ping->response_channel, channel_);
        ping->payload.replace(ping->payload.find(channel_), channel_.size(), "@");
        ping->response_channel = "@";
      }
    }
    return out;
  }

  /// Neither a grant nor a question from outside.
  [[nodiscard]] bool is_own(const action::Ping& ping) const {
    return !decode_grant(ping.payload) && ping.response_channel != inbox_;
  }

  /// A response channel is the lock's name and 32 digits, and never used twice (R5).
  void adopt(std::string& channel) {
    EXPECT_TRUE(channel.starts_with("L-") && channel.size() == 34) << channel;
    EXPECT_TRUE(used_.insert(channel).second) << channel << " has been used before";
    channel_ = std::exchange(channel, "@");
  }

  [[nodiscard]] Holder myself(Holder holder) const {
    holder.holder_id = id_;
    holder.sublock = true;
    holder.host = "web-1";
    holder.pid = 7;
    holder.label = "import";
    return holder;
  }

  Participant<LowestIdElection, Reaper> participant_;
  std::string id_;
  Instant now_ = start;
  std::string channel_;
  std::string inbox_;
  bool waits_ = true;
  std::set<std::string> used_;
};

/// Somebody's ping on the lock channel, for answers on `to`.
[[nodiscard]] inline std::string ping_of(const std::string& id, const std::string& to,
                                         HolderMode mode = HolderMode::pending) {
  return encode(Ping{to, true, {id, 0}, mode, false, false});
}

/// The same of one who will wait for the lock, on the channel or outside.
[[nodiscard]] inline std::string standing_ping_of(const std::string& id, const std::string& to,
                                                  HolderMode mode = HolderMode::pending) {
  return encode(Ping{to, true, {id, 0}, mode, false, true});
}
[[nodiscard]] inline std::string waiting_ping_of(const std::string& id, const std::string& inbox,
                                                 HolderMode mode = HolderMode::pending) {
  return encode(Ping{inbox, true, {id, 0}, mode, true, true});
}

/// The question of one who looks on from outside, and wants nothing.
[[nodiscard]] inline std::string roll_call(const std::string& to) {
  return encode(Ping{to, true, {testing_ids::fourth, 0}, HolderMode::pending, true, false});
}

/// An answer of somebody who speaks our extension.
[[nodiscard]] inline Holder from(const std::string& id, HolderMode mode, bool elected = false) {
  Holder holder;
  holder.holder_id = id;
  holder.mode = mode;
  holder.elected = elected || mode == HolderMode::exclusive;
  holder.sublock = true;
  return holder;
}

[[nodiscard]] inline Holder holding(Holder holder) {
  holder.held_for = std::chrono::milliseconds(1);
  return holder;
}

/// An owner who tells whoever asked that he comes next.
[[nodiscard]] inline Holder naming_us_next(const std::string& id) {
  Holder holder = holding(from(id, HolderMode::exclusive));
  holder.next = true;
  return holder;
}

[[nodiscard]] inline Holder leaving(const std::string& id) {
  Holder holder = from(id, HolderMode::pending);
  holder.leaving = true;
  return holder;
}

// --- common circumstances --------------------------------------------------------------------------

inline const Failure gone{Errc::connect, "the connection is gone"};

[[nodiscard]] inline Request until_10_seconds() {
  Request request;
  request.deadline = Conversation<>::start + std::chrono::seconds(10);
  return request;
}

}  // namespace sublock::core
