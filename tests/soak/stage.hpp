// SPDX-License-Identifier: MIT
#pragma once

// Where a soak takes place: the server, eight drivers in a loop, and the hand that does to them what a plan
// says. It keeps what was done and what they said; whether that was right is for others to judge.

#include <soak/history.hpp>
#include <soak/judge.hpp>
#include <soak/plan.hpp>
#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace soak {

using support::LiveRedis;
using support::Process;

inline double now() {
  return std::chrono::duration<double>(support::TestClock::now().time_since_epoch()).count();
}

/// The server, the processes, and what is done to them.
class Stage {
 public:
  static constexpr unsigned count = 8;

  /// Four writers of which two draw tokens, one that takes its time, and three readers.
  static std::vector<std::string> words_for(unsigned who) {
    std::vector<std::string> words = {"loop", "leaving", "wait=60", "C=0.1", "id=" + id_of(who)};
    const auto add = [&](const char* word) { words.emplace_back(word); };
    if (!exclusive(who)) add("shared"), add("hold=0.03");
    if (exclusive(who)) add(who == 4 ? "hold=0.05" : "hold=0.01");
    if (who == 2 || who == 3) add("fencing");
    return words;
  }
  static bool exclusive(unsigned who) { return who < 5; }
  static std::string id_of(unsigned who) { return std::string(32, "0123456789abcdef"[2 * who]); }

  void start() {
    for (unsigned who = 0; who < count; ++who)
      processes_.emplace_back(new Process(support::drive(server_, "soak", words_for(who))));
    ASSERT_TRUE(everybody_has_a_turn_after(now()));
  }

  /// Everything that is planned, and whatever follows from it, at its time.
  void play(const std::vector<Fault>& faults) {
    const double start = now();
    for (const Fault& fault : faults) {
      due_.emplace(start + fault.at, [this, fault] { inflict(fault); });
    }
    while (!due_.empty()) {
      const auto next = due_.begin();
      const double left = next->first - now();
      static_cast<void>(support::throughout(
          std::chrono::duration_cast<support::TestClock::duration>(std::chrono::duration<double>(left)),
          [&] { return listen(); }));
      const auto act = next->second;
      due_.erase(next);
      act();
    }
  }

  [[nodiscard]] bool everybody_has_a_turn_after(double when) {
    return support::eventually(
        [&] {
          return std::ranges::all_of(processes_, [&](const auto& process) {
            const auto& lines = process->lines();
            return std::any_of(lines.rbegin(), lines.rend(), [&](const std::string& line) {
              return support::stamp_of(line) > when && line.find(" GOT") != std::string::npos;
            });
          });
        },
        std::chrono::seconds(60));
  }

  /// Ends them, and returns what has happened.
  History finish() {
    for (const auto& process : processes_) process->signal(SIGTERM);
    for (unsigned who = 0; who < count; ++who) {
      Process& process = *processes_[who];
      EXPECT_EQ(process.exit_status(std::chrono::seconds(20)), 0) << process.errors();
      history_.tales.push_back(read(who, exclusive(who), process.lines()));
      note_reaped(process.errors());
      for (const std::string& line : process.lines()) note(line, std::to_string(who) + ' ');
    }
    EXPECT_EQ(server_.subscribers("soak"), 0);
    EXPECT_EQ(server_.command({"CLIENT", "LIST"}).find("name=soak"), std::string::npos);
    return std::move(history_);
  }

  /// What was done to them, by kind.
  [[nodiscard]] std::string done() const {
    std::ostringstream text;
    for (const auto& [what, times] : done_) text << what << ' ' << times << ", ";
    return text.str();
  }

  void write_log(const std::string& path) const {
    std::ofstream out(path);
    for (const auto& [stamp, line] : log_) out << line << '\n';
  }

 private:
  void inflict(const Fault& fault) {
    switch (fault.what) {
      case What::freeze: return freeze(fault.whom % count, fault.length);
      case What::freeze_holder: return freeze_holder(fault.whom, fault.length);
      case What::kill_ear: return kill(fault.whom, "pubsub");
      case What::kill_mouth: return kill(fault.whom, "normal");
      case What::crash:
      case What::shut_down: return end_server(fault.what, fault.length);
    }
  }

  void freeze_holder(unsigned which, double length) {
    std::vector<unsigned> holders;
    for (unsigned who = 0; who < count; ++who) {
      const auto& lines = processes_[who]->lines();
      if (!lines.empty() && lines.back().find(" GOT") != std::string::npos) holders.push_back(who);
    }
    if (!holders.empty()) freeze(holders[which % holders.size()], length);
  }

  void freeze(unsigned who, double length) {
    if (!frozen_.insert(who).second) return;
    tell(length < 1 ? "short freezes" : "long freezes", "freezes " + std::to_string(who));
    history_.freezes.push_back({who, now(), 0});
    const std::size_t which = history_.freezes.size() - 1;
    processes_[who]->signal(SIGSTOP);
    due_.emplace(now() + length, [this, who, which] {
      tell("", "thaws " + std::to_string(who));
      history_.freezes[which].to = now();
      processes_[who]->signal(SIGCONT);
      frozen_.erase(who);
    });
  }

  /// One of the connections of that type, if there are any.
  void kill(unsigned which, const std::string& type) {
    if (!server_runs_) return;
    std::vector<std::pair<std::string, std::string>> connections;  // id and name
    std::istringstream list(server_.command({"CLIENT", "LIST", "TYPE", type}));
    for (std::string line; std::getline(list, line);) {
      const bool ours = line.find(" addr=/") != std::string::npos;  // LiveRedis asks by its unix socket
      if (!ours && !line.empty()) connections.emplace_back(field(line, "id="), field(line, " name="));
    }
    if (connections.empty()) return;
    const auto& [id, name] = connections[which % connections.size()];
    const double at = now();
    if (server_.command({"CLIENT", "KILL", "ID", id}) != "1") return;
    tell(type == "pubsub" ? "ears killed" : "mouths killed", "kills " + type + ' ' + id + ' ' + name);
    if (type != "pubsub") return;
    Cause cause{at, now(), {}};
    for (unsigned who = 0; who < count; ++who) {
      if (name == "soak-lock-" + id_of(who)) cause.victim = who;
    }
    history_.causes.push_back(cause);
  }

  void end_server(What how, double length) {
    if (!server_runs_) return;
    tell(how == What::crash ? "crashes" : "shutdowns", "ends the server");
    const double at = now();
    how == What::crash ? server_.crash() : server_.stop();
    history_.causes.push_back({at, now(), {}});
    server_runs_ = false;
    due_.emplace(now() + length, [this] {
      server_.restart();
      server_runs_ = true;
      tell("", "has the server back");
    });
  }

  /// "warning: asked twice and silent twice, so their connections were killed: ID ID".
  void note_reaped(const std::string& warnings) {
    std::istringstream lines(warnings);
    for (std::string line; std::getline(lines, line);) {
      for (unsigned who = 0; who < count; ++who) {
        if (line.find("were killed:") != std::string::npos && line.find(id_of(who)) != std::string::npos)
          ++history_.reaped[who];
      }
    }
  }

  static std::string field(const std::string& line, const std::string& key) {
    const auto at = line.find(key) + key.size();
    return line.substr(at, line.find(' ', at) - at);
  }

  /// Empties their pipes.
  bool listen() {
    for (const auto& process : processes_) process->lines();
    return true;
  }

  void tell(const std::string& kind, const std::string& what) {
    if (!kind.empty()) ++done_[kind];
    std::array<char, 32> stamp{};
    std::snprintf(stamp.data(), stamp.size(), "%.6f", now());
    note(stamp.data() + (" - " + what));
  }
  void note(const std::string& line, const std::string& who = {}) {
    log_.emplace(support::stamp_of(line), who + line);
  }

  // With a log of what was written, tokens outlast the server.
  LiveRedis server_{{"--appendonly", "yes", "--appendfsync", "no"}};
  bool server_runs_ = true;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<unsigned> frozen_;
  std::multimap<double, std::function<void()>> due_;
  std::map<std::string, long> done_;
  std::multimap<double, std::string> log_;
  History history_;
};

}  // namespace soak
