// SPDX-License-Identifier: MIT

// What somebody else has left under the key: rubbish, another type, the lock of one who died before he gave it an
// expiry. No parser may fall over it, nothing of it may be changed, and who waits for it in vain is told why.

#include <cases/key_cases.hpp>
#include <support/fault_proxy.hpp>

#include <sublock/redis_getlock.hpp>

#include <memory>

namespace support {
namespace {

class StoredValue : public KeyCasesOfAnyAge {
 protected:
  const std::string wait = "wait=" + std::to_string(scaled(0.5, 2.0));
  const std::string of_the_dead = R"({"uuid":"dead","expire_at":"1.0"})";

  sublock::RedisGetlock lock_on(const std::string& key) {
    return sublock::RedisGetlock(key, {.connection = {.url = server.url()}});
  }

  /// As a lock that does not own it sees it.
  void expect_seen(const std::string& key, bool locked) {
    auto lock = lock_on(key);
    EXPECT_EQ(lock.is_locked(), locked) << key;
    EXPECT_FALSE(lock.is_self_locked()) << key;
    EXPECT_FALSE(lock.unlock()) << key;
  }

  /// Neither taken by one who tries nor by one who waits, and as it was after that. Both are told the words.
  void expect_respected(const std::vector<std::string>& keys, const std::string& kind,
                        const std::vector<std::string>& words) {
    struct Visit {
      std::string key;
      std::string before;
      Process trying;
      Process waiting;
    };
    std::vector<std::unique_ptr<Visit>> visits;
    for (const auto& key : keys) {
      visits.emplace_back(
          new Visit{key, server.command({"DUMP", key}), drive_key(key, {"try"}), drive_key(key, {wait})});
    }
    for (auto& visit : visits) {
      for (auto* driver : {&visit->trying, &visit->waiting}) {
        const auto line = driver->expect_line(" (GOT|FAILED) ?");
        EXPECT_NE(line.find(" FAILED " + kind + " "), std::string::npos) << line;
        EXPECT_NE(line.find('\'' + visit->key + '\''), std::string::npos) << line;
        for (const auto& word : words) EXPECT_NE(line.find(word), std::string::npos) << line;
        EXPECT_EQ(driver->exit_status(), 1) << driver->transcript();
      }
      expect_seen(visit->key, true);
      EXPECT_EQ(server.command({"DUMP", visit->key}), visit->before) << visit->key;
    }
  }
};

TEST_P(StoredValue, ThatIsNothingIsNoLock) {
  expect_seen("v", false);
  auto driver = drive_key("v", {"try"});
  driver.expect_line(" GOT$");
  EXPECT_EQ(driver.exit_status(), 0);
  expect_seen("v", false);
}

TEST_P(StoredValue, ThatIsRubbishIsSomebodysAllTheSame) {
  const std::vector<std::string> values = {"not json",
                                           "",
                                           "[]",
                                           "5",
                                           "null",
                                           "{\"uuid\":\"\xff\"}",
                                           std::string(10'000, '[') + std::string(10'000, ']'),
                                           R"({"uuid":"one","uuid":"two"})",
                                           std::string(16U << 20U, 'x')};
  std::vector<std::string> keys;
  for (const auto& value : values) {
    keys.push_back("v" + std::to_string(keys.size()));
    ASSERT_EQ(server.command({"SET", keys.back(), value}), "OK");
  }
  expect_respected(keys, "busy", {"no expiry"});
}

TEST_P(StoredValue, OfAnotherTypeIsAnErrorThatNamesIt) {
  ASSERT_EQ(server.command({"RPUSH", "l", "x"}), "1");
  ASSERT_EQ(server.command({"HSET", "h", "x", "y"}), "1");
  expect_respected({"l"}, "protocol", {"list"});
  expect_respected({"h"}, "protocol", {"hash"});
}

TEST_P(StoredValue, OfOneWhoDiedIsWaitedOutWhereItExpires) {
  ASSERT_EQ(server.command({"SET", "v", of_the_dead, "PX", "1000"}), "OK");
  const double stored = now();
  auto waiting = drive_key("v", {"wait=5"});
  expect_busy("v", "dead");
  const double got = stamp_of(waiting.expect_line(" GOT$"));
  EXPECT_GE(got - stored, 0.95);
  EXPECT_LE(got - stored, within(1 + 0.5));
  EXPECT_EQ(waiting.exit_status(), 0);
}

// Where SET has options nobody can have died between the two steps of taking, so that it must be left to people.
TEST_P(StoredValue, OfOneWhoDiedIsTakenOverOnlyWhereLocksHaveToBe) {
  ASSERT_EQ(server.command({"SET", "v", of_the_dead}), "OK");
  if (GetParam() == Age::today) return expect_respected({"v"}, "busy", {"dead", "no expiry"});
  auto driver = drive_key("v", {"try", "hold=60"});
  driver.expect_line(" GOT$");
  EXPECT_NE(owner("v"), of_the_dead);
  EXPECT_GT(left("v"), 0);
  EXPECT_NE(driver.errors().find("taken over"), std::string::npos) << "it says so: " << driver.transcript();
  expect_extended("v");
  expect_kept(driver);
}

TEST_P(StoredValue, ThatIsNotOverIsNeverTakenOver) {
  const auto in_an_hour =
      std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) + 3600);
  const std::vector<std::string> values = {R"({"uuid":"dead","expire_at":")" + in_an_hour + ".5\"}",
                                           R"({"uuid":"dead"})",
                                           R"({"uuid":"dead","expire_at":1})",
                                           R"({"uuid":"dead","expire_at":"1x"})",
                                           R"({"uuid":"dead","expire_at":"nan"})",
                                           R"({"uuid":"dead","expire_at":"-inf"})",
                                           R"({"uuid":"dead","expire_at":""})"};
  std::vector<std::string> keys;
  for (const auto& value : values) {
    keys.push_back("v" + std::to_string(keys.size()));
    ASSERT_EQ(server.command({"SET", keys.back(), value}), "OK");
  }
  expect_respected(keys, "busy", {"dead", "no expiry"});
}

// Killed between any two of its commands, and after the last.
TEST_P(StoredValue, OfOneWhoDiesWhileTakingItIsNeverThereForGood) {
  const std::vector<std::string> old_commands = {"WATCH", "TYPE",  "GETRANGE", "TTL",
                                                 "MULTI", "SETNX", "EXPIRE",   "EXEC"};
  const auto commands = GetParam() == Age::old ? old_commands : std::vector<std::string>{"SET"};
  for (const auto& command : commands) {
    for (const bool arrives : {false, true}) {
      FaultProxy proxy(server.port());
      proxy.delay_frames("\r\n" + command + "\r\n", 60s);
      auto taking = drive_key("v", {"wait=60", "hold=60", "port=" + std::to_string(proxy.port())});
      ASSERT_TRUE(eventually([&] { return proxy.holds_back(); })) << command << taking.transcript();
      taking.signal(SIGKILL);
      EXPECT_EQ(taking.exit_status(), 128 + SIGKILL);
      if (!arrives) proxy.half_open();
      if (arrives) proxy.heal();
      EXPECT_TRUE(eventually([&] {
        return std::ranges::count(server.command({"CLIENT", "LIST"}), '\n') == 1;
      }));
      EXPECT_NE(left("v"), -1) << "killed before " << command;
      server.command({"DEL", "v"});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, StoredValue, any_age, ::testing::PrintToStringParamName());

}  // namespace
}  // namespace support
