// SPDX-License-Identifier: MIT

// Names and their slots, and what a node says of owners: without a server.

#include <gtest/gtest.h>

#include <sublock/redis_cluster_lock.hpp>

#include <optional>
#include <string>

namespace sublock::cluster {
namespace {

TEST(Slot, IsWhatTheSpecificationSays) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3U % slots);
  EXPECT_EQ(slot_of("foo"), 12'182U);
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_EQ(hash_tag("foo{}{bar}"), "") << "an empty tag counts for nothing";
}

TEST(Slot, IsSharedByAllThatBelongsToALock) {
  for (const std::string channel : {"{jobs}", "shop:{42}", "a{b}c}d{", "{{}", "{a}{b}"}) {
    EXPECT_NO_THROW(check_channel(channel)) << channel;
    EXPECT_EQ(slot_of(channel), slot_of(core::inbox(channel, std::string(32, 'f')))) << channel;
    EXPECT_EQ(slot_of(channel), slot_of(core::fence_key(channel))) << channel;
  }
}

TEST(Slot, TakesATag) {
  for (const std::string channel : {"jobs", "{}jobs", "{jobs", "jobs}", "}jobs{"}) {
    try {
      const RedisClusterLock lock(channel);
      ADD_FAILURE() << channel;
    } catch (const LockError& error) {
      EXPECT_EQ(error.kind(), Errc::usage);
      const std::string advice =
          channel == "}jobs{" ? "put a part of it into braces" : "write {" + channel + '}';
      EXPECT_NE(std::string(error.what()).find(advice), std::string::npos) << error.what();
    }
  }
}

/// What a node answers, byte for byte.
std::optional<SlotMap> read(const std::string& bytes) {
  const hiredis::Reader reader(::redisReaderCreate());
  ::redisReaderFeed(reader.get(), bytes.data(), bytes.size());
  void* raw = nullptr;
  EXPECT_EQ(::redisReaderGetReply(reader.get(), &raw), REDIS_OK);
  const hiredis::Reply reply(static_cast<redisReply*>(raw));
  return read_slot_map(*reply, {"asked", 1});
}

TEST(SlotMap, NamesOwnersAndWhomElseToAsk) {
  const auto map = read(
      "*2\r\n"
      "*4\r\n:0\r\n:5\r\n*3\r\n$1\r\na\r\n:7000\r\n$1\r\nx\r\n*3\r\n$1\r\nb\r\n:7001\r\n$1\r\ny\r\n"
      "*3\r\n:6\r\n:16383\r\n*3\r\n$0\r\n\r\n:7002\r\n$1\r\nz\r\n");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->find(5)->owner, (Host{"a", 7000}));
  EXPECT_EQ(map->find(6)->owner, (Host{"asked", 7002})) << "who does not know his own address";
  EXPECT_EQ(map->nodes.size(), 3U);
  EXPECT_EQ(read("*0\r\n")->find(5), nullptr);
}

TEST(SlotMap, IsNotReadFromNonsense) {
  for (const std::string bytes :
       {"+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*2\r\n:0\r\n:5\r\n", "*1\r\n*3\r\n:0\r\n:16384\r\n*0\r\n",
        "*1\r\n*3\r\n:-1\r\n:5\r\n*2\r\n$1\r\na\r\n:7000\r\n",
        "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\na\r\n:0\r\n",
        "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\na\r\n:65536\r\n", "*1\r\n*3\r\n:0\r\n:5\r\n*1\r\n$1\r\na\r\n"})
    EXPECT_FALSE(read(bytes)) << bytes;
}

}  // namespace
}  // namespace sublock::cluster
