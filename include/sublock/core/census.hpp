// SPDX-License-Identifier: MIT
#pragma once

// What one probe has found out so far. Three answers are kept apart: complete, open, and void; only a
// complete census may lead to a lock (R4). Knows no time and decides nothing.

#include <sublock/core/holder.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sublock::core {

class Census {
 public:
  enum class Standing {
    open,      ///< answers are missing still
    complete,  ///< every subscriber that the ping reached has answered it
    forged,    ///< more answers than subscribers, or one in our own name: worth nothing
  };

  /// More ids than any server would let subscribe: an endless stream of answers must not fill memory.
  static constexpr std::size_t ids_max = 65'536;

  Census() = default;
  /// A census taken by `self`, who is joined, so counted, and hears his own ping.
  explicit Census(std::string self) : self_(std::move(self)), joined_(true) {}

  /// One answer. Each of the old protocol counts as a different holder, since it has no id. Two answers
  /// that differ in anything but their id contradict each other: that id counts as exclusive, the
  /// strictest there is. O(log ids).
  void add(Holder answer) {
    if (answer.legacy) answer.holder_id = "legacy-" + std::to_string(++legacies_);
    // We never answer ourselves, we hear our own ping.
    if ((joined_ && answer.holder_id == self_) || answers_.size() >= ids_max) {
      forged_ = true;
      return;
    }
    const auto [place, is_new] = answers_.try_emplace(answer.holder_id, std::move(answer));  // moved if new
    if (!is_new && place->second != answer) place->second.mode = HolderMode::exclusive;
  }

  /// Our own ping has come back on our own ear: we are counted, and alive.
  void hear_echo() { echoed_ = true; }

  /// The server's word on how many subscribers the ping reached, and how many heard it in all: the
  /// difference listens by pattern, and owns nothing.
  void reach(std::size_t subscribers, std::size_t receivers) {
    reached_ = subscribers;
    overheard_ = receivers > subscribers;
  }

  /// Leaves `strangers()` out of account: subscribers who are no participants.
  void discount_strangers() { strangers_ = missing(); }

  [[nodiscard]] Standing standing() const {
    if (forged_ || (reached_ && answers_.size() + (joined_ ? 1 : 0) > *reached_)) return Standing::forged;
    return heard_itself() && missing() == strangers_ ? Standing::complete : Standing::open;
  }

  /// Whether the prober itself is proven to be reachable. Silence of others means nothing without it.
  [[nodiscard]] bool heard_itself() const { return (echoed_ || !joined_) && reached_.has_value(); }

  /// Subscribers that have not answered. O(1).
  [[nodiscard]] std::size_t missing() const {
    const std::size_t answered = answers_.size() + (echoed_ ? 1 : 0);
    return reached_ && *reached_ > answered ? *reached_ - answered : 0;
  }

  [[nodiscard]] std::size_t strangers() const { return strangers_; }
  [[nodiscard]] std::optional<std::size_t> reached() const { return reached_; }

  /// Somebody who listens by pattern has heard the ping too, and might answer out of turn.
  [[nodiscard]] bool overheard() const { return overheard_; }
  [[nodiscard]] bool legacy_answered() const { return legacies_ > 0; }

  /// Everybody's answers but our own, by id.
  [[nodiscard]] const std::map<std::string, Holder>& answers() const { return answers_; }

  /// A holder, or somebody on the shared ear of that id.
  [[nodiscard]] bool has_answered(const std::string& id) const {
    return answers_.contains(id) || any_of([&](const Holder& answer) { return answer.ear == id; });
  }

  [[nodiscard]] bool any_of(auto predicate) const {
    return std::ranges::any_of(answers_, [&](const auto& entry) { return predicate(entry.second); });
  }

  /// Ids that answered, our own among them, and of the shared ears by which they did; sorted.
  [[nodiscard]] std::vector<std::string> answered() const {
    std::set<std::string> ids;
    for (const auto& [id, answer] : answers_) {
      ids.insert(id);
      if (!answer.ear.empty()) ids.insert(answer.ear);
    }
    if (echoed_) ids.insert(self_);
    return {ids.begin(), ids.end()};
  }

  /// All of it, in a canonical form.
  [[nodiscard]] std::string state_key() const {
    std::string key = "|" + std::to_string(reached_ ? static_cast<long>(*reached_) : -1L) + '.' +
                      std::to_string(strangers_) + (echoed_ ? 'e' : '-') + (forged_ ? 'f' : '-') +
                      (overheard_ ? 'o' : '-');
    for (const auto& [id, answer] : answers_) {
      key += id;
      key += name_of(answer.mode);
      key += answer.elected.value_or(false) ? 'E' : '-';
      key += answer.leaving ? 'L' : '-';
      key += answer.next ? 'N' : '-';
      key += answer.held_for ? 'H' : '-';
      key += answer.ear;
    }
    return key;
  }

  friend bool operator==(const Census&, const Census&) = default;

 private:
  std::string self_;
  bool joined_ = false;  // an outsider asks without being counted
  bool echoed_ = false;
  bool forged_ = false;
  bool overheard_ = false;
  std::optional<std::size_t> reached_;
  std::size_t strangers_ = 0;
  std::size_t legacies_ = 0;
  std::map<std::string, Holder> answers_;
};

}  // namespace sublock::core
