// SPDX-License-Identifier: MIT

// `sublock watch` in a pipe: a line for each event. Its page is in terminal_test.cpp.

#include <command/command.hpp>

#include <nlohmann/json.hpp>

namespace support {
namespace {

class WatchCommand : public Command {
 protected:
  Process watch(Words words = {}, const std::string& interval = "0.05") const {
    words.insert(words.end(), {"-i", interval, "c"});
    return sublock("watch", words);
  }
  /// The next event of that name; those before it are passed over.
  static nlohmann::json expect_event(Process& view, const std::string& name) {
    return nlohmann::json::parse(view.expect_line("\"event\":\"" + name + "\""));
  }
};

TEST_F(WatchCommand, TellsWhoGetsItWhoWaitsAndWhoLetsGo) {
  auto first = run({"--label", "first", "c"});
  first.expect_line("^held ");
  auto view = watch({"--json"});
  const auto holds = expect_event(view, "holds");
  EXPECT_EQ(holds.at("label"), "first");
  EXPECT_EQ(holds.at("mode"), "exclusive");
  EXPECT_EQ(holds.at("pid"), first.pid());
  EXPECT_EQ(holds.at("channel"), "c");
  auto second = run({"--label", "second", "c"});
  EXPECT_EQ(expect_event(view, "waiting").at("label"), "second");
  auto reader = run({"--label", "reader", "-s", "c"});
  const auto waits = expect_event(view, "waiting");
  EXPECT_EQ(waits.at("label"), "reader");
  EXPECT_EQ(waits.at("mode"), "shared");
  first.signal(SIGTERM);
  const auto released = expect_event(view, "released");
  EXPECT_EQ(released.at("label"), "first");
  EXPECT_GE(released.at("held_ms"), 0);
  const auto got = expect_event(view, "got");
  EXPECT_EQ(got.at("label"), "second");
  EXPECT_GE(got.at("waited_ms"), 0);
  EXPECT_GE(got.at("hand_over_ms_at_most"), 0);
  EXPECT_LE(released.at("time"), got.at("time"));
  reader.signal(SIGTERM);
  EXPECT_EQ(expect_event(view, "gave-up").at("label"), "reader") << "the second has had it all the while";
}

TEST_F(WatchCommand, CallsNobodyAQuitterWhoMayHaveHadTheLock) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto view = watch({"--json"}, "0.5");
  auto waiter = run({"c", "true"});
  expect_event(view, "waiting");
  holder.signal(SIGTERM);
  EXPECT_EQ(waiter.exit_status(), 0) << "it had the lock for a moment, which a look may meet or miss";
  view.expect_line("\"event\":\"(gone|got|gave-up)\"");
  EXPECT_EQ(view.transcript().find("gave-up"), std::string::npos) << view.transcript();
}

TEST_F(WatchCommand, WritesLinesForPeople) {
  auto holder = run({"--label", "a job", "c"});
  holder.expect_line("^held ");
  auto view = watch();
  view.expect_line("^20[0-9-]+T[0-9:]+[.][0-9]{3}Z holds +exclusive  .*  " + std::to_string(holder.pid()) +
                   "  a job  [0-9a-f]{32}  [(]held [0-9.]+s[)]$");
  holder.signal(SIGTERM);
  view.expect_line("Z released +exclusive  .*  a job  [0-9a-f]{32}  [(]held [0-9.]+s[)]$");
}

TEST_F(WatchCommand, FindsTheServerAgainAndSaysWhatWasLost) {
  auto holder = run({"--on-loss=warn", "c"});
  holder.expect_line("^held ");
  auto view = watch({"--json"});
  expect_event(view, "holds");
  server.stop();
  const auto away = expect_event(view, "unreachable");
  EXPECT_NE(away.at("why").get<std::string>().find(std::to_string(server.port())), std::string::npos);
  server.restart();
  EXPECT_GE(expect_event(view, "back").at("away_ms"), 0);
  EXPECT_EQ(expect_event(view, "lost").at("pid"), holder.pid());
}

TEST_F(WatchCommand, TellsOfOneWhoDoesNotAnswer) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto view = watch({"--json"});
  expect_event(view, "holds");
  holder.freeze();
  EXPECT_EQ(expect_event(view, "silent").at("silent"), 1);
  holder.signal(SIGKILL);
  expect_event(view, "answers");
  EXPECT_EQ(expect_event(view, "lost").at("pid"), holder.pid());
}

TEST_F(WatchCommand, EndsWhenNobodyReadsAnyMore) {
  Process pipe(
      {"bash", "-c",
       "set -o pipefail; '" SUBLOCK_COMMAND "' watch --redis " + server.url() + " -i 0.05 c | true"});
  EXPECT_EQ(pipe.exit_status(), 0) << pipe.transcript();
}

// Neither the channel nor anything that covers it: both would get in the way of the lock.
TEST_F(WatchCommand, ListensNowhereThatMatters) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto view = watch({"--json"});
  expect_event(view, "holds");
  EXPECT_EQ(server.subscribers("c"), 1);
  EXPECT_EQ(server.command({"PUBSUB", "NUMPAT"}), "0");
  EXPECT_EQ(server.calls("psubscribe"), 0);
  EXPECT_EQ(run({"-n", "-E", "9", "c", "true"}).exit_status(), 9);
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.exit_status(), 0);
  EXPECT_EQ(run({"-n", "c", "true"}).exit_status(), 0);
}

TEST_F(WatchCommand, EndsWhereItCannotBegin) {
  EXPECT_EQ(sublock("watch", {}).exit_status(), 64);
  EXPECT_EQ(sublock("watch", {"-i", "0", "c"}).exit_status(), 64);
  EXPECT_EQ(
      sublock_with({"REDIS_URL=redis://:wrong@127.0.0.1:" + std::to_string(server.port())}, {"watch", "c"})
          .exit_status(),
      77);
  server.stop();
  EXPECT_EQ(watch().exit_status(), 69);
}

}  // namespace
}  // namespace support
