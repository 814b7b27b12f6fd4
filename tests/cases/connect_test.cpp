// SPDX-License-Identifier: MIT

// A server that can't be used at all: a wrong or missing password, a wrong port, an unknown host, a resolver
// that hangs, something that is no Redis.

#include <cases/cases.hpp>
#include <support/relay.hpp>

#include <sublock/redis_lock.hpp>

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

namespace {

/// How long the resolver of this process takes for "localhost", in milliseconds.
std::atomic<long> resolver_delay = 0;
std::atomic<int> lookups = 0;

}  // namespace

// Stands in front of libc's, since a resolver that hangs can't be had otherwise.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using Resolver = int(const char*, const char*, const addrinfo*, addrinfo**);
  if (node != nullptr && node == std::string_view("localhost")) {
    ++lookups;
    ::poll(nullptr, 0, static_cast<int>(resolver_delay));  // hangs, as resolvers do
  }
  return reinterpret_cast<Resolver*>(::dlsym(RTLD_NEXT, "getaddrinfo"))(node, service, hints, found);
}

namespace support {
namespace {

using namespace std::chrono_literals;

class Unusable : public Cases {
 protected:
  static constexpr double wait = 2;

  /// The one line of the failure. It names the server, and no password of ours or the server's.
  static std::string expect_failed(Process& driver, const std::string& kind, const std::string& where) {
    const auto line = expect_after_try(driver, " FAILED " + kind + " ", 0, wait + 1);
    EXPECT_NE(line.find(where), std::string::npos) << line;
    EXPECT_EQ(driver.exit_status(), 1);
    const std::string all = line + driver.errors();
    for (const char* secret : {"open-sesame", "swordfish"}) {
      EXPECT_EQ(all.find(secret), std::string::npos) << all;
    }
    return line;
  }

  /// By a driver that is told where to find it, and with which password.
  std::string expect_no_server(const std::string& kind, const std::string& host, int port) {
    auto driver = drive_anywhere("x", {"wait=2", "host=" + host, "port=" + std::to_string(port)});
    return expect_failed(driver, kind, host + ":" + std::to_string(port));
  }

  [[nodiscard]] std::string where() const { return "127.0.0.1:" + std::to_string(server.port()); }
};

class WrongCredentials : public Unusable {
 protected:
  WrongCredentials() {
    server.command({"ACL", "SETUSER", "worker", "reset", "on", ">swordfish", "~*", "&*", "+@all"});
    server.command({"ACL", "SETUSER", "default", "resetpass", ">swordfish"});
    // This test's own connections come through the socket and need the password too, so ask nothing more.
  }
  /// The connections of one attempt, an ear and a mouth, and no second attempt.
  void expect_asked_once(const std::string& kind, std::vector<std::string> words) {
    Relay relay(server.port());
    words.insert(words.end(), {"wait=2", "port=" + std::to_string(relay.port())});
    auto driver = drive_anywhere("x", words);
    const auto line = expect_failed(driver, kind, "127.0.0.1:" + std::to_string(relay.port()));
    EXPECT_TRUE(line.find("WRONGPASS") != std::string::npos || line.find("NOAUTH") != std::string::npos)
        << line;
    EXPECT_LE(relay.accepted(), 2u);
    EXPECT_LT(stamp_of(line) - stamp_of(driver.lines().front()), 1) << "was it tried again?";
  }
};

TEST_F(WrongCredentials, AWrongPasswordIsNotTriedTwice) {
  expect_asked_once("auth", {"password=open-sesame"});
}

TEST_F(WrongCredentials, AMissingPasswordIsNotTriedTwice) { expect_asked_once("auth", {}); }

TEST_F(WrongCredentials, AnUnknownUserIsNotTriedTwice) {
  expect_asked_once("auth", {"user=nobody", "password=open-sesame"});
}

TEST_F(WrongCredentials, TheRightOnesWork) {
  auto driver = drive("x", {"user=worker", "password=swordfish", "wait=2"});
  EXPECT_EQ(driver.exit_status(), 0) << driver.transcript();
}

TEST_F(Unusable, AClosedPortIsRefused) {
  int port = 0;
  {
    const Relay relay([](std::string_view) { return ""; });
    port = relay.port();
  }
  const auto line = expect_no_server("connect", "127.0.0.1", port);
  EXPECT_NE(line.find("Connection refused"), std::string::npos) << line;
}

TEST_F(Unusable, AnUnknownHostIsNamed) { expect_no_server("connect", "no-such-host.invalid", 6379); }

TEST_F(Unusable, AListenerThatSaysNothingIsWaitedForNoLongerThanAsked) {
  const Relay mute([](std::string_view) { return ""; });
  expect_no_server("connect", "127.0.0.1", mute.port());
}

TEST_F(Unusable, AWebServerIsNoRedis) {
  const Relay web([](std::string_view heard) {
    return heard.empty() ? "" : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  });
  expect_no_server("protocol", "127.0.0.1", web.port());
}

TEST_F(Unusable, AListenerThatHangsUpIsNoServer) {
  Relay relay([](std::string_view) { return ""; });
  relay.refuse(true);
  expect_no_server("connect", "127.0.0.1", relay.port());
}

/// A host name is looked up by the system's resolver, which no option of ours can hurry: so the bounds begin
/// once it has answered, as the connection's options say.
TEST_F(Unusable, AResolverThatHangsIsWaitedForAndNobodyElseIs) {
  sublock::RedisLock::Options options;
  options.timeout = 200ms;
  options.connection.url = "redis://localhost:" + std::to_string(server.port());
  sublock::RedisLock lock("x", options);
  resolver_delay = 1500;
  const double start = now();
  std::optional<sublock::Errc> error;
  std::jthread waiting([&] {
    try {
      lock.acquire();
      lock.release();
    } catch (const sublock::LockError& failure) {
      error = failure.kind();
    }
  });
  EXPECT_TRUE(eventually([] { return lookups > 0; }));
  options.connection.url = server.url();
  sublock::RedisLock numeric("y", options);
  numeric.acquire();
  EXPECT_TRUE(numeric.held());
  EXPECT_LT(now() - start, 1.0);
  waiting.join();
  resolver_delay = 0;
  EXPECT_GE(now() - start, 1.5);
  EXPECT_LE(now() - start, 1.5 + 0.2 + 1);
  EXPECT_TRUE(!error || error == sublock::Errc::connect || error == sublock::Errc::busy);
  EXPECT_NO_THROW(lock.acquire());
  EXPECT_EQ(server.subscribers("x"), 1);
}

}  // namespace
}  // namespace support
