// SPDX-License-Identifier: MIT

// The command as a child: which signals reach it, what it inherits, how it ends when its wrapper or the lock is
// gone. A command here says READY once it can be tried.

#include <command/command.hpp>

#include <regex>

namespace support {
namespace {

class ChildCommand : public Command {
 protected:
  /// A shell that says its process id and READY, and then waits for signals.
  static Words shell(const std::string& traps) {
    return {"sh", "-c", traps + "; echo $$; echo READY; while read line; do :; done"};
  }
  static Words with(Words options, const Words& command) {
    options.emplace_back("c");
    options.insert(options.end(), command.begin(), command.end());
    return options;
  }
};

TEST_F(ChildCommand, GetsTheSignalsThatItsWrapperGets) {
  const std::vector<std::pair<std::string, int>> signals = {{"TERM", SIGTERM}, {"INT", SIGINT},
                                                            {"HUP", SIGHUP},   {"QUIT", SIGQUIT},
                                                            {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
  for (const auto& [name, number] : signals) {
    auto command = run(with({}, shell("trap 'echo got " + name + "; exit 7' " + name)));
    command.expect_line("^READY$");
    command.signal(number);
    command.expect_line("^got " + name + "$");
    EXPECT_EQ(command.exit_status(), 7) << command.transcript();
  }
}

TEST_F(ChildCommand, ThatASignalEndsGivesItsNumber) {
  auto command = run(with({}, shell("true")));
  command.expect_line("^READY$");
  command.signal(SIGTERM);
  EXPECT_EQ(command.exit_status(), 128 + SIGTERM) << command.transcript();
  EXPECT_EQ(server.subscribers("c"), 0);
}

TEST_F(ChildCommand, HearsNoHangUpThatItsWrapperWasToldToIgnore) {
  Process command({"sh", "-c",
                   "trap '' HUP; exec '" SUBLOCK_COMMAND "' run --redis " + server.url() +
                       " c sh -c 'echo READY; read line; echo lived'"});
  command.expect_line("^READY$");
  command.signal(SIGHUP);
  command.say("");
  command.expect_line("^lived$");
  EXPECT_EQ(command.exit_status(), 0);
}

// Beside what it would have without us: the wrapper's sockets, and the signals that it blocks.
TEST_F(ChildCommand, InheritsNoDescriptorAndNoSignalMaskOfOurs) {
  const std::string look = "echo /proc/$$/fd/*; grep -E '^Sig(Blk|Ign)' /proc/self/status";
  Process bare({"sh", "-c", look});
  ASSERT_EQ(bare.exit_status(), 0);
  ASSERT_EQ(bare.lines().size(), 3U) << bare.transcript();
  auto command = run({"c", "sh", "-c", look});
  ASSERT_EQ(command.exit_status(), 0);
  const auto without_pid = [](std::string line) {
    return std::regex_replace(line, std::regex("/proc/[0-9]+/"), "");
  };
  for (std::size_t line = 0; line < 3; ++line)
    EXPECT_EQ(without_pid(command.lines().at(line)), without_pid(bare.lines().at(line)));
}

TEST_F(ChildCommand, DiesWithItsWrapper) {
  auto command = run(with({}, shell("true")));
  const auto pid = command.next_line();
  ASSERT_TRUE(pid);
  command.expect_line("^READY$");
  command.signal(SIGKILL);
  EXPECT_EQ(command.exit_status(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_gone(*pid); }));
  EXPECT_TRUE(eventually([&] { return server.subscribers("c") == 0; }));
}

TEST_F(ChildCommand, ThatStandsStillKeepsTheLockAndCanBeEnded) {
  auto command = run(with({}, shell("true")));
  const auto pid = command.next_line();
  ASSERT_TRUE(pid);
  command.expect_line("^READY$");
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(*pid)), SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] { return command.errors().find("stands still") != std::string::npos; }));
  EXPECT_EQ(run({"-n", "c", "true"}).exit_status(), 1);
  command.signal(SIGTSTP);
  EXPECT_TRUE(command.running());
  command.signal(SIGTERM);
  EXPECT_EQ(command.exit_status(), 128 + SIGTERM) << command.transcript();
}

TEST_F(ChildCommand, IsTerminatedWhenTheLockIsLost) {
  auto command = run(with({}, shell("trap 'echo got TERM; exit 0' TERM")));
  command.expect_line("^READY$");
  break_lock();
  command.expect_line("^got TERM$");
  EXPECT_EQ(command.exit_status(), 74) << command.transcript();
  EXPECT_NE(command.errors().find("the lock on channel 'c' was lost"), std::string::npos) << command.errors();
}

TEST_F(ChildCommand, ThatDoesNotHearIsKilledAfterItsGrace) {
  auto command = run(with({"--grace", "0.3"}, shell("trap '' TERM")));
  const auto pid = command.next_line();
  ASSERT_TRUE(pid);
  command.expect_line("^READY$");
  const auto start = TestClock::now();
  break_lock();
  EXPECT_EQ(command.exit_status(), 74) << command.transcript();
  EXPECT_GE(TestClock::now() - start, 300ms);
  EXPECT_TRUE(is_gone(*pid));
}

TEST_F(ChildCommand, IsKilledAtOnceOrOnlyWarnedWhereThatIsAskedFor) {
  auto killed = run(with({"--on-loss", "kill", "--grace", "60"}, shell("trap '' TERM")));
  killed.expect_line("^READY$");
  break_lock();
  EXPECT_EQ(killed.exit_status(), 74) << killed.transcript();

  auto warned = run(with({"--on-loss=warn"}, {"sh", "-c", "echo READY; read line; exit 5"}));
  warned.expect_line("^READY$");
  break_lock();
  ASSERT_TRUE(eventually([&] { return warned.errors().find("was lost") != std::string::npos; }));
  EXPECT_TRUE(warned.running());
  warned.say("");
  EXPECT_EQ(warned.exit_status(), 5) << warned.transcript();
}

TEST_F(ChildCommand, TakesItsChildrenAlongWhereThereIsNoTerminal) {
  auto command = run_without_terminal(
      with({}, {"sh", "-c", "exec 3<&0; sh -c 'trap \"\" TERM; echo $$; echo READY; read line <&3' & wait"}));
  const auto grandchild = command.next_line();
  ASSERT_TRUE(grandchild);
  command.expect_line("^READY$");
  break_lock();
  EXPECT_EQ(command.exit_status(), 74) << command.transcript();
  EXPECT_TRUE(eventually([&] { return is_gone(*grandchild); }));
}

TEST_F(ChildCommand, WithoutOneALossEndsTheHold) {
  auto holder = run({"--on-loss=warn", "c"});
  holder.expect_line("^held ");
  break_lock();
  EXPECT_EQ(holder.exit_status(), 74) << holder.transcript();
}

}  // namespace
}  // namespace support
