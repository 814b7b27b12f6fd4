// SPDX-License-Identifier: MIT

// `sublock who`, and that no verb shows a password.

#include <command/command.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <set>

namespace support {
namespace {

class WhoCommand : public Command {};

TEST_F(WhoCommand, SaysThatNobodyHasIt) {
  auto nobody = who({"c"});
  EXPECT_EQ(nobody.exit_status(), 1);
  EXPECT_EQ(nobody.next_line(), "nobody has 'c'");
  auto json = who({"--json", "c"});
  EXPECT_EQ(json.exit_status(), 1);
  EXPECT_EQ(nlohmann::json::parse(json.next_line().value()),
            nlohmann::json::parse(R"({"channel": "c", "held": false, "holders": [], "silent": 0})"));
}

TEST_F(WhoCommand, SaysWhoHasIt) {
  auto holder = run({"c", "sh", "-c", "echo READY; read line"});
  holder.expect_line("^READY$");
  auto table = who({"c"});
  EXPECT_EQ(table.exit_status(), 0) << table.transcript();
  EXPECT_EQ(table.lines().size(), 2U) << table.transcript();
  table.expect_line("^holding +exclusive +[0-9]+[.][0-9]{3}s .* " + std::to_string(holder.pid()) +
                    " +sh +[0-9a-f]{32}$");
  auto words = who({"--json", "c"});
  EXPECT_EQ(words.exit_status(), 0);
  const auto json = nlohmann::json::parse(words.next_line().value());
  EXPECT_EQ(json.at("held"), true);
  const auto& one = json.at("holders").at(0);
  EXPECT_EQ(one.at("state"), "holding");
  EXPECT_EQ(one.at("mode"), "exclusive");
  EXPECT_EQ(one.at("pid"), holder.pid());
  EXPECT_EQ(one.at("label"), "sh");
  EXPECT_NE(one.at("host"), "");
  EXPECT_GE(one.at("held_for_ms"), 0);
}

TEST_F(WhoCommand, SeesAllReadersAndTheWriterThatWaits) {
  auto first = run({"-s", "c"});
  first.expect_line("^held ");
  auto second = run({"-s", "--label", "na\xC3\xAFve \"x\"", "c"});
  second.expect_line("^held ");
  auto writer = run({"c", "true"});
  nlohmann::json json;
  const auto sees_three = [&] {
    auto answer = who({"--json", "c"});
    const bool told = answer.exit_status() == 0;
    json = told ? nlohmann::json::parse(answer.next_line().value()) : nlohmann::json();
    return told && json.at("holders").size() == 3;
  };
  ASSERT_TRUE(eventually(sees_three));
  EXPECT_EQ(json.at("holders").at(0).at("mode"), "shared");
  EXPECT_EQ(json.at("holders").at(1).at("mode"), "shared");
  EXPECT_EQ(json.at("holders").at(2).at("state"), "waiting");
  EXPECT_FALSE(json.at("holders").at(2).contains("held_for_ms"));
}

TEST_F(WhoCommand, SeesEverybodyWhoWaitsAndForHowLong) {
  // A name that is a pattern to PUBSUB CHANNELS, beside one that it would cover.
  const std::string channel = "a[b]*\\c";
  auto holder = run({channel});
  holder.expect_line("^held ");
  auto bystander = run({"ab-c"});
  bystander.expect_line("^held ");
  std::vector<std::unique_ptr<Process>> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.push_back(std::make_unique<Process>(
        Words{SUBLOCK_COMMAND, "run", "--redis", server.url(), i == 0 ? "-s" : "-x", channel, "true"}));
  nlohmann::json json;
  ASSERT_TRUE(eventually([&] {
    auto answer = who({"--json", channel});
    json = nlohmann::json::parse(answer.next_line().value());
    return json.at("holders").size() == 5;
  })) << json;
  std::set<int> pids;
  std::size_t readers = 0;
  for (const auto& one : json.at("holders")) {
    pids.insert(one.at("pid").get<int>());
    readers += one.at("mode") == "shared" ? 1 : 0;
    if (one.at("pid") == holder.pid()) continue;
    EXPECT_EQ(one.at("state"), "waiting");
    EXPECT_GE(one.at("waiting_for_ms"), 0);
  }
  for (const auto& waiter : waiters) EXPECT_TRUE(pids.contains(waiter->pid()));
  EXPECT_EQ(readers, 1U);
}

TEST_F(WhoCommand, CannotTellWhereThereIsNoServerOrASilentHolder) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  holder.freeze();
  auto silent = who({"c"});
  EXPECT_EQ(silent.exit_status(), 75) << silent.transcript();
  server.stop();
  EXPECT_EQ(who({"c"}).exit_status(), 69);
  EXPECT_EQ(who({}).exit_status(), 64);
  EXPECT_EQ(who({"--bogus", "c"}).exit_status(), 64);
}

class SecretCommand : public Command {
 protected:
  static constexpr const char* secret = "open-sesame";

  SecretCommand() : Command({"--requirepass", secret}) {}
};

std::string command_line_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(SecretCommand, IsToldByTheEnvironmentOrAFileAndShownNowhere) {
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const std::string full = "redis://:" + std::string(secret) + "@" + address;
  const std::string file = ::testing::TempDir() + "sublock-password-" + std::to_string(::getpid());
  std::ofstream(file) << secret << '\n';
  struct Way {
    Words variables;
    Words options;
  };
  const std::vector<Way> ways = {
      {{"SUBLOCK_REDIS_URL=" + full, "REDIS_URL=redis://127.0.0.1:1"}, {}},
      {{"REDIS_URL=" + full, "REDISCLI_AUTH=wrong"}, {}},
      {{"REDIS_URL=redis://" + address, std::string("REDISCLI_AUTH=") + secret}, {}},
      {{"REDIS_URL=redis://" + address}, {"--password-file", file}},
      {{}, {"--redis", "redis://" + address, "--password-file", file}}};
  for (const Way& way : ways) {
    Words words = {"run", "--verbose"};
    words.insert(words.end(), way.options.begin(), way.options.end());
    words.emplace_back("c");
    auto holder = sublock_with(way.variables, words);
    holder.expect_line("^held ");
    EXPECT_NE(command_line_of(holder.pid()).find("--verbose"), std::string::npos);
    EXPECT_EQ(command_line_of(holder.pid()).find(secret), std::string::npos);
    holder.signal(SIGTERM);
    EXPECT_EQ(holder.exit_status(), 0);
    for (const std::string& line : holder.lines()) EXPECT_EQ(line.find(secret), std::string::npos) << line;
    EXPECT_EQ(holder.errors().find(secret), std::string::npos) << holder.errors();
  }
  std::filesystem::remove(file);

  for (const char* verb : {"run", "who", "watch", "doctor", "bench"}) {
    auto shown = sublock(verb, {"--redis", full, "c"});
    EXPECT_EQ(shown.exit_status(), 64) << "everybody can read a command line";
    auto twice = sublock_with({}, {verb, "--redis", full, "c"});
    EXPECT_EQ(twice.exit_status(), 64) << twice.transcript().substr(0, 0);
    EXPECT_EQ(twice.errors().find(secret), std::string::npos);
    auto wrong = sublock_with({"REDIS_URL=redis://:wrong-word@" + address}, {verb, "c"});
    EXPECT_EQ(wrong.exit_status(), 77);
    EXPECT_EQ(wrong.errors().find("wrong-word"), std::string::npos) << wrong.errors();
  }
  EXPECT_EQ(sublock_with({"REDIS_URL=redis://" + address}, {"who", "--password-file", "/nowhere", "c"})
                .exit_status(),
            64);
}

}  // namespace
}  // namespace support
