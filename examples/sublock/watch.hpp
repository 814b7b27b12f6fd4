// SPDX-License-Identifier: MIT
#pragma once

// `sublock watch`: who has a lock and who waits for it, as it goes on; a page in a terminal, a line for each event
// elsewhere. Looks, and has it printed; takes no lock.

#include "chronicle.hpp"
#include "look.hpp"
#include "people.hpp"
#include "screen.hpp"
#include "server.hpp"
#include "status.hpp"
#include "words.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace command {

inline constexpr const char* watch_usage = "Usage: sublock watch [OPTIONS] CHANNEL";

inline constexpr const char* watch_footer =
    "Each look is a message to everybody who has the lock or waits for it, and an answer from each;\n"
    "what comes and goes between two looks is not seen.\n"
    "\n"
    "Events: holds, got, released, lost, waiting, gave-up, gone, silent, answers, unreachable, back.\n"
    "\n"
    "Exit status:\n"
    "  0    ended by q, Ctrl-C or a signal, in a terminal; elsewhere, nobody reads any more\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached at the start; later on, that is an event\n"
    "  71   the system lacks something, such as memory\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials, or a permission is missing";

/// "2026-12-01T02:41:24.123Z", of a moment by the clock that never jumps.
[[nodiscard]] inline std::string wall_time(Instant at) {
  using namespace std::chrono;
  const auto wall = system_clock::now() + duration_cast<system_clock::duration>(at - steady_clock::now());
  const auto since_1970 = floor<milliseconds>(wall.time_since_epoch());
  const std::time_t whole = floor<seconds>(since_1970).count();
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%FT%T.") << std::setw(3) << std::setfill('0')
       << (since_1970 % seconds(1)).count() << 'Z';
  return text.str();
}

[[nodiscard]] inline nlohmann::json json_of(const Entry& entry, const std::string& channel) {
  nlohmann::json json{{"time", wall_time(entry.at)}, {"event", entry.event}, {"channel", channel}};
  if (entry.who) {
    json["mode"] = wish(*entry.who);
    name_in(json, *entry.who);
  }
  const auto put = [&json](const char* key, const std::optional<Milliseconds>& span) {
    if (span) json[key] = span->count();
  };
  put("waited_ms", entry.waited);
  put("held_ms", entry.held);
  put("hand_over_ms_at_most", entry.hand_over);
  put("away_ms", entry.away);
  if (entry.event == "silent" || entry.event == "answers") json["silent"] = entry.silent;
  if (!entry.why.empty()) json["why"] = entry.why;
  return json;
}

[[nodiscard]] inline std::string line_of(const Entry& entry) {
  std::ostringstream line;
  line << wall_time(entry.at) << ' ' << std::left << std::setw(11) << entry.event;
  if (entry.who) {
    line << ' ' << std::setw(9) << wish(*entry.who);
    for (const std::string& word : name_of_one(*entry.who)) line << "  " << word;
  }
  const char* separator = "  (";
  const auto put = [&](const char* what, const std::optional<Milliseconds>& span) {
    if (span) line << std::exchange(separator, ", ") << what << ' ' << short_span(*span);
  };
  put("waited", entry.waited);
  put("held", entry.held);
  put("hand-over at most", entry.hand_over);
  put("after", entry.away);
  if (separator[0] == ',') line << ')';
  if (entry.event == "silent") line << "  " << entry.silent << " on the channel did not answer in time";
  if (!entry.why.empty()) line << "  " << entry.why;
  return line.str();
}

/// One watch, from the first look to the last.
class Watch {
 public:
  Watch(const sublock::ConnectionOptions& options, const std::string& channel, Milliseconds interval)
      : lookout_(options, channel), interval_(interval) {}

  /// A line for each event, until nobody reads any more.
  void tell(bool as_json) {
    for (;;) {
      const Instant next = std::chrono::steady_clock::now() + interval_;
      for (const Entry& entry : look()) {
        std::cout << (as_json ? command::line_of(json_of(entry, lookout_.channel()))
                              : command::line_of(entry))
                  << std::endl;
      }
      const auto left = std::chrono::ceil<Milliseconds>(next - std::chrono::steady_clock::now()).count();
      pollfd reader{STDOUT_FILENO, 0, 0};
      if (::poll(&reader, 1, static_cast<int>(std::max<long long>(left, 0))) > 0) return;
    }
  }

  /// A page, until somebody wants to leave.
  void show() {
    static_cast<void>(look());  // what can't be had at all is said on the page that there was before
    Screen screen;
    for (;;) {
      const Instant next = std::chrono::steady_clock::now() + interval_;
      screen.draw(page(),
                  "q ends. A look each " + short_span(interval_) + " costs a message to everybody above.");
      if (screen.wait_until(next)) return;
      static_cast<void>(look());
    }
  }

 private:
  std::vector<Entry> look() {
    const Instant asked = std::chrono::steady_clock::now();
    try {
      Sight sight = lookout_.look();
      const Instant answered = std::chrono::steady_clock::now();
      sight_ = std::move(sight);
      trouble_.clear();
      return chronicle_.take(sight_.value(), asked, answered);
    } catch (const sublock::LockError& error) {
      const bool may_pass = error.kind() == sublock::Errc::connect || error.kind() == sublock::Errc::busy;
      if (!sight_ || !may_pass) throw;
      trouble_ = error.what();
      return chronicle_.lose_sight(error.what(), std::chrono::steady_clock::now());
    }
  }

  [[nodiscard]] Words page() const {
    const std::string name = "'" + sublock::core::printable(lookout_.channel()) + "'";
    Words lines{name + " on " + lookout_.server() + ", " + wall_time(std::chrono::steady_clock::now())};
    const auto& people = sight_->people;
    const auto holding = std::ranges::count_if(people, is_holding);
    const auto waiting = std::ranges::count(people, "waiting", doing);
    std::string sum = std::to_string(holding) + " holding, " + std::to_string(waiting) + " waiting";
    if (const auto span = chronicle_.last_hand_over())
      sum += ", the last hand-over took " + short_span(*span) + " at most";
    lines.push_back(std::move(sum));
    if (!trouble_.empty()) lines.push_back("NO ANSWER: " + trouble_ + "; what follows was so before");
    if (sight_->silent > 0)
      lines.push_back("SILENT: " + std::to_string(sight_->silent) + " on the channel did not answer in time");
    if (!sight_->blind.empty()) lines.push_back("those who wait can't be seen: " + sight_->blind);
    lines.emplace_back();
    for (std::string& line : table_of(people)) lines.push_back(std::move(line));
    return lines;
  }

  Lookout lookout_;
  const Milliseconds interval_;
  Chronicle chronicle_;
  std::optional<Sight> sight_;
  std::string trouble_;
};

/// The verb.
inline int watch(const Words& words) {
  CLI::App app("Shows who has the lock CHANNEL and who waits for it, as it goes on.", "sublock watch");
  app.footer(watch_footer);
  Server server;
  std::string channel;
  bool as_json = false;
  double interval = 1;
  app.add_option("CHANNEL", channel, "the lock's name")->required();
  app.add_flag("--json", as_json, "one object on a line for each event, in a terminal too");
  app.add_option("-i,--interval", interval, "from one look to the next, 0.05 at least; the default is 1")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.05, 86'400.0).description(""));
  server.add_to(app);
  if (const auto status = parse(app, watch_usage, words)) return *status;

  const auto span = std::chrono::ceil<Milliseconds>(std::chrono::duration<double>(interval));
  Watch view(server.connection(), channel, span);
  as_json || !Screen::is_there() ? view.tell(as_json) : view.show();
  return done;
}

}  // namespace command
