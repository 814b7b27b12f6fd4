// SPDX-License-Identifier: MIT
#pragma once

// What strangers can send us, said to a participant that ships, and the laws that hold whatever it is. The
// fuzzers and the test that replays the corpus enter here; a law that is broken is thrown.

#include <fuzz/conversation.hpp>
#include <sublock/core/suspicion.hpp>
#include <sublock/transport/hiredis/client_list_reply.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::fuzz {

inline void require(bool holds, const std::string& law) {
  if (!holds) throw std::logic_error("broken law: " + law);
}

/// The parts of an input: what stands between lines that are "---".
[[nodiscard]] inline std::vector<std::string_view> parts_of(std::string_view input) {
  constexpr std::string_view separator = "\n---\n";
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = input.find(separator);
    parts.push_back(input.substr(0, end));
    if (end == std::string_view::npos) return parts;
    input.remove_prefix(end + separator.size());
  }
}

/// An answer, and a hint to somebody's inbox.
[[nodiscard]] inline bool is_invitation(const std::vector<core::Action>& actions) {
  const auto* hint = actions.size() == 2 ? std::get_if<core::action::Publish>(&actions[1]) : nullptr;
  return hint != nullptr && core::decode_hint(hint->payload).has_value();
}

/// Somebody publishes on the lock channel. An answer may be given, once, by those who have joined, where the
/// payload asks for one, and an owner may ask one who waits to come in; nothing else ever comes of it. (But for
/// a grant that names us: that is what a grant is for, and whoever can forge it could as well kill.)
inline void hear_on_lock_channel(core::Phase phase, LockMode mode,
                                 const std::vector<std::string_view>& payloads) {
  Conversation conversation(phase, mode);
  const core::Phase before = conversation.participant().phase();
  for (const std::string_view payload : payloads) {
    const auto ping = core::decode_ping(payload);
    const auto grant = core::decode_grant(payload);
    if (grant && grant->to == own_id) return;
    const auto actions = conversation.hear(core::event::Message{channel, payload});
    const auto& self = conversation.participant();
    require(self.phase() == before, "a message on the lock channel moves nobody");
    const bool asks = ping && ping->response_channel != channel &&
                      ping->response_channel != conversation.response_channel();
    require(actions.empty() == !(asks && self.joined()), "one answer to each who asks");
    if (actions.empty()) continue;
    require(actions.size() == 1 || (ping->waiting && ping->queue && is_invitation(actions)), "one answer");
    const auto* answer = std::get_if<core::action::Publish>(&actions.front());
    require(answer != nullptr && answer->channel == ping->response_channel, "the answer goes where asked");
    const Holder told = core::decode_reply(answer->payload);
    require(!told.legacy && told.sublock && told.holder_id == own_id, "the answer can be read");
    require(told.mode == self.mode() && told.leaving == self.is_leaving(), "the answer says what is so");
  }
  conversation.decide();
  require(conversation.participant().holds() == (phase == core::Phase::holding),
          "a message on the lock channel gives the lock to nobody and takes it from nobody");
}

/// Input: a letter for the phase and the mode, a line end, and payloads.
inline void lock_channel(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(std::min<std::size_t>(input.size(), 2));
  const auto phase = phases[choice / 2 % std::size(phases)];
  const bool shared = choice % 2 == 1 && phase != core::Phase::fencing;  // readers draw no tokens
  hear_on_lock_channel(phase, shared ? LockMode::shared : LockMode::exclusive, parts_of(input));
}

/// Somebody publishes on the response channel of a probe that reached `reached` subscribers: the lock is had
/// only if that many have answered, and none of them minds.
inline void hear_answers(core::Phase phase, LockMode mode, std::size_t reached,
                         const std::vector<std::string_view>& payloads) {
  Conversation conversation(phase, mode);
  const core::Phase before = conversation.participant().phase();
  if (phase == core::Phase::probing) {
    conversation.hear(core::event::Pinged{conversation.response_channel(), reached, reached});
  }
  std::set<std::string> ids = {own_id};
  bool somebody_minds = false;
  std::size_t legacy = 0;
  for (const std::string_view payload : payloads) {
    const Holder answer = core::decode_reply(payload);
    ids.insert(answer.legacy ? "legacy-" + std::to_string(++legacy) : answer.holder_id);
    somebody_minds = somebody_minds || answer.legacy || answer.holder_id == own_id;
    somebody_minds = somebody_minds || answer.mode == HolderMode::exclusive;
    if (mode == LockMode::exclusive) {
      const bool goes_first = answer.holder_id < own_id && !answer.leaving;
      somebody_minds =
          somebody_minds || answer.mode == HolderMode::shared || goes_first || answer.elected.value_or(false);
    } else {
      somebody_minds = somebody_minds || (answer.mode == HolderMode::pending && !answer.leaving);
    }
    const std::string response_channel = conversation.response_channel();
    const auto actions = conversation.hear(core::event::Message{response_channel, payload});
    if (core::decode_hint(payload)) return;  // may lead to a look, and no further
    require(actions.empty(), "an answer alone brings about nothing");
    require(conversation.participant().phase() == before, "an answer alone moves nobody");
  }
  conversation.decide();
  const bool held_before = phase == core::Phase::holding;
  if (!conversation.participant().holds()) return require(!held_before, "an answer takes the lock away");
  if (held_before) return;
  require(!somebody_minds, "nobody minds");
  require(ids.size() == reached, "the lock is had without everybody's answer");
}

/// Input: a letter for the phase and the mode, one for how many the ping reached, a line end, and payloads.
inline void response_channel(std::string_view input) {
  if (input.size() < 2) return;
  const auto choice = static_cast<unsigned char>(input[0]);
  const auto reached = static_cast<std::size_t>(static_cast<unsigned char>(input[1]) % 8);
  input.remove_prefix(std::min<std::size_t>(input.size(), 3));
  // Most often where answers matter.
  const auto phase = choice % 4 == 0 ? phases[choice / 8 % std::size(phases)] : core::Phase::probing;
  const bool shared = choice / 4 % 2 == 1 && phase != core::Phase::fencing;
  hear_answers(phase, shared ? LockMode::shared : LockMode::exclusive, reached, parts_of(input));
}

/// The server answers CLIENT LIST with that text, after two others were silent: whoever is suspected is on
/// the list, bears a name of this channel and has not answered; nobody is killed for one silence.
inline void client_list(std::string_view input) {
  const std::vector<core::Connection> connections = hiredis::parse_client_list(input);
  for (const auto& connection : connections) {
    require(connection.id >= 0, "ids count up from nothing");
    require(connection.name.find_first_of(" \n") == std::string::npos, "a name is one word");
  }
  const std::vector<std::string> answered = {reader_id, own_id};
  const std::string stem = core::name_stem(channel);
  for (const bool legacy_answered : {false, true}) {
    const Diagnosis diagnosis = ClientListReaper{}.examine({stem, answered, legacy_answered, connections});
    for (const auto& [id, holder_id] : diagnosis.suspects) {
      const auto has_that_name = [&, suspect = id, holder = holder_id](const core::Connection& connection) {
        return connection.id == suspect &&
               connection.name ==
                   (holder.empty() ? core::legacy_client_name(channel) : core::client_name(channel, holder));
      };
      require(std::ranges::any_of(connections, has_that_name), "a suspect is on the list, by name");
      require(std::ranges::find(answered, holder_id) == answered.end(), "one who answered is no suspect");
      require(!legacy_answered || !holder_id.empty(), "one old answer clears all the old");
    }
  }
  for (const LockMode mode : {LockMode::exclusive, LockMode::shared}) {
    Conversation conversation(core::Phase::examining, mode);
    const auto actions = conversation.hear(core::event::Listed{connections});
    require(std::ranges::none_of(actions,
                                 [](const core::Action& action) {
                                   return std::holds_alternative<core::action::Kill>(action);
                                 }),
            "nobody is killed for one silence");
    const bool somebody_is_named = std::ranges::any_of(connections, [](const core::Connection& connection) {
      const auto holder = core::named_holder(core::name_stem(channel), connection.name);
      return holder && *holder != own_id;
    });
    require(!conversation.participant().holds() || !somebody_is_named, "whoever is named may own the lock");
  }
}

}  // namespace sublock::fuzz
