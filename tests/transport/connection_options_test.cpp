// SPDX-License-Identifier: MIT

// Reading a connection's URL and options: what is understood, what is refused, and that no error ever
// shows a password.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/transport/hiredis/connection_options.hpp>

#include <chrono>
#include <string>

namespace sublock::hiredis {
namespace {

using namespace std::chrono_literals;

Endpoint read(std::string url) { return endpoint_of({.url = std::move(url)}); }

TEST(ConnectionOptions, TheDefaultIsThisMachine) {
  const Endpoint endpoint = endpoint_of({});
  EXPECT_EQ(endpoint.host, "127.0.0.1");
  EXPECT_EQ(endpoint.port, 6379);
  EXPECT_EQ(endpoint.user, "");
  EXPECT_FALSE(endpoint.password);
  EXPECT_EQ(endpoint.database, 0);
  EXPECT_EQ(endpoint.shown(), "127.0.0.1:6379");
}

TEST(ConnectionOptions, EveryPartOfAUrlIsRead) {
  const Endpoint endpoint = read("redis://anna:s3cret@redis.example:7000/12");
  EXPECT_EQ(endpoint.host, "redis.example");
  EXPECT_EQ(endpoint.port, 7000);
  EXPECT_EQ(endpoint.user, "anna");
  EXPECT_EQ(endpoint.password, "s3cret");
  EXPECT_EQ(endpoint.database, 12);
  EXPECT_EQ(endpoint.shown(), "redis.example:7000");
}

TEST(ConnectionOptions, PartsMayBeLeftOut) {
  EXPECT_EQ(read("redis://host").port, 6379);
  EXPECT_EQ(read("redis://host/").database, 0);
  EXPECT_EQ(read("redis://:pw@host").user, "");
  EXPECT_EQ(read("redis://:pw@host").password, "pw");
  EXPECT_EQ(read("redis://anna:@host").password, "");
}

TEST(ConnectionOptions, PercentSignsEscape) {
  const Endpoint endpoint = read("redis://a%3ab:p%40%2f%25%00w@h%6Fst:1");
  EXPECT_EQ(endpoint.user, "a:b");
  EXPECT_EQ(endpoint.password, std::string("p@/%\0w", 6));
  EXPECT_EQ(endpoint.host, "host");
}

TEST(ConnectionOptions, APasswordMayHoldColonsAndAts) {
  EXPECT_EQ(read("redis://anna:a:b@c@host").password, "a:b@c");
}

TEST(ConnectionOptions, IPv6AddressesStandInBrackets) {
  EXPECT_EQ(read("redis://[::1]:7").host, "::1");
  EXPECT_EQ(read("redis://[::1]:7").shown(), "[::1]:7");
  EXPECT_EQ(read("redis://u:p@[fe80::1%25eth0]").host, "fe80::1%eth0");
}

TEST(ConnectionOptions, UnixSocketsHaveAPathAndPerhapsADatabase) {
  EXPECT_EQ(read("unix:///run/redis.sock").path, "/run/redis.sock");
  EXPECT_EQ(read("unix:///run/redis.sock").host, "");
  EXPECT_EQ(read("unix:///run/a%20b?db=3").path, "/run/a b");
  EXPECT_EQ(read("unix:///run/a%20b?db=3").database, 3);
  EXPECT_EQ(read("unix:///run/redis.sock").shown(), "unix:/run/redis.sock");
}

TEST(ConnectionOptions, UserAndPasswordOverrideTheUrl) {
  const Endpoint both = endpoint_of({.url = "redis://a:b@host", .user = "c", .password = "d"});
  EXPECT_EQ(both.user, "c");
  EXPECT_EQ(both.password, "d");
  EXPECT_EQ(endpoint_of({.url = "redis://a@host", .password = "d"}).password, "d");
  EXPECT_EQ(endpoint_of({.url = "unix:///s", .password = "d"}).password, "d");
}

TEST(ConnectionOptions, SentinelsAreAListAndAName) {
  const Endpoint endpoint = read("redis+sentinel://u:p@one,[::1]:5,three:26380/mymaster/2");
  EXPECT_THAT(endpoint.sentinels,
              ::testing::ElementsAre(Host{"one", 26379}, Host{"::1", 5}, Host{"three", 26380}));
  EXPECT_EQ(endpoint.primary, "mymaster");
  EXPECT_EQ(endpoint.user, "u");
  EXPECT_EQ(endpoint.password, "p");
  EXPECT_EQ(endpoint.database, 2);
  EXPECT_EQ(endpoint.shown(), "mymaster (by its sentinels)");
  EXPECT_EQ(read("redis+sentinel://one/name").database, 0);
}

TEST(ConnectionOptions, TlsIsRefusedWithoutACipher) {
  try {
    read("rediss://u:s3cret@host");
    FAIL();
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::usage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("sublock::tls"));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("s3cret")));
  }
}

class OddUrl : public ::testing::TestWithParam<const char*> {};

TEST_P(OddUrl, IsRefusedWithoutShowingAPassword) {
  try {
    read(GetParam());
    FAIL() << GetParam();
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::usage);
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("s3cret")));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("anna")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Urls, OddUrl,
    ::testing::Values(
        "redis+sentinel://host", "redis+sentinel://host/", "redis+sentinel://,host/name",
        "redis+sentinel:///name", "redis+sentinel://anna:s3cret@host,/name", "redis+sentinel://host/name/x",
        "redis+sentinel://host/na%20me", "redis+tls://host", "rediss", "redis", "", "host", "host:6379",
        "http://host", "redis:/host", "redis://", "redis:///", "redis://:6379", "redis://anna:s3cret@",
        "redis://host:", "redis://host:0", "redis://host:65536", "redis://host:-1", "redis://host:+1",
        "redis://host: 1", "redis://host:6379x", "redis://anna:s3cret@host:1:2", "redis://host/x",
        "redis://host/-1", "redis://host/1/2", "redis://host/99999999999999", "redis://host?db=1",
        "redis://host#1", "redis://anna:s3cret#1@host", "redis://anna:s3cret/2@host",
        "redis://anna:s3cret?x@host", "redis://anna:s3cret%4@host", "redis://anna:s3cret%zz@host",
        "redis://[::1", "redis://[]", "redis://[::1]x", "redis://[::1]:", "redis://[host]", "redis://ho st",
        "redis://ho%00st", "redis://ho%0ast", "redis://%3a%3a1", "unix://", "unix://run/redis.sock",
        "unix:///a?x=1", "unix:///a?db=", "unix:///a?db=x", "unix:///a%00b", "redis://anna@host",
        "unix:///0123456789012345678901234567890123456789012345678901234567890123456789012345"
        "6789012345678901234567890123456789"));

TEST(ConnectionOptions, TimesThatMakeNoSenseAreRefused) {
  EXPECT_THROW(static_cast<void>(endpoint_of({.connect_timeout = 0s})), LockError);
  EXPECT_THROW(static_cast<void>(endpoint_of({.connect_timeout = -1s})), LockError);
  EXPECT_THROW(static_cast<void>(endpoint_of({.health_check_interval = -1s})), LockError);
  EXPECT_THROW(static_cast<void>(endpoint_of({.health_check_timeout = 0s})), LockError);
  EXPECT_THROW(static_cast<void>(endpoint_of({.keepalive = -1s})), LockError);
  EXPECT_NO_THROW(static_cast<void>(endpoint_of({.connect_timeout = core::Duration::max(),
                                                 .health_check_interval = 0s,
                                                 .health_check_timeout = core::Duration::max(),
                                                 .keepalive = 0s,
                                                 .idle_ears_max = 0})));
}

}  // namespace
}  // namespace sublock::hiredis
