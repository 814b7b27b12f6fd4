// SPDX-License-Identifier: MIT

// What the hiredis transport says when it can't be served: credentials, permissions, roles, and servers
// that are none. Never a password, always where and why, and never late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <live/caller.hpp>
#include <sublock/transport/hiredis.hpp>
#include <support/live_redis.hpp>
#include <support/relay.hpp>

#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
namespace event = core::event;

const std::string acl_response = "acl-0123456789abcdef0123456789abcdef";

/// Why connecting fails; a test failure where it doesn't.
Failure failure_of(const ConnectionOptions& options) {
  try {
    static_cast<void>(connect(options));
  } catch (const LockError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("s3cret")));
    return {error.kind(), error.what()};
  }
  ADD_FAILURE() << "connected to " << options.url;
  return {};
}

class HiredisErrors : public ::testing::Test {
 protected:
  std::string at() const { return "127.0.0.1:" + std::to_string(redis.port()); }
  std::string url_of(const std::string& login) const { return "redis://" + login + "@" + at(); }

  void user(const std::vector<std::string>& rules) {
    std::vector<std::string> words{"ACL", "SETUSER", "anna", "reset", "on", ">pw", "~*"};
    words.insert(words.end(), rules.begin(), rules.end());
    ASSERT_EQ(redis.command(words), "OK");
  }

  /// How the user's attempt to join "acl" is refused, after which the line must still be usable.
  Failure refusal_of(const std::vector<std::string>& rules) {
    user(rules);
    Process process(HiredisTransport::make({.url = url_of("anna:pw")}));
    EXPECT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
    EXPECT_TRUE(process.answered<event::Refused>([](auto& line) { line.join("acl", acl_response, "name"); }));
    EXPECT_EQ(process.last<event::Refused>().verb, core::Verb::join);
    const Failure failure = process.last<event::Refused>().failure;
    EXPECT_EQ(redis.subscribers("acl"), 0);
    EXPECT_EQ(redis.subscribers(acl_response), 0);

    user({"&*", "+@all"});
    EXPECT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("acl", acl_response, "name"); }));
    EXPECT_TRUE(process.all<event::Lost>().empty());
    return failure;
  }

  support::LiveRedis redis;
};

TEST_F(HiredisErrors, AGoodServerConnects) {
  const auto transport = connect(redis.url());
  EXPECT_FALSE(transport->foreign());
  EXPECT_NO_THROW(static_cast<void>(connect("unix://" + redis.socket_path() + "?db=2")));
}

TEST_F(HiredisErrors, WrongOrMissingCredentialsAreNamedAndHidden) {
  redis.command({"CONFIG", "SET", "requirepass", "right"});
  for (const std::string login : {"redis://", "redis://:s3cret@", "redis://nobody:s3cret@"}) {
    const Failure failure = failure_of({.url = login + at()});
    EXPECT_EQ(failure.code, Errc::auth) << login;
    EXPECT_THAT(failure.text, HasSubstr(at()));
  }
  EXPECT_NO_THROW(static_cast<void>(connect("redis://:right@" + at())));
  EXPECT_NO_THROW(static_cast<void>(connect(ConnectionOptions{.url = redis.url(), .password = "right"})));
  redis.command({"AUTH", "right"});
}

TEST_F(HiredisErrors, APasswordThatNobodyAskedForIsAnAuthError) {
  EXPECT_EQ(failure_of({.url = "redis://:s3cret@" + at()}).code, Errc::auth);
}

TEST_F(HiredisErrors, AClosedPortIsRefusedWithAddressAndCause) {
  const int port = redis.port();
  redis.stop();
  const Failure failure = failure_of({.url = "redis://:s3cret@127.0.0.1:" + std::to_string(port)});
  EXPECT_EQ(failure.code, Errc::connect);
  EXPECT_THAT(failure.text, HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(failure.text, HasSubstr("refused"));
  EXPECT_EQ(failure_of({.url = "unix:///nowhere/redis.sock"}).code, Errc::connect);
}

TEST_F(HiredisErrors, AHostWithoutAddressIsNamed) {
  const Failure failure = failure_of({.url = "redis://no-such-host.invalid:6379"});
  EXPECT_EQ(failure.code, Errc::connect);
  EXPECT_THAT(failure.text, HasSubstr("no-such-host.invalid"));
}

TEST_F(HiredisErrors, AHostNameIsLookedUp) {
  EXPECT_NO_THROW(static_cast<void>(connect("redis://localhost:" + std::to_string(redis.port()))));
}

TEST_F(HiredisErrors, AServerThatSaysNothingTakesNoLongerThanTheConnectTimeout) {
  redis.pause();
  const auto start = std::chrono::steady_clock::now();
  const Failure failure = failure_of({.url = redis.url(), .connect_timeout = 300ms});
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(failure.code, Errc::connect);
  EXPECT_THAT(failure.text, HasSubstr("300 ms"));
  EXPECT_GE(took, 290ms);
  EXPECT_LT(took, 2s);
}

TEST_F(HiredisErrors, AWebServerIsNoRedis) {
  support::Relay web([](std::string_view said) {
    return said.empty() ? "" : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  });
  EXPECT_EQ(failure_of({.url = web.url()}).code, Errc::protocol);
  support::Relay strange([](std::string_view said) { return said.empty() ? "" : ":5\r\n"; });
  EXPECT_EQ(failure_of({.url = strange.url()}).code, Errc::protocol);
}

TEST_F(HiredisErrors, AServerThatClosesAtOnceCantBeReached) {
  support::Relay closer(redis.port());
  closer.refuse(true);
  const Failure failure = failure_of({.url = closer.url()});
  EXPECT_EQ(failure.code, Errc::connect);
  EXPECT_THAT(failure.text, HasSubstr(std::to_string(closer.port())));
}

TEST_F(HiredisErrors, AServerWithoutRoomIsQuoted) {
  redis.command({"CONFIG", "SET", "maxclients", "1"});
  const auto first = redis.command({"PING"});
  Process keeper(HiredisTransport::make({.url = redis.url()}));
  keeper.say([](auto& line) { line.open(); });
  ASSERT_TRUE(keeper.hears<event::Lost>());  // the mouth fits, the ear doesn't, or the reverse
  EXPECT_EQ(keeper.last<event::Lost>().failure.code, Errc::connect);
  EXPECT_THAT(keeper.last<event::Lost>().failure.text, HasSubstr("max number of clients"));
}

TEST_F(HiredisErrors, AReplicaIsRefusedByItsRole) {
  support::LiveRedis replica({"--replicaof", "127.0.0.1", std::to_string(redis.port())});
  const Failure failure = failure_of({.url = replica.url()});
  EXPECT_EQ(failure.code, Errc::usage);
  EXPECT_THAT(failure.text, HasSubstr("a replica"));
}

TEST_F(HiredisErrors, AClusterNodeIsRefusedByItsRole) {
  support::LiveRedis node({"--cluster-enabled", "yes"});
  const Failure failure = failure_of({.url = node.url()});
  EXPECT_EQ(failure.code, Errc::usage);
  EXPECT_THAT(failure.text, HasSubstr("a cluster node"));
}

TEST_F(HiredisErrors, ASentinelIsRefused) {
  support::LiveRedis sentinel({"--sentinel"}, "sentinel monitor mymaster 127.0.0.1 1 1\n");
  const Failure failure = failure_of({.url = sentinel.url()});
  EXPECT_EQ(failure.code, Errc::usage);
  EXPECT_THAT(failure.text, HasSubstr("a sentinel"));
  EXPECT_THAT(failure.text, HasSubstr("connect to the primary that it watches"));
}

TEST_F(HiredisErrors, AServerWithoutHelloIsTaken) {
  support::LiveRedis old({"--rename-command", "HELLO", ""});
  EXPECT_NO_THROW(static_cast<void>(connect(old.url())));
  user({"&*", "+@all", "-hello"});
  EXPECT_NO_THROW(static_cast<void>(connect(url_of("anna:pw"))));
}

TEST_F(HiredisErrors, ACommandThatIsForbiddenIsNamed) {
  const std::pair<const char*, const char*> rules[] = {
      {"-client", "CLIENT SETNAME"}, {"-subscribe", "SUBSCRIBE"}, {"-publish", "PUBLISH"},
      {"-pubsub", "PUBSUB NUMSUB"},  {"-multi", "MULTI"},         {"-exec", "EXEC"}};
  for (const auto& [rule, command] : rules) {
    const Failure failure = refusal_of({"&*", "+@all", rule});
    EXPECT_EQ(failure.code, Errc::permission) << rule;
    EXPECT_THAT(failure.text, HasSubstr(std::string("the command ") + command + ":")) << rule;
    EXPECT_THAT(failure.text, HasSubstr("NOPERM")) << rule;
  }
}

TEST_F(HiredisErrors, AChannelThatIsForbiddenIsNamed) {
  const Failure none = refusal_of({"resetchannels", "+@all"});
  EXPECT_EQ(none.code, Errc::permission);
  EXPECT_THAT(none.text, HasSubstr("channel acl and acl-*"));
  const Failure no_responses = refusal_of({"resetchannels", "&acl", "+@all"});
  EXPECT_EQ(no_responses.code, Errc::permission);
  EXPECT_THAT(no_responses.text, HasSubstr("channel acl-*;"));
  const Failure only_responses = refusal_of({"resetchannels", "&acl-*", "+@all"});
  EXPECT_EQ(only_responses.code, Errc::permission);
  EXPECT_THAT(only_responses.text, HasSubstr("channel acl;"));
}

TEST_F(HiredisErrors, ListeningIsRefusedByThePattern) {
  user({"&*", "+@all"});
  Process process(HiredisTransport::make({.url = url_of("anna:pw")}));
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  user({"resetchannels", "&acl", "+@all"});
  ASSERT_TRUE(process.answered<event::Refused>([](auto& line) { line.listen(acl_response); }));
  EXPECT_EQ(process.last<event::Refused>().verb, core::Verb::listen);
  EXPECT_EQ(process.last<event::Refused>().failure.code, Errc::permission);
  EXPECT_THAT(process.last<event::Refused>().failure.text, HasSubstr("channel acl-*"));
  user({"&*", "+@all"});
  ASSERT_TRUE(process.answered<event::Listening>([](auto& line) { line.listen(acl_response); }));
}

TEST_F(HiredisErrors, VerbsOfTheMouthAreRefusedByNameAndTheEarStays) {
  user({"&*", "+@all"});
  Process process(HiredisTransport::make({.url = url_of("anna:pw")}));
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("acl", acl_response, "name"); }));
  user({"&*", "+@all", "-pubsub", "-client"});
  const auto refused = [&](auto verb) {
    EXPECT_TRUE(process.answered<event::Refused>(verb));
    EXPECT_EQ(process.last<event::Refused>().failure.code, Errc::permission);
    return process.last<event::Refused>();
  };
  EXPECT_THAT(refused([](auto& line) { line.ping("acl", acl_response, "ping"); }).failure.text,
              HasSubstr("PUBSUB NUMSUB"));
  EXPECT_THAT(refused([](auto& line) { line.count("acl"); }).failure.text, HasSubstr("PUBSUB NUMSUB"));
  EXPECT_THAT(refused([](auto& line) { line.list(); }).failure.text, HasSubstr("CLIENT LIST"));
  const auto kill = refused([](auto& line) { line.kill({1, 2}); });
  EXPECT_THAT(kill.failure.text, HasSubstr("CLIENT KILL"));
  EXPECT_EQ(kill.verb, core::Verb::kill);
  EXPECT_EQ(redis.subscribers("acl"), 1);
  EXPECT_TRUE(process.all<event::Lost>().empty());
}

TEST_F(HiredisErrors, AServerThatIsBusyIsBusy) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  redis.command({"CONFIG", "SET", "busy-reply-threshold", "20"});
  const std::jthread script([&] {
    const std::unique_ptr<redisContext, decltype(&redisFree)> client(redisConnect("127.0.0.1", redis.port()),
                                                                     &redisFree);
    freeReplyObject(redisCommand(client.get(), "EVAL %s 0", "while true do end"));
  });
  ASSERT_TRUE(support::eventually([&] { return redis.command({"PING"}).starts_with("BUSY"); }));
  EXPECT_TRUE(process.answered<event::Refused>([](auto& line) { line.join("acl", acl_response, "name"); }));
  EXPECT_TRUE(process.answered<event::Refused>([](auto& line) { line.count("acl"); }));
  redis.command({"SCRIPT", "KILL"});
  for (const auto& refused : process.all<event::Refused>()) {
    EXPECT_EQ(refused.failure.code, Errc::busy);
    EXPECT_THAT(refused.failure.text, HasSubstr("BUSY"));
  }
  ASSERT_TRUE(support::eventually([&] { return redis.command({"PING"}) == "PONG"; }));
  EXPECT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("acl", acl_response, "name"); }));
}

TEST_F(HiredisErrors, ANameThatTheServerRefusesLeavesNothingSubscribed) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  ASSERT_TRUE(
      process.answered<event::Refused>([](auto& line) { line.join("acl", acl_response, "not allowed"); }));
  EXPECT_EQ(process.last<event::Refused>().failure.code, Errc::protocol);
  EXPECT_EQ(redis.subscribers("acl"), 0);
  EXPECT_EQ(redis.subscribers(acl_response), 0);
  EXPECT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("acl", acl_response, "allowed"); }));
}

TEST_F(HiredisErrors, WithoutDescriptorsTheReasonIsGivenAndNothingLeaks) {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  int lost = 0;
  for (int spare = 0; spare < 6; ++spare) {
    const rlimit tight{static_cast<rlim_t>(before - 1 + spare), limit.rlim_max};
    auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    process->say([](auto& line) { line.open(); });
    const auto told = process->eventually([&] { return process->order().size() > 0; });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    ASSERT_TRUE(told);
    if (process->order().front() == "Lost") {
      EXPECT_EQ(process->last<event::Lost>().failure.code, Errc::connect);
      EXPECT_THAT(process->last<event::Lost>().failure.text, HasSubstr("Too many open files"));
      ++lost;
    }
    process.reset();
    EXPECT_EQ(open_descriptors(), before);
  }
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace sublock::testing
