// SPDX-License-Identifier: MIT

// `sublock doctor`: what it finds on servers that are well and on servers that are not, and that what it can't see is
// never called well.

#include <command/command.hpp>

#include <nlohmann/json.hpp>

#include <map>

namespace support {
namespace {

/// What was said of each thing that was looked at.
struct Report {
  int status = 0;
  std::map<std::string, nlohmann::json> checks;

  [[nodiscard]] std::string level(const std::string& check) const { return checks.at(check).at("level"); }
  [[nodiscard]] std::string text(const std::string& check) const { return checks.at(check).at("text"); }
  [[nodiscard]] std::string remedy(const std::string& check) const {
    return checks.at(check).value("remedy", "");
  }
};

Report report_of(Process doctor) {
  Report report;
  report.status = doctor.exit_status();
  const auto json = nlohmann::json::parse(doctor.next_line().value());
  for (const auto& one : json.at("checks")) report.checks.insert_or_assign(one.at("check"), one);
  return report;
}

class DoctorCommand : public Command {
 protected:
  using Command::Command;

  Report examine(Words words = {}) const {
    words.emplace_back("--json");
    return report_of(sublock("doctor", words));
  }
  Report examine_as_worker(const std::string& channel) const {
    const std::string url = "redis://worker:secret@127.0.0.1:" + std::to_string(server.port());
    return report_of(sublock_with({"REDIS_URL=" + url}, {"doctor", "--json", channel}));
  }
  void create_worker(const Words& rules) {
    Words words = {"ACL", "SETUSER", "worker", "reset", "on", ">secret"};
    words.insert(words.end(), rules.begin(), rules.end());
    ASSERT_EQ(server.command(words), "OK");
  }
};

TEST_F(DoctorCommand, FindsAServerWellAndOnlyNotesWhatIsOptional) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  const Report report = examine({"c"});
  EXPECT_EQ(report.status, 0);
  for (const auto& [check, one] : report.checks) {
    const bool optional = check == "persistence" || check == "notifications";
    EXPECT_EQ(one.at("level"), optional ? "note" : "ok") << one;
    EXPECT_EQ(one.contains("remedy"), optional) << one;
  }
  EXPECT_EQ(report.checks.size(), 17U);
  EXPECT_NE(report.text("channel").find("1 holding"), std::string::npos);
  EXPECT_EQ(server.command({"GET", "c-fence"}), "") << "nothing that is tried is done";
  EXPECT_EQ(server.subscribers("c"), 1);
  auto table = sublock("doctor", {});
  EXPECT_EQ(table.exit_status(), 0);
  table.expect_line("^ok    reach +Redis at 127.0.0.1:");
  table.expect_line("^note  notifications ");
  table.expect_line("^ +-> CONFIG SET notify-keyspace-events Kgx");
}

TEST_F(DoctorCommand, NamesEachRightThatIsMissingAndHowToGrantIt) {
  create_worker({"~c", "~c-fence", "&c", "&c-*", "+@all", "-client|kill", "-pubsub|channels", "-getrange"});
  const Report silent = examine_as_worker("c");
  EXPECT_EQ(silent.status, 1);
  EXPECT_EQ(silent.level("rights"), "warning");
  EXPECT_NE(silent.text("rights").find("CLIENT KILL"), std::string::npos) << silent.text("rights");
  EXPECT_EQ(silent.remedy("rights"), "ACL SETUSER worker +client|kill +pubsub|channels");
  EXPECT_EQ(silent.remedy("getlock rights"), "ACL SETUSER worker +getrange");
  EXPECT_EQ(silent.level("getlock rights"), "note");

  const Report elsewhere = examine_as_worker("d");
  EXPECT_EQ(elsewhere.status, 2);
  for (const char* const right :
       {"SUBSCRIBE d,", "SUBSCRIBE d-*", "PUBLISH d,", "PUBLISH d-*", "INCR d-fence"})
    EXPECT_NE(elsewhere.text("rights").find(right), std::string::npos) << elsewhere.text("rights");
  EXPECT_EQ(elsewhere.remedy("rights"),
            "ACL SETUSER worker '&d' '&d-*' '~d-fence' +client|kill +pubsub|channels");
  // What it says is enough: the same user, with what was missing, has nothing to ask for any more.
  ASSERT_EQ(server.command(
                {"ACL", "SETUSER", "worker", "&d", "&d-*", "~d-fence", "+client|kill", "+pubsub|channels"}),
            "OK");
  EXPECT_EQ(examine_as_worker("d").level("rights"), "ok");
}

TEST_F(DoctorCommand, CallsNothingWellThatItCouldNotSee) {
  create_worker({"resetchannels", "-@all", "+ping", "+hello"});
  const Report blind = examine_as_worker("c");
  EXPECT_EQ(blind.status, 2);
  for (const auto& [check, one] : blind.checks) {
    if (check == "reach" || check == "round trip" || check == "descriptors") continue;
    EXPECT_NE(one.at("level"), "ok") << one;
  }
  for (const char* const check : {"server", "role", "loading", "buffers", "clients", "keepalive", "eviction"})
    EXPECT_EQ(blind.text(check).find("could not see: NOPERM"), 0U) << blind.text(check);
}

TEST_F(DoctorCommand, SeesWhoDoesNotAnswerAndWhoListensWithoutTakingPart) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  auto stranger = Process({"redis-cli", "-p", std::to_string(server.port()), "SUBSCRIBE", "c"});
  auto listener = Process({"redis-cli", "-p", std::to_string(server.port()), "PSUBSCRIBE", "c*"});
  ASSERT_TRUE(eventually([&] {
    return server.subscribers("c") == 2 && server.command({"PUBSUB", "NUMPAT"}) == "1";
  }));
  const Report strangers = examine({"c"});
  EXPECT_EQ(strangers.status, 1);
  EXPECT_NE(strangers.text("channel").find("in vain: 1"), std::string::npos) << strangers.text("channel");
  EXPECT_EQ(strangers.level("pattern"), "warning");
  stranger.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return server.subscribers("c") == 1; }));
  holder.freeze();
  const Report frozen = examine({"c"});
  EXPECT_EQ(frozen.status, 1);
  EXPECT_NE(frozen.text("channel").find("taking part: "), std::string::npos) << frozen.text("channel");
  EXPECT_EQ(frozen.text("channel").find("in vain"), std::string::npos) << frozen.text("channel");
}

TEST_F(DoctorCommand, SaysThatThereIsNoServerOrNoWayIn) {
  const auto refused = report_of(sublock_with(
      {"REDIS_URL=redis://worker:wrong@127.0.0.1:" + std::to_string(server.port())}, {"doctor", "--json"}));
  EXPECT_EQ(refused.status, 77);
  EXPECT_EQ(refused.text("reach").find("wrong "), std::string::npos);
  EXPECT_EQ(sublock("doctor", {"--bogus"}).exit_status(), 64);
  EXPECT_EQ(sublock_with({"REDIS_URL=http://x"}, {"doctor"}).exit_status(), 64);
  server.stop();
  const Report none = examine();
  EXPECT_EQ(none.status, 69);
  EXPECT_EQ(none.level("reach"), "problem");
}

class DoctorOfASickServer : public DoctorCommand {
 protected:
  DoctorOfASickServer()
      : DoctorCommand({"--tcp-keepalive", "0", "--timeout", "5", "--maxmemory", "100mb", "--maxmemory-policy",
                       "allkeys-lru", "--client-output-buffer-limit", "pubsub 1000 100 1", "--maxclients",
                       "4"}) {}
};

TEST_F(DoctorOfASickServer, HasARemedyForEachFinding) {
  LiveRedis replica({"--replicaof", "127.0.0.1 " + std::to_string(server.port())});
  const Report second = report_of(Process({SUBLOCK_COMMAND, "doctor", "--json", "--redis", replica.url()}));
  EXPECT_EQ(second.status, 2);
  EXPECT_EQ(second.level("role"), "problem");
  EXPECT_NE(second.text("role").find("is a replica"), std::string::npos);
  replica.stop();

  const Report report = examine();
  for (const char* const check : {"keepalive", "eviction", "buffers"}) {
    EXPECT_EQ(report.level(check), "warning") << check;
    EXPECT_NE(report.remedy(check), "") << check;
  }
  EXPECT_EQ(report.level("idle timeout"), "note");
  EXPECT_EQ(server.command({"CONFIG", "SET", "tcp-keepalive", "60"}), "OK");
  EXPECT_EQ(examine().level("keepalive"), "ok");
}

class DoctorOfACluster : public DoctorCommand {
 protected:
  DoctorOfACluster() : DoctorCommand({"--cluster-enabled", "yes", "--rename-command", "CONFIG", ""}) {}
};

TEST_F(DoctorOfACluster, IsRefusedAndItsSettingsAreUnknown) {
  const Report report = examine();
  EXPECT_EQ(report.status, 2);
  EXPECT_NE(report.text("role").find("is a cluster node"), std::string::npos);
  EXPECT_EQ(report.text("keepalive"), "could not see: ERR unknown command 'CONFIG'");
  EXPECT_EQ(report.level("shards"), "ok");
  EXPECT_EQ(report.text("coverage"), "could not see: ERR unknown command 'CONFIG'");
}

class DoctorOfShards : public DoctorCommand {
 protected:
  DoctorOfShards() : DoctorCommand({"--cluster-enabled", "yes"}) {}
};

TEST_F(DoctorOfShards, LooksAtWhatACutAndADeathWouldDo) {
  const Report before = examine();
  EXPECT_EQ(before.level("cut off"), "note");
  EXPECT_EQ(before.remedy("cut off"), "CONFIG SET cluster-allow-pubsubshard-when-down no");
  EXPECT_EQ(before.level("coverage"), "warning");
  EXPECT_EQ(before.remedy("coverage"), "CONFIG SET cluster-require-full-coverage no");
  for (const char* const name : {"cluster-allow-pubsubshard-when-down", "cluster-require-full-coverage"})
    EXPECT_EQ(server.command({"CONFIG", "SET", name, "no"}), "OK");
  const Report after = examine();
  EXPECT_EQ(after.level("cut off"), "ok");
  EXPECT_EQ(after.level("coverage"), "ok");
}

}  // namespace
}  // namespace support
