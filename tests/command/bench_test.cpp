// SPDX-License-Identifier: MIT

// `sublock bench`: that it measures what it names, and stays away from channels in use. How long anything takes is
// no business of a test.

#include <command/command.hpp>

#include <nlohmann/json.hpp>

#include <map>

namespace support {
namespace {

class BenchCommand : public Command {
 protected:
  Process bench(Words words = {}) const {
    words.insert(words.begin(), {"-t", "0.1"});
    return sublock("bench", words);
  }
};

TEST_F(BenchCommand, MeasuresInTurnsAndLeavesNothingBehind) {
  const long before = server.calls("ping");
  auto all = bench({"--json"});
  ASSERT_EQ(all.exit_status(), 0) << all.transcript();
  const auto json = nlohmann::json::parse(all.next_line().value());
  std::map<std::string, long> counts;
  for (const auto& one : json.at("results")) {
    counts[one.at("name")] = one.at("count");
    double least = 0;
    for (const char* const part : {"p50_us", "p90_us", "p99_us", "max_us"}) {
      EXPECT_GE(one.at(part), least) << one;
      least = one.at(part);
    }
    EXPECT_GT(least, 0) << one;
  }
  const long rounds = counts.at("hand-over");
  EXPECT_GE(rounds, 1);
  EXPECT_EQ(counts.at("PING"), 20 * rounds);
  EXPECT_EQ(counts.at("acquire + release"), 10 * rounds);
  EXPECT_EQ(counts.at("probe"), 10 * rounds);
  EXPECT_EQ(server.calls("ping") - before, counts.at("PING")) << "and so many it really sent";
  EXPECT_TRUE(eventually([&] { return server.command({"PUBSUB", "CHANNELS", "*"}) == ""; }));
  EXPECT_EQ(server.command({"DBSIZE"}), "0");

  auto table = bench();
  EXPECT_EQ(table.exit_status(), 0);
  table.expect_line("^ +p50 +p90 +p99 +max +count$");
  table.expect_line("^PING +[0-9.]+ us ");
  table.expect_line("^hand-over ");
}

TEST_F(BenchCommand, StaysAwayFromAChannelInUse) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto refused = bench({"c"});
  EXPECT_EQ(refused.exit_status(), 1);
  EXPECT_NE(refused.errors().find("somebody uses 'c'"), std::string::npos) << refused.errors();
  EXPECT_TRUE(refused.lines().empty());
  EXPECT_EQ(bench({"d"}).exit_status(), 0);
}

TEST_F(BenchCommand, EndsWithoutAServer) {
  EXPECT_EQ(sublock("bench", {"-t", "0"}).exit_status(), 64);
  Process cut = sublock("bench", {"-t", "60", "c"});
  ASSERT_TRUE(eventually([&] { return server.calls("ping") > 20; }));
  server.stop();
  EXPECT_EQ(cut.exit_status(), 69) << cut.transcript();
  EXPECT_EQ(bench().exit_status(), 69);
}

}  // namespace
}  // namespace support
