// SPDX-License-Identifier: MIT

// `sublock run` while all goes well: who gets the lock, what the command is told, and every exit status but that
// of a loss.

#include <command/command.hpp>
#include <support/fault_proxy.hpp>

#include <unistd.h>

#include <memory>
#include <regex>

namespace support {
namespace {

class RunCommand : public Command {};

TEST_F(RunCommand, ReturnsWhatTheCommandReturns) {
  EXPECT_EQ(run({"c", "true"}).exit_status(), 0);
  EXPECT_EQ(run({"c", "sh", "-c", "exit 42"}).exit_status(), 42);
  EXPECT_EQ(run({"c", "--", "sh", "-c", "exit 43"}).exit_status(), 43);
  EXPECT_EQ(run({"-c", "exit 44", "c"}).exit_status(), 44);
  EXPECT_EQ(run({"c", "-c", "exit 45"}).exit_status(), 45);
  EXPECT_EQ(run({"c", "sh", "-c", "kill -9 $$"}).exit_status(), 128 + SIGKILL);
}

TEST_F(RunCommand, IsQuiet) {
  auto quiet = run({"c", "true"});
  EXPECT_EQ(quiet.exit_status(), 0);
  EXPECT_TRUE(quiet.lines().empty()) << quiet.transcript();
  EXPECT_EQ(quiet.errors(), "");
  auto loud = run({"--verbose", "c", "true"});
  EXPECT_EQ(loud.exit_status(), 0);
  EXPECT_NE(loud.errors().find("got exclusive 'c' after "), std::string::npos) << loud.transcript();
  EXPECT_NE(loud.errors().find("gave exclusive 'c' back after "), std::string::npos) << loud.transcript();
}

TEST_F(RunCommand, LeavesTheCommandsWordsInputAndOutputAlone) {
  auto cat = run({"-n", "c", "sh", "-c", "cat; printf '%s\\n' \"$@\"", "sh", "-n", "--", "--shared", "a b"});
  cat.say("from stdin");
  EXPECT_EQ(cat.next_line(), "from stdin");
  EXPECT_TRUE(cat.running());
}

TEST_F(RunCommand, SaysWhatTheCommandCannotBe) {
  EXPECT_EQ(run({"c", "no-such-command-anywhere"}).exit_status(), 127);
  auto folder = run({"c", "/"});
  EXPECT_EQ(folder.exit_status(), 126);
  EXPECT_NE(folder.errors().find("can't run /: Permission denied"), std::string::npos) << folder.errors();
  EXPECT_EQ(server.subscribers("c"), 0);
}

TEST_F(RunCommand, RefusesWordsThatMakeNoSense) {
  const std::vector<Words> senseless = {{},
                                        {"--bogus", "c", "true"},
                                        {"c", "-n", "true"},
                                        {"-s", "-x", "c"},
                                        {"-n", "-w", "1", "c"},
                                        {"-w", "-1", "c"},
                                        {"-w", "soon", "c"},
                                        {"-w", "nan", "c"},
                                        {"-E", "256", "c"},
                                        {"-E", "-1", "c"},
                                        {"--grace", "-1", "c"},
                                        {"--on-loss", "cry", "c"},
                                        {"-c", "true", "c", "true"},
                                        {"c", "-c", "true", "true"},
                                        {"-s", "--fencing", "c", "true"},
                                        {"", "true"}};
  for (const Words& words : senseless) {
    auto refused = run(words);
    EXPECT_EQ(refused.exit_status(), 64) << refused.transcript();
    EXPECT_NE(refused.errors(), "") << refused.transcript();
  }
  auto exec = run({"-F", "c", "true"});
  EXPECT_EQ(exec.exit_status(), 64);
  EXPECT_NE(exec.errors().find("after exec nobody would answer for the lock"), std::string::npos)
      << exec.errors();
}

TEST_F(RunCommand, WaitsFailsOrGivesUp) {
  auto holder = run({"--label", "the other", "c"});
  holder.expect_line("^held ");
  auto once = run({"-n", "c", "true"});
  EXPECT_EQ(once.exit_status(), 1);
  EXPECT_NE(once.errors().find("label \"the other\""), std::string::npos) << once.errors();
  EXPECT_EQ(run({"-w", "0", "c", "true"}).exit_status(), 1);
  EXPECT_EQ(run({"-E", "9", "--timeout", "1.2", "c", "true"}).exit_status(), 9);
  auto quiet = run({"-q", "-n", "-E", "0", "c", "false"});
  EXPECT_EQ(quiet.exit_status(), 0);
  EXPECT_EQ(quiet.errors(), "");
  auto waiter = run({"c", "echo", "mine"});
  ASSERT_TRUE(eventually([&] { return server.command({"PUBSUB", "CHANNELS", "c-*"}) != ""; }));
  EXPECT_TRUE(waiter.running());
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
  waiter.expect_line("^mine$");
  EXPECT_EQ(waiter.exit_status(), 0);
}

// A machine, or a network, that is too slow for a connection and a look within the time of one try.
TEST_F(RunCommand, OneTryIsForTheLockAndNotForTheWayToTheServer) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  FaultProxy far(server.port());
  far.delay(FaultProxy::to_client, 700ms);
  auto once = sublock_with({"REDIS_URL=" + far.url()}, {"run", "-n", "c", "true"});
  EXPECT_EQ(once.exit_status(), 1) << once.transcript();
}

TEST_F(RunCommand, ReadersShareAndKeepWritersOut) {
  auto reader = run({"-s", "c"});
  reader.expect_line("^held ");
  EXPECT_EQ(run({"--shared", "-n", "c", "true"}).exit_status(), 0);
  EXPECT_EQ(run({"-n", "c", "true"}).exit_status(), 1);
}

TEST_F(RunCommand, ExcludesOthersForAsLongAsTheCommandRuns) {
  const std::string folder = ::testing::TempDir() + "sublock-" + std::to_string(::getpid());
  const std::string body = "mkdir '" + folder + "' && rmdir '" + folder + "'";
  std::vector<std::unique_ptr<Process>> runs;
  for (int contender = 0; contender < 4; ++contender) {
    const std::string loop = "for i in 1 2 3 4 5; do '" SUBLOCK_COMMAND "' run --redis " + server.url() +
                             " c -c \"" + body + "\" || exit 1; done";
    runs.push_back(std::make_unique<Process>(Words{"sh", "-c", loop}));
  }
  for (const auto& one : runs) EXPECT_EQ(one->exit_status(20s), 0) << one->transcript();
}

TEST_F(RunCommand, TellsTheCommandWhatItHolds) {
  const Words told = {"sh", "-c",
                      "echo $SUBLOCK_CHANNEL $SUBLOCK_MODE $SUBLOCK_HOLDER_ID ${SUBLOCK_TOKEN-none}"};
  const auto ask = [&](Words words, const Words& variables) {
    Words all = {"run", "--redis", server.url()};
    all.insert(all.end(), words.begin(), words.end());
    all.push_back("c");
    all.insert(all.end(), told.begin(), told.end());
    return sublock_with(variables, all).expect_line("");
  };
  EXPECT_TRUE(std::regex_match(ask({}, {"SUBLOCK_TOKEN=inherited", "SUBLOCK_MODE=inherited"}),
                               std::regex("c exclusive [0-9a-f]{32} none")));
  EXPECT_TRUE(std::regex_match(ask({"-s"}, {}), std::regex("c shared [0-9a-f]{32} none")));
  EXPECT_TRUE(std::regex_match(ask({"--fencing"}, {}), std::regex("c exclusive [0-9a-f]{32} 1")));
  EXPECT_TRUE(std::regex_match(ask({"--fencing"}, {}), std::regex("c exclusive [0-9a-f]{32} 2")));
}

TEST_F(RunCommand, WithoutACommandItHoldsUntilASignal) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    auto holder = run({"--fencing", "c"});
    holder.expect_line("^held exclusive 'c' by [0-9a-f]{32} token [0-9]+$");
    EXPECT_EQ(server.subscribers("c"), 1);
    holder.signal(SIGUSR1);
    holder.signal(number);
    EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
    EXPECT_EQ(server.subscribers("c"), 0);
  }
}

TEST_F(RunCommand, SaysThatThereIsNoServer) {
  server.stop();
  auto lonely = run({"-w", "1.2", "c", "true"});
  EXPECT_EQ(lonely.exit_status(), 69) << lonely.transcript();
  EXPECT_NE(lonely.errors().find(std::to_string(server.port())), std::string::npos) << lonely.errors();
}

// Whatever comes while it waits does what it always does, and leaves nothing behind.
TEST_F(RunCommand, ASignalEndsTheWait) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto waiter = run({"c", "true"});
  ASSERT_TRUE(eventually([&] { return server.command({"PUBSUB", "CHANNELS", "c-*"}) != ""; }));
  waiter.signal(SIGTERM);
  EXPECT_EQ(waiter.exit_status(), 128 + SIGTERM);
  EXPECT_TRUE(eventually([&] { return server.subscribers("c") == 1; }));
}

}  // namespace
}  // namespace support
