// SPDX-License-Identifier: MIT
#pragma once

// Ears that many locks share (transport/shared_ear.hpp), as the other participants must know them: by their
// names, and by where they are. Pure.
//
// Such an ear bears no lock's name, so on the server's list it looks as if it had nothing to do with this
// channel; and when its process is frozen, whoever holds the lock through it would be taken for a stranger, and
// the lock for free. Therefore each has an id, and wherever it joins a channel it subscribes to its mark on it
// as well: before the channel, and until after it. So if the server does not count the mark, the ear is not on
// the channel; who came to it since did so after our question, and has to ask us. And if it does, the ear
// counts as named for the channel, and as having answered where an answer comes from it: the rest of R12 is as
// for any other. No message is needed for that, whose answer somebody might forge, or not be allowed to give;
// and an ear that is not on the channel is never asked, suspected or killed for the sake of it.
//
// Two participants of one channel must never share one: the server would count them once. Their transport sees
// to that.

#include <sublock/core/holder.hpp>
#include <sublock/core/name.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::core {

inline constexpr std::string_view shared_ear_stem = "sublock-ear-";

/// What a shared ear calls itself, whatever it hears.
[[nodiscard]] inline std::string shared_ear_name(std::string_view ear) {
  return std::string(shared_ear_stem).append(ear);
}

/// The id of the shared ear that is called `name`; nothing where it is none.
[[nodiscard]] inline std::optional<std::string_view> shared_ear_named(std::string_view name) {
  if (!name.starts_with(shared_ear_stem)) return std::nullopt;
  const std::string_view id = name.substr(shared_ear_stem.size());
  return is_holder_id(id) ? std::optional(id) : std::nullopt;
}

/// What a shared ear subscribes to besides the channel itself.
[[nodiscard]] inline std::string ear_mark(std::string_view channel, std::string_view ear) {
  return std::string(channel).append("-").append(ear);
}

/// The server's list, while it is being found out which of the shared ears on it are on the channel.
class EarSearch {
 public:
  /// More are not looked for, and then nobody is taken for a stranger.
  static constexpr std::size_t ears_max = 256;

  EarSearch() = default;

  /// `own` is the ear that we sit on, if we share one: it has brought us our own question, and there is nobody
  /// else of this channel on it.
  EarSearch(std::string_view channel, std::string_view own, std::vector<Connection> connections)
      : connections_(std::move(connections)) {
    for (std::size_t at = 0; at < connections_.size(); ++at) {
      const auto ear = shared_ear_named(connections_[at].name);
      if (!ear || *ear == own) continue;
      sought_.push_back({at, client_name(channel, *ear)});
      marks_.push_back(ear_mark(channel, *ear));
    }
  }

  [[nodiscard]] bool too_many() const { return sought_.size() > ears_max; }

  /// The channels to be counted, in the order in which `take` is to be told.
  [[nodiscard]] const std::vector<std::string>& marks() const { return marks_; }
  [[nodiscard]] bool pending() const { return taken_ < sought_.size(); }

  /// How many subscribe to the next of the marks.
  void take(std::size_t count) {
    const auto& [at, name] = sought_[taken_++];
    if (count > 0) connections_[at].name = name;
  }

  /// The list, on which those that are on the channel bear its name.
  [[nodiscard]] const std::vector<Connection>& connections() const { return connections_; }

  /// What it has found so far, in a canonical form; empty once it has found all.
  [[nodiscard]] std::string state_key() const {
    std::string key;
    if (!pending()) return key;
    for (const Connection& connection : connections_)
      key += std::to_string(connection.id) + '=' + connection.name + ';';
    return key + std::to_string(taken_);
  }

 private:
  struct Sought {
    std::size_t at;    // in the list
    std::string name;  // if it is on the channel
  };

  std::vector<Connection> connections_;
  std::vector<Sought> sought_;
  std::vector<std::string> marks_;
  std::size_t taken_ = 0;
};

}  // namespace sublock::core
