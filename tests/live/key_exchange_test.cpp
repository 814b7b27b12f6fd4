// SPDX-License-Identifier: MIT

// What is said about a key to a server that has no SET with options, reply by reply.

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <sublock/transport/hiredis/key_exchange.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace sublock::hiredis {
namespace {

class OldServer : public ::testing::Test {
 protected:
  /// The names of the commands that are to be sent now.
  static std::string said(KeyExchange& exchange) {
    std::string names;
    const std::string bytes = exchange.take_bytes();
    for (std::size_t at = bytes.find('*'); at != std::string::npos; at = bytes.find("\r\n*", at + 1)) {
      const std::size_t length = bytes.find('$', at);
      const std::size_t start = bytes.find("\r\n", length) + 2;
      names += bytes.substr(start, bytes.find("\r\n", start) - start) + ' ';
    }
    return names;
  }

  static bool hears(KeyExchange& exchange, std::string_view bytes) {
    const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(),
                                                                          redisReaderFree);
    redisReaderFeed(reader.get(), bytes.data(), bytes.size());
    bool all = true;
    for (void* reply = nullptr;;) {
      if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK) throw std::logic_error("no RESP");
      if (reply == nullptr) return all;
      all = exchange.take(*static_cast<redisReply*>(reply)) && all;
      freeReplyObject(reply);
    }
  }

  KeyExchange take{core::Verb::take, {"k", "mine:", "mine:1", std::chrono::milliseconds(1500)}, true};
};

TEST_F(OldServer, IsAskedTwiceAndTheSecondTimeAtOnce) {
  EXPECT_EQ(said(take), "MULTI DISCARD WATCH TYPE GETRANGE TTL ");
  EXPECT_TRUE(hears(take, "+OK\r\n+OK\r\n+OK\r\n+none\r\n$0\r\n\r\n:-2\r\n"));
  EXPECT_EQ(said(take), "MULTI SETNX EXPIRE EXEC ");
  EXPECT_FALSE(take.done());
  EXPECT_TRUE(hears(take, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n"));
  EXPECT_TRUE(take.done());
  EXPECT_TRUE(std::get<core::event::Keyed>(take.event("here")).done);
}

TEST_F(OldServer, IsToldToDoNothingByOneWhoMayNotTransact) {
  said(take);
  EXPECT_TRUE(hears(take,
                    "-ERR unknown command 'MULTI'\r\n-ERR DISCARD without MULTI\r\n+OK\r\n+none\r\n"
                    "$0\r\n\r\n:-2\r\n"));
  EXPECT_EQ(said(take), "UNWATCH ") << "nothing would hold SETNX and EXPIRE together";
  EXPECT_TRUE(hears(take, "+OK\r\n"));
  const auto refused = std::get<core::event::Refused>(take.event("here"));
  EXPECT_EQ(refused.failure.code, Errc::permission);
  EXPECT_NE(refused.failure.text.find("MULTI"), std::string::npos) << refused.failure.text;
}

TEST_F(OldServer, WhoseKeyHasChangedInBetweenWasNotTaken) {
  said(take);
  hears(take, "+OK\r\n+OK\r\n+OK\r\n+none\r\n$0\r\n\r\n:-2\r\n");
  said(take);
  EXPECT_TRUE(hears(take, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n"));
  EXPECT_FALSE(std::get<core::event::Keyed>(take.event("here")).done);
}

TEST_F(OldServer, WhatMakesNoSenseIsSeen) {
  said(take);
  EXPECT_FALSE(hears(take, ":1\r\n"));
}

}  // namespace
}  // namespace sublock::hiredis
