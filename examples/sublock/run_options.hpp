// SPDX-License-Identifier: MIT
#pragma once

// The words of `sublock run`, which are flock's where flock has one. Reads them; does nothing.

#include "server.hpp"
#include "words.hpp"

#include <sublock/redis_lock.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace command {

/// What to do to the command when its lock is lost.
enum class OnLoss { term, kill, warn };

struct RunOptions {
  Server server;
  std::string channel;
  Words command;  ///< empty: hold until a signal
  sublock::LockMode mode = sublock::LockMode::exclusive;
  sublock::Duration timeout = sublock::infinite;
  sublock::Duration grace{};
  OnLoss on_loss = OnLoss::term;
  int conflict_status = conflict;
  std::string label;
  bool fencing = false;
  bool quiet = false;
  bool verbose = false;

  /// Says what is wrong, or what was asked for, and gives no options then but a status.
  [[nodiscard]] static std::optional<Status> read(const Words& words, RunOptions& options);

 private:
  void take_rest(Words rest, const std::optional<std::string>& line, bool labelled);
};

inline constexpr const char* run_usage =
    "Usage: sublock run [OPTIONS] CHANNEL [--] COMMAND [ARGUMENTS]\n"
    "       sublock run [OPTIONS] CHANNEL -c STRING\n"
    "       sublock run [OPTIONS] CHANNEL           hold it until a signal";

inline constexpr const char* run_footer =
    "Exit status: that of the command, 128 plus the signal that ended it, or\n"
    "  0    held until a signal, where there is no command\n"
    "  1    somebody else has the lock, and the time to wait is over (see -E)\n"
    "  64   the words make no sense\n"
    "  69   Redis can't be reached\n"
    "  71   the system lacks something, such as processes\n"
    "  74   the lock was lost while the command ran\n"
    "  76   what answered is no Redis\n"
    "  77   Redis refused the credentials, or a permission is missing\n"
    "  126  the command can't be run\n"
    "  127  there is no such command\n"
    "\n"
    "The command finds SUBLOCK_CHANNEL, SUBLOCK_MODE, SUBLOCK_HOLDER_ID and, with --fencing,\n"
    "SUBLOCK_TOKEN in its environment. Everything else is in sublock(1).";

inline std::optional<Status> RunOptions::read(const Words& words, RunOptions& options) {
  using std::string;
  CLI::App app("Runs a command while holding the lock CHANNEL, as flock(1) does with a file.", "sublock run");
  app.footer(run_footer);
  app.prefix_command();

  bool is_shared = false;
  bool is_exclusive = false;
  bool is_once = false;
  bool is_closed = false;
  double wait = 0;
  double grace = 5;
  string line;
  const auto seconds = CLI::Range(0.0, 1e9).description("");
  auto* const shared = app.add_flag("-s,--shared", is_shared, "with other readers");
  app.add_flag("-x,-e,--exclusive", is_exclusive, "alone, which is the default")->excludes(shared);
  auto* const once = app.add_flag("-n,--nb,--nonblock", is_once, "fail rather than wait");
  auto* const waits = app.add_option("-w,--wait,--timeout", wait, "wait so long at most; 0 is -n")
                          ->type_name("SECONDS")
                          ->check(seconds)
                          ->excludes(once);
  app.add_option("-E,--conflict-exit-code", options.conflict_status,
                 "the exit status instead of 1, where the lock is busy")
      ->type_name("N")
      ->check(CLI::Range(0, 255).description(""));
  auto* const shell =
      app.add_option("-c,--command", line, "run STRING by $SHELL, or /bin/sh")->type_name("STRING");
  app.add_flag("-o,--close", is_closed, "does nothing: the command never inherits the lock");
  app.add_flag_function(
      "-F,--no-fork",
      [](std::int64_t) {
        throw CLI::ValidationError(
            "--no-fork",
            "can't work: after exec nobody would answer for the lock, and it would be taken away");
      },
      "refused: after exec nobody would answer for the lock");
  app.add_option("--grace", grace, "from TERM to KILL, when the lock is lost; the default is 5")
      ->type_name("SECONDS")
      ->check(seconds);
  static const std::map<string, OnLoss> ways{
      {"term", OnLoss::term}, {"kill", OnLoss::kill}, {"warn", OnLoss::warn}};
  string on_loss = "term";
  app.add_option("--on-loss", on_loss, "when the lock is lost: TERM and then KILL, or KILL, or only a word")
      ->type_name("term|kill|warn")
      ->check(CLI::IsMember({"term", "kill", "warn"}).description(""));
  auto* const label =
      app.add_option("--label", options.label, "told to those who wait; the command's name by default")
          ->type_name("TEXT");
  app.add_flag("--fencing", options.fencing, "draw a fencing token");
  app.add_flag("-q,--quiet", options.quiet, "don't say who has the lock where it is busy");
  app.add_flag("--verbose", options.verbose, "say how long getting the lock took, and giving it back");
  options.server.add_to(app);

  if (const auto status = parse(app, run_usage, words)) return status;
  if (is_shared) options.mode = sublock::LockMode::shared;
  if (*waits) options.timeout = sublock::saturated(std::chrono::duration<double>(wait));
  if (is_once) options.timeout = sublock::Duration::zero();
  options.grace = sublock::saturated(std::chrono::duration<double>(grace));
  options.on_loss = ways.at(on_loss);
  options.take_rest(app.remaining(), *shell ? std::optional(line) : std::nullopt, bool(*label));
  return std::nullopt;
}

/// The channel and the command: everything from the first word that is no option.
inline void RunOptions::take_rest(Words rest, const std::optional<std::string>& line, bool labelled) {
  const auto drop_mark = [&rest] {
    const bool marked = !rest.empty() && rest.front() == "--";
    if (marked) rest.erase(rest.begin());
    return marked;
  };
  const auto is_option = [&rest] {
    return !rest.empty() && rest.front().size() > 1 && rest.front()[0] == '-';
  };
  if (!drop_mark() && is_option())
    throw UsageError("there is no option " + rest.front() + "; see sublock run --help");
  if (rest.empty()) throw UsageError("run needs the CHANNEL of a lock; see sublock run --help");
  channel = rest.front();
  rest.erase(rest.begin());

  const auto by_shell = [this](const std::string& text) {
    const char* const chosen = std::getenv("SHELL");
    command = {chosen != nullptr && *chosen != '\0' ? chosen : "/bin/sh", "-c", text};
  };
  if (line) {
    if (!rest.empty()) throw UsageError("a command and -c at once; see sublock run --help");
    by_shell(*line);
  } else if (rest.size() > 1 && (rest[0] == "-c" || rest[0] == "--command")) {
    if (rest.size() > 2) throw UsageError("-c takes one STRING; put it into quotes");
    by_shell(rest[1]);
  } else {
    if (!drop_mark() && is_option())
      throw UsageError("options stand before the channel: " + rest.front() +
                       " comes after it; a command of that name needs -- before it");
    command = std::move(rest);
  }
  if (!labelled && !command.empty()) label = command[0].substr(command[0].rfind('/') + 1);
}

}  // namespace command
