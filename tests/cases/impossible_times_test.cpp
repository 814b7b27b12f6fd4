// SPDX-License-Identifier: MIT

// Leases that end before they are extended, or never, times that are no times, keys of any bytes, and an object that
// is locked twice: refused when the lock is made, or exact; and who has the lock keeps it.

#include <cases/key_cases.hpp>

#include <sublock/redis_getlock.hpp>

#include <array>
#include <memory>
#include <optional>
#include <thread>

namespace support {
namespace {

class ImpossibleTimes : public KeyCases {
 protected:
  sublock::RedisGetlock::Options options() {
    sublock::RedisGetlock::Options options;
    options.connection.url = server.url();
    return options;
  }

  void block(const std::string& key, const std::vector<std::string>& how = {}) {
    std::vector<std::string> command = {"SET", key, "somebody"};
    command.insert(command.end(), how.begin(), how.end());
    ASSERT_EQ(server.command(command), "OK");
  }
};

TEST_F(ImpossibleTimes, AreRefusedWhenTheLockIsMade) {
  std::vector<std::unique_ptr<Process>> drivers;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"expire=1", "interval=2"},
                                             {"expire=1", "interval=1"},
                                             {"expire=0", "interval=1"},
                                             {"expire=-1"},
                                             {"expire=nan"},
                                             {"expire=1e300"},
                                             {"expire=0.0005", "interval=0.0001"},
                                             {"expire=0.5"},
                                             {"interval=0"},
                                             {"interval=-1"},
                                             {"interval=nan"},
                                             {"interval=1e300"},
                                             {"wait=nan"},
                                             {"wait=-1"},
                                             {"U=0"}}) {
    drivers.emplace_back(new Process(drive_key("k", words)));
  }
  for (auto& driver : drivers) {
    driver->expect_line(" FAILED usage ");
    EXPECT_EQ(driver->exit_status(), 1) << driver->transcript();
    EXPECT_EQ(count(*driver, "TRY"), 0) << "nobody may think it had begun";
  }
  EXPECT_EQ(server.calls("set"), 0);
}

TEST_F(ImpossibleTimes, HaveFractionsToTheMillisecond) {
  auto driver = drive_key("k", {"expire=1.5", "interval=0.25", "hold=60"});
  driver.expect_line(" GOT$");
  for (int round = 0; round < 2; ++round) {
    EXPECT_LE(left("k"), 1500);
    expect_extended("k");
  }
  ASSERT_TRUE(eventually([&] { return left("k") > 1400; })) << "and that not by much";
  expect_kept(driver);
}

// Three of each, since one may be held up by others on the machine.
TEST_F(ImpossibleTimes, AreNeverWaitedForMuchLongerThanAsked) {
  block("k");
  constexpr std::array waits = {0.0, 0.2, 1.5};
  std::array<std::vector<std::unique_ptr<Process>>, waits.size()> drivers;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    for (int copy = 0; copy < 3; ++copy)
      drivers[i].emplace_back(new Process(drive_key("k", {"wait=" + std::to_string(waits[i])})));
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    double quickest = 60;
    for (auto& driver : drivers[i]) {
      const double tried = stamp_of(driver->expect_line(" TRY$"));
      const double waited = stamp_of(driver->expect_line(" FAILED busy ")) - tried;
      EXPECT_GE(waited, waits[i]);
      EXPECT_LE(waited, within(waits[i] + 1));
      quickest = std::min(quickest, waited);
    }
    EXPECT_LE(quickest, within(waits[i] + 0.2));
  }
}

TEST_F(ImpossibleTimes, ThatAreHugeMeanForEver) {
  block("k");
  auto driver = drive_key("k", {"wait=1e300"});
  driver.expect_line(" TRY$");
  EXPECT_TRUE(driver.stays_without(" FAILED ", 1s)) << driver.transcript();
  driver.signal(SIGTERM);
  driver.expect_line(" FAILED cancelled ", 2s);
  EXPECT_EQ(driver.exit_status(), 1);
}

TEST_F(ImpossibleTimes, ThatAreNegativeMeanForEverAsInRuby) {
  block("k");
  auto negative = options();
  negative.timeout = -1s;
  sublock::RedisGetlock lock("k", negative);
  std::optional<sublock::Errc> ended;
  std::jthread waiting([&](const std::stop_token& stop) {
    try {
      lock.lock(stop);
    } catch (const sublock::LockError& error) {
      ended = error.kind();
    }
  });
  let_pass(1);
  waiting.request_stop();
  waiting.join();
  EXPECT_EQ(ended, sublock::Errc::cancelled);
}

// How often the owner extends is no measure for how long others wait.
TEST_F(ImpossibleTimes, BetweenExtensionsKeepNobodyFromAFreeKey) {
  const std::vector<std::string> words = {"interval=5", "expire=10", "wait=8"};
  block("expires", {"PX", "300"});
  block("deleted");
  auto of_expired = drive_key("expires", words);
  auto of_deleted = drive_key("deleted", words);
  of_expired.expect_line(" TRY$");
  of_deleted.expect_line(" TRY$");
  ASSERT_TRUE(eventually([&] { return value("expires") != "somebody"; }));
  const double expired = now();
  EXPECT_LE(stamp_of(of_expired.expect_line(" GOT$")) - expired, within(1));
  ASSERT_EQ(server.command({"DEL", "deleted"}), "1");
  const double deleted = now();
  EXPECT_LE(stamp_of(of_deleted.expect_line(" GOT$")) - deleted, within(1));
  auto owner = drive_key("given", {"hold=0.3"});
  owner.expect_line(" GOT$");
  auto next = drive_key("given", words);
  const double released = stamp_of(owner.expect_line(" RELEASED$"));
  EXPECT_LE(stamp_of(next.expect_line(" GOT$")) - released, within(1));
}

TEST_F(ImpossibleTimes, ToLockAgainEndNoExtensions) {
  auto short_ones = options();
  short_ones.expire = 1500ms;
  short_ones.interval = 250ms;
  sublock::RedisGetlock lock("k", short_ones);
  lock.lock();
  const auto uuid = owner("k");
  const auto expect_refused = [&](const auto& again) {
    const double asked = now();
    try {
      again();
      ADD_FAILURE() << "it was locked twice";
    } catch (const sublock::LockError& error) {
      EXPECT_EQ(error.kind(), sublock::Errc::already_held) << error.what();
    }
    EXPECT_LE(now() - asked, 1) << "it does not wait for itself";
    expect_extended("k");
    expect_extended("k");
    EXPECT_TRUE(lock.held());
    EXPECT_TRUE(lock.is_self_locked());
  };
  expect_refused([&] { static_cast<void>(lock.try_lock()); });
  expect_refused([&] { static_cast<void>(lock.try_lock_for(3s)); });
  expect_refused([&] { lock.lock(); });
  EXPECT_TRUE(throughout(span(scaled(0.0, 10.0)), [&] { return lock.held() && exists("k"); }));
  EXPECT_EQ(owner("k"), uuid);
  EXPECT_TRUE(lock.unlock());
  EXPECT_FALSE(exists("k"));
}

TEST_F(ImpossibleTimes, AreNotTheKeysFaultWhateverItsBytes) {
  using namespace std::string_literals;
  const std::vector<std::string> keys = {
      "",    "a b",    "a\0b"s,     "a\r\nb",       "\x80\xff",
      "try", "wait=3", "100%s%d%n", "z\xc3\xa1mek", std::string(10'000, 'x')};
  for (const auto& key : keys) {
    sublock::RedisGetlock lock(key, options());
    lock.lock();
    EXPECT_EQ(server.command({"KEYS", "*"}), key);
    sublock::RedisGetlock other(key, options());
    EXPECT_FALSE(other.try_lock());
    EXPECT_TRUE(other.is_locked());
    EXPECT_FALSE(other.is_self_locked());
    EXPECT_TRUE(lock.is_self_locked());
    EXPECT_TRUE(lock.unlock());
    EXPECT_EQ(server.command({"KEYS", "*"}), "");
  }
}

class KeyOnAReplica : public KeyCases {};

TEST_F(KeyOnAReplica, IsRefusedAtOnce) {
  LiveRedis replica({"--replicaof", "127.0.0.1", std::to_string(server.port())});
  auto driver = drive_key("k", {"wait=10", "port=" + std::to_string(replica.port())});
  const auto line = expect_after_try(driver, " FAILED ", 0, 2);
  EXPECT_TRUE(line.find("READONLY") != std::string::npos || line.find("replica") != std::string::npos)
      << line;
  EXPECT_EQ(driver.exit_status(), 1);
}

}  // namespace
}  // namespace support
