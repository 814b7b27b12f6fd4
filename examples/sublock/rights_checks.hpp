// SPDX-License-Identifier: MIT
#pragma once

// May this user do what a lock does? Each command is queued in a transaction that is never carried out: a server
// refuses there already what a user may not do, whatever its version and whoever asks.

#include "facts.hpp"
#include "finding.hpp"

#include <sublock/redis_lock.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace command {

/// A command that a lock uses, and what becomes of a lock without it.
struct Right {
  Words words;
  std::string grant;  ///< as ACL SETUSER has it
  Level without = Level::problem;
  std::string use = {};
  bool grant_is_key = false;  ///< what it is about is a key, no channel

  /// Can be carried out without anybody's noticing.
  [[nodiscard]] bool is_harmless() const {
    return !grant_is_key && words[0] != "SUBSCRIBE" && words[0] != "PUBLISH";
  }
};

/// `known` is false where no lock was named: then a channel that is refused says nothing.
class RightsCheck {
 public:
  RightsCheck(const sublock::ConnectionOptions& options, std::string channel, bool known)
      : options_(options), channel_(std::move(channel)), known_(known) {}

  void operator()(Findings& findings) {
    findings.add(check("rights", rights_of_lock()));
    findings.add(check("getlock rights", rights_of_getlock()));
  }

 private:
  /// What has been found to be missing.
  struct Gaps {
    Level worst = Level::ok;
    std::vector<std::string> names;
    std::set<std::string> grants;
    std::string unclear;

    void add(Level level, const std::string& name, const std::string& grant) {
      worst = std::max(worst, level);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      grants.insert(grant);
    }
  };

  [[nodiscard]] std::vector<Right> rights_of_lock() const {
    return {{{"PING"}, "+ping"},
            {{"CLIENT", "SETNAME", "sublock"}, "+client|setname"},
            {{"SUBSCRIBE", channel_}, "+subscribe"},
            {{"SUBSCRIBE", answers()}, "+subscribe"},
            {{"UNSUBSCRIBE", channel_}, "+unsubscribe"},
            {{"PUBLISH", channel_, ""}, "+publish"},
            {{"PUBLISH", answers(), ""}, "+publish"},
            {{"PUBSUB", "NUMSUB", channel_}, "+pubsub|numsub"},
            {{"CLIENT", "LIST", "TYPE", "pubsub"}, "+client|list", Level::warning, silent_holder},
            {{"CLIENT", "KILL", "ID", "0"}, "+client|kill", Level::warning, silent_holder},
            {{"INCR", sublock::core::fence_key(channel_)}, "+incr", Level::note, "for fencing tokens", true},
            {{"PUBSUB", "CHANNELS", channel_ + "-*"},
             "+pubsub|channels",
             Level::note,
             "for who and watch to see who waits"}};
  }

  [[nodiscard]] std::vector<Right> rights_of_getlock() const {
    std::vector<Right> rights = {{{"SET", channel_, "", "NX"}, "+set"},
                                 {{"EVAL", "return 0", "1", channel_}, "+eval"},
                                 {{"GETRANGE", channel_, "0", "1"}, "+getrange"},
                                 {{"DEL", channel_}, "+del"},
                                 {{"TYPE", channel_}, "+type"},
                                 {{"PTTL", channel_}, "+pttl"}};
    for (Right& right : rights) right.without = Level::note;
    for (Right& right : rights) right.grant_is_key = true;
    return rights;
  }

  [[nodiscard]] Finding check(std::string_view name, const std::vector<Right>& rights) const {
    Gaps gaps;
    if (name == "rights") try_what_is_not_queued(gaps);
    Talk trial(options_);  // its end discards what is queued
    const bool queues = !is_error(*trial.ask({"MULTI"}));
    for (const Right& right : rights) {
      if (!queues && !right.is_harmless()) {
        gaps.unclear = "all of it, without MULTI";
        continue;
      }
      const Reply reply = ask(trial, right.words);
      if (is_error(*reply)) note(right, std::string(text_of(*reply)), gaps);
    }
    const std::string who = "user " + trial.user();
    const std::string whose = name == "rights" ? "a lock" : "RedisGetlock";
    if (gaps.names.empty() && !gaps.unclear.empty()) return could_not_see(name, gaps.unclear);
    if (gaps.names.empty()) return {Level::ok, name, who + " may do all that " + whose + " does"};
    std::string text = who + " lacks, of what " + whose + " uses";
    for (const std::string& gap : gaps.names) text += (&gap == &gaps.names.front() ? ": " : ", ") + gap;
    if (!gaps.unclear.empty()) text += "; could not see " + gaps.unclear;
    std::string remedy = "ACL SETUSER " + trial.user();
    for (const std::string& grant : gaps.grants) remedy += ' ' + grant;
    return {gaps.worst, name, text, remedy};
  }

  /// An empty transaction, and a word of greeting, do nothing either.
  void try_what_is_not_queued(Gaps& gaps) const {
    Talk trial(options_);
    const auto refused = [](const Reply& reply) {
      return is_error(*reply) && text_of(*reply).starts_with("NOPERM");
    };
    if (refused(trial.ask({"HELLO", "2"}))) gaps.add(Level::note, "HELLO (to know a replica)", "+hello");
    const std::string use = " (without transactions each lock takes more round trips)";
    if (refused(trial.ask({"MULTI"}))) return gaps.add(Level::warning, "MULTI" + use, "+multi +exec");
    if (refused(trial.ask({"EXEC"}))) gaps.add(Level::warning, "EXEC" + use, "+exec");
  }

  void note(const Right& right, const std::string& error, Gaps& gaps) const {
    const bool is_command =
        sublock::hiredis::is_unknown_command(error) || error.find("to run the") != error.npos;
    if (!is_command && !error.starts_with("NOPERM")) {
      gaps.unclear = name_of(right, false) + ": " + error;
    } else if (!is_command && !known_) {
      gaps.unclear = "which channels and keys it may use; name a CHANNEL";
    } else {
      gaps.add(right.without, name_of(right, !is_command), is_command ? right.grant : grant_of(right));
    }
  }

  static Reply ask(Talk& talk, const Words& words) {
    switch (words.size()) {
      case 1: return talk.ask({words[0]});
      case 2: return talk.ask({words[0], words[1]});
      case 3: return talk.ask({words[0], words[1], words[2]});
      default: return talk.ask({words[0], words[1], words[2], words[3]});
    }
  }

  /// "CLIENT KILL (against a holder that is frozen)", "PUBLISH c-*"
  [[nodiscard]] std::string name_of(const Right& right, bool with_object) const {
    const bool has_subcommand = right.words[0] == "CLIENT" || right.words[0] == "PUBSUB";
    std::string text = has_subcommand ? right.words[0] + ' ' + right.words[1] : right.words[0];
    if (with_object) text += ' ' + sublock::core::printable(object_of(right));
    return right.use.empty() ? text : text + " (" + right.use + ')';
  }

  /// The channel or key that a command is about, as a rule would name it.
  [[nodiscard]] std::string object_of(const Right& right) const {
    for (const std::string& word : right.words) {
      if (word == answers()) return channel_ + "-*";
      if (word.starts_with(channel_)) return word;
    }
    return channel_;
  }

  [[nodiscard]] std::string grant_of(const Right& right) const {
    const bool is_key = right.grant_is_key;
    return std::string("'") + (is_key ? '~' : '&') + object_of(right) + "'";
  }

  [[nodiscard]] std::string answers() const {
    return channel_ + "-" + std::string(sublock::core::own_id_digits, '0');
  }

  static constexpr const char* silent_holder = "against a holder that is frozen";

  const sublock::ConnectionOptions options_;
  const std::string channel_;
  const bool known_;
};

}  // namespace command
