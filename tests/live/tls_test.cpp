// SPDX-License-Identifier: MIT

// TLS to a real server: a certificate that is right, and all the ways in which one is wrong, or missing.

#include <gtest/gtest.h>

#include <sublock/redis_getlock.hpp>
#include <sublock/redis_lock.hpp>
#include <sublock/transport/openssl.hpp>
#include <support/authority.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace support {
namespace {

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    authority = std::make_unique<Authority>();
    stranger = std::make_unique<Authority>();
    authority->issue("server", "IP:127.0.0.1,DNS:localhost");
    authority->issue("elsewhere", "DNS:redis.example");
    authority->issue("expired", "IP:127.0.0.1", -2 * Authority::hour, -Authority::hour);
    authority->issue("early", "IP:127.0.0.1", Authority::hour, 2 * Authority::hour);
    authority->issue("client", "DNS:client");
    stranger->issue("client", "DNS:client");
  }
  static void TearDownTestSuite() {
    authority.reset();
    stranger.reset();
  }

  std::string enciphered(const std::string& certificate, const std::string& asks_for_clients = "no") {
    return encipher(server, *authority, certificate, asks_for_clients);
  }

  static sublock::ConnectionOptions believing(const Authority& whom, std::string url) {
    sublock::ConnectionOptions options;
    options.url = std::move(url);
    options.tls = sublock::tls({.ca_file = whom.certificate()});
    return options;
  }

  static std::string refusal(const sublock::ConnectionOptions& options,
                             sublock::Errc kind = sublock::Errc::auth) {
    try {
      static_cast<void>(sublock::connect(options));
    } catch (const sublock::LockError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "nothing refused";
  }

  inline static std::unique_ptr<Authority> authority;
  inline static std::unique_ptr<Authority> stranger;
  LiveRedis server;
};

TEST_F(Tls, ALockIsTakenLostAndHandedOver) {
  const auto options = believing(*authority, enciphered("server"));
  const auto first = sublock::connect(options);
  const auto second = sublock::connect(options);
  sublock::RedisLock holder(first, "tls");
  sublock::RedisLock waiter(second, "tls");
  holder.acquire();
  EXPECT_FALSE(waiter.try_lock());
  EXPECT_EQ(waiter.probe().size(), 1u);
  ASSERT_TRUE(holder.release());
  waiter.acquire();
  EXPECT_EQ(server.command({"CLIENT", "KILL", "TYPE", "pubsub"}), "1");
  EXPECT_TRUE(eventually([&] { return waiter.lost(); }));
  sublock::RedisGetlock lease(first, "tls-key");
  EXPECT_TRUE(lease.lock());
  EXPECT_TRUE(lease.unlock());
}

/// More than one record, and more than a socket takes at once: the errors of a hundred others in one answer each.
TEST_F(Tls, ManyBytesGetThrough) {
  const auto options = believing(*authority, enciphered("server"));
  const auto connection = sublock::connect(options);
  std::vector<std::unique_ptr<sublock::RedisLock>> readers;
  for (int i = 0; i < 100; ++i) {
    readers.push_back(std::make_unique<sublock::RedisLock>(
        connection, "many", sublock::RedisLock::Options{.label = std::string(256, 'x')}));
    readers.back()->lock_shared();
  }
  sublock::RedisLock asker(sublock::connect(options), "many");
  EXPECT_EQ(asker.probe(std::chrono::seconds(5)).size(), 100u);
  EXPECT_FALSE(asker.try_lock());
}

TEST_F(Tls, OnlyWhoIsBelievedIsTheServer) {
  const std::string url = enciphered("server");
  EXPECT_NE(refusal(believing(*stranger, url)).find("its certificate is not believed: "), std::string::npos);
  auto careless = believing(*stranger, url);
  careless.tls = sublock::tls({.ca_file = stranger->certificate(), .verify = false});
  EXPECT_NO_THROW(static_cast<void>(sublock::connect(careless)));
  sublock::ConnectionOptions plain;
  plain.url = url;
  plain.tls = sublock::tls();
  EXPECT_NE(refusal(plain).find("not believed"), std::string::npos)
      << "the system doesn't know our authority";
}

TEST_F(Tls, TheNameMustBeTheServersOwn) {
  const std::string url = enciphered("elsewhere");
  EXPECT_NE(refusal(believing(*authority, url)).find("IP address mismatch"), std::string::npos);
  auto named = believing(*authority, url);
  named.tls = sublock::tls({.ca_file = authority->certificate(), .server_name = "redis.example"});
  EXPECT_NO_THROW(static_cast<void>(sublock::connect(named)));
  named.tls = sublock::tls({.ca_file = authority->certificate(), .server_name = "other.example"});
  EXPECT_NE(refusal(named).find("hostname mismatch"), std::string::npos);
}

TEST_F(Tls, ACertificateHasItsTime) {
  EXPECT_NE(refusal(believing(*authority, enciphered("expired"))).find("has expired"), std::string::npos);
  EXPECT_NE(refusal(believing(*authority, enciphered("early"))).find("not yet valid"), std::string::npos);
}

TEST_F(Tls, AServerMayAskWhoWeAre) {
  const std::string url = enciphered("server", "yes");
  EXPECT_NE(refusal(believing(*authority, url)).find("certificate required"), std::string::npos);
  auto careless = believing(*authority, url);
  careless.tls = sublock::tls({.ca_file = stranger->certificate(), .verify = false});
  EXPECT_NE(refusal(careless).find("certificate required"), std::string::npos)
      << "whoever does not look at theirs has nothing against it";
  auto known = believing(*authority, url);
  const auto with = [&](const Authority& whose) {
    return sublock::tls({.ca_file = authority->certificate(),
                         .certificate_file = whose.certificate("client"),
                         .key_file = whose.key("client")});
  };
  known.tls = with(*authority);
  sublock::RedisLock lock(sublock::connect(known), "tls");
  EXPECT_TRUE(lock.try_lock());
  known.tls = with(*stranger);
  EXPECT_NE(refusal(known).find("TLS: "), std::string::npos);
}

TEST_F(Tls, WhoDoesNotSpeakItIsFoundOut) {
  sublock::ConnectionOptions plain;
  plain.url = "rediss://127.0.0.1:" + std::to_string(server.port());
  plain.tls = sublock::tls();
  plain.connect_timeout = std::chrono::milliseconds(300);
  const std::string text = refusal(plain, sublock::Errc::connect);
  EXPECT_NE(text.find("does it speak TLS there?"), std::string::npos) << text;
  // The other way round, the server hangs up.
  sublock::ConnectionOptions bare;
  bare.url = enciphered("server");
  bare.url.replace(0, 9, "redis://");
  EXPECT_NE(refusal(bare, sublock::Errc::connect), "");
}

TEST_F(Tls, WhatCanNotBeReadIsRefusedAtTheDoor) {
  const auto refused = [](const sublock::TlsOptions& options) {
    try {
      static_cast<void>(sublock::tls(options));
    } catch (const sublock::LockError& error) {
      return error.kind() == sublock::Errc::usage;
    }
    return false;
  };
  EXPECT_TRUE(refused({.ca_file = "/nowhere"}));
  EXPECT_TRUE(refused({.certificate_file = authority->certificate("client")}));
  EXPECT_TRUE(
      refused({.certificate_file = authority->certificate("client"), .key_file = authority->key("server")}));
  EXPECT_TRUE(refused({.certificate_file = "/nowhere", .key_file = authority->key("client")}));
  EXPECT_EQ(refusal({.url = "redis://127.0.0.1", .tls = sublock::tls()}, sublock::Errc::usage).find("can't"),
            std::string::npos);
}

}  // namespace
}  // namespace support
