// SPDX-License-Identifier: MIT
#pragma once

// What the tests of the command stand on: a server, and `sublock` on it. SUBLOCK_COMMAND is the program.

#include <gtest/gtest.h>

#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace support {

class Command : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  explicit Command(Words arguments = {}) : server(std::move(arguments)) {}

  /// `sublock VERB --redis … words...` on the test's server.
  Process sublock(const std::string& verb, const Words& words) const { return Process(argv(verb, words)); }
  Process run(const Words& words) const { return sublock("run", words); }
  Process who(const Words& words) const { return sublock("who", words); }

  /// The same in a session of its own, which has no terminal.
  Process run_without_terminal(const Words& words) const {
    Words all = argv("run", words);
    all.insert(all.begin(), "setsid");
    return Process(std::move(all));
  }

  /// The same with variables such as "NAME=value", and without --redis; `env` replaces itself by it.
  static Process sublock_with(const Words& variables, const Words& words) {
    Words all = {"env"};
    all.insert(all.end(), variables.begin(), variables.end());
    all.emplace_back(SUBLOCK_COMMAND);
    all.insert(all.end(), words.begin(), words.end());
    return Process(std::move(all));
  }

  /// Kills the one connection that is the lock.
  void break_lock() { ASSERT_EQ(server.command({"CLIENT", "KILL", "TYPE", "pubsub"}), "1"); }

  /// A process that has ended, or waits for its parent to ask.
  static bool is_gone(const std::string& pid) {
    std::ifstream stat("/proc/" + pid + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos || text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
  }

  LiveRedis server;

 private:
  [[nodiscard]] Words argv(const std::string& verb, const Words& words) const {
    Words all = {SUBLOCK_COMMAND, verb, "--redis", server.url()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
};

}  // namespace support
