// SPDX-License-Identifier: MIT

// Fencing tokens on a real server: greater from process to process, and a key that can't be counted up is
// the end of the acquire, in the server's words.

#include <gtest/gtest.h>

#include <support/driver.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <sublock/redis_lock.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace support {
namespace {

class FencingLive : public ::testing::Test {
 protected:
  sublock::RedisLock::Options options() {
    sublock::RedisLock::Options options;
    options.fencing = true;
    options.connection.url = server.url();
    return options;
  }

  /// The token of a process that takes the lock and gives it back.
  long token_of_a_process() {
    auto holder = help("watcher", server, {"fenced", "fencing"});
    const std::string got = holder.expect_line("^GOT ");
    holder.say("release");
    holder.expect_line("^RELEASED$");
    return std::strtol(got.c_str() + 4, nullptr, 10);
  }

  /// What an acquire says, which must fail and leave the channel.
  std::string refusal(sublock::RedisLock& lock) {
    std::string text;
    try {
      lock.acquire();
      ADD_FAILURE() << "held without a token";
    } catch (const sublock::LockError& error) {
      text = error.what();
    }
    EXPECT_FALSE(lock.held());
    EXPECT_TRUE(eventually([&] { return server.subscribers("fenced") == 0; }));
    return text;
  }

  LiveRedis server;
};

TEST_F(FencingLive, TokensGrowFromProcessToProcess) {
  long last = 0;
  sublock::RedisLock here("fenced", options());
  for (int round = 0; round < 3; ++round) {
    const long token = token_of_a_process();
    EXPECT_GT(token, last);
    here.acquire();
    EXPECT_GT(here.fence_token(), token);
    last = here.fence_token();
    EXPECT_TRUE(here.release());
  }
  EXPECT_EQ(server.command({"GET", "fenced-fence"}), std::to_string(last));
}

TEST_F(FencingLive, OneWhoIsFollowedHasTheSmallerToken) {
  sublock::RedisLock first("fenced", options());
  first.acquire();
  ASSERT_EQ(server.command({"CLIENT", "KILL", "ID", std::to_string(server.client_id(first.client_name()))}),
            "1");
  sublock::RedisLock second("fenced", options());
  second.acquire();
  EXPECT_TRUE(eventually([&] { return first.lost(); }));
  EXPECT_LT(first.fence_token(), second.fence_token());
}

TEST_F(FencingLive, AKeyThatCannotBeCountedUpFailsTheAcquireInTheServersWords) {
  struct Case {
    std::vector<std::string> command;
    std::string words;
  };
  const std::vector<Case> cases = {
      {{"LPUSH", "fenced-fence", "x"}, "WRONGTYPE Operation against a key holding the wrong kind of value"},
      {{"SET", "fenced-fence", "many"}, "ERR value is not an integer or out of range"},
      {{"SET", "fenced-fence", "9223372036854775807"}, "ERR increment or decrement would overflow"},
  };
  sublock::RedisLock lock("fenced", options());
  for (const auto& [command, words] : cases) {
    server.command(command);
    const std::string text = refusal(lock);
    EXPECT_NE(text.find(words), std::string::npos) << text;
    server.command({"DEL", "fenced-fence"});
  }
  lock.acquire();
  EXPECT_EQ(lock.fence_token(), 1);
}

TEST_F(FencingLive, AUserWhoMayNotCountIsTold) {
  ASSERT_EQ(server.command(
                {"ACL", "SETUSER", "worker", "on", ">secret", "allchannels", "allkeys", "+@all", "-incr"}),
            "OK");
  auto options = this->options();
  options.connection.user = "worker";
  options.connection.password = "secret";
  sublock::RedisLock lock("fenced", options);
  const std::string text = refusal(lock);
  EXPECT_NE(text.find("NOPERM"), std::string::npos) << text;
  EXPECT_NE(text.find("incr"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  options.fencing = false;
  sublock::RedisLock without("fenced", options);
  EXPECT_TRUE(without.try_lock());
}

}  // namespace
}  // namespace support
