// SPDX-License-Identifier: MIT

// Which names are legal. The server refuses connection names with blanks, control or non-ASCII bytes, C ends at NUL
// and takes percent signs for formats, patterns take `*` for anything: a name works byte for byte, or is refused
// before anything is sent.

#include <cases/cases.hpp>

#include <sublock/redis_lock.hpp>

#include <optional>

namespace support {
namespace {

using namespace std::string_literals;
using sublock::RedisLock;

const std::string longest_common = std::string(10'000, 'x');
/// What portalocker can be given as well.
const std::vector<std::string> plain_names = {"!~", "100%s%d%n%b", "a*[b]?", "a\"b\\c", longest_common};

class ChannelNames : public Cases {
 protected:
  RedisLock::Options options() { return {.connection = {.url = server.url()}}; }

  long connections_received() {
    const auto stats = server.command({"INFO", "stats"});
    const auto key = "total_connections_received:"s;
    return std::stol(stats.substr(stats.find(key) + key.size()));
  }

  void expect_works(const std::string& name) {
    RedisLock holder(name, options());
    holder.acquire();
    EXPECT_EQ(server.subscribers(name), 1);
    // The channel, the response channel and the roster, and nothing cut short or expanded.
    const auto channels = server.command({"PUBSUB", "CHANNELS"});
    EXPECT_EQ(channels.size(), 3 * name.size() + 2 * ("\n-"s.size() + 32));
    RedisLock other(name, options());
    EXPECT_FALSE(other.try_lock());
    EXPECT_TRUE(holder.release());
    EXPECT_EQ(server.subscribers(name), 0);
    EXPECT_TRUE(other.try_lock());
    EXPECT_TRUE(other.release());
  }

  void expect_refused(const std::string& name, const std::string& because) {
    const long before = connections_received();
    try {
      const RedisLock lock(name, options());
      FAIL() << "it was taken";
    } catch (const sublock::LockError& error) {
      EXPECT_EQ(error.kind(), sublock::Errc::usage);
      EXPECT_NE(std::string(error.what()).find(because), std::string::npos) << error.what();
    }
    EXPECT_EQ(connections_received(), before + 1) << "only that of the question";
  }
};

TEST_F(ChannelNames, WorkByteForByte) {
  auto names = plain_names;
  for (const char* const odd : {"a b", "a\tb", "a\nb", "a\r\n$1\r\nb",
                                "a\x7f"
                                "b",
                                "zámek-锁", " ", "-lock", "%"})
    names.emplace_back(odd);
  names.push_back("a\0b"s);
  names.push_back("\0"s);
  names.push_back(std::string(65'536, 'z'));
  for (const std::string& name : names) {
    SCOPED_TRACE(name.substr(0, 40));
    expect_works(name);
  }
}

TEST_F(ChannelNames, AreRefusedBeforeAnythingIsSent) {
  expect_refused("", "needs a name");
  expect_refused("\x80", "byte 0x80 at offset 0");
  expect_refused("zám\xff", "byte 0xff at offset 4");
  expect_refused("cut\xe9\x94", "byte 0xe9 at offset 3");
  expect_refused(std::string(1'000'000, 'y'), "65536 bytes, not 1000000");
}

TEST_F(ChannelNames, AreRefusedByTheDriverAsUsage) {
  for (const char* const name : {"", "\x80"}) {
    auto driver = drive(name, {"wait=1"});
    driver.expect_line(" FAILED usage ");
    EXPECT_EQ(driver.exit_status(), 1);
    EXPECT_EQ(count(driver, "TRY"), 0);
  }
}

TEST_F(ChannelNames, AreNoPatternsAndDoNotEndAtNul) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"lock*", "lockX"}, {"a\0b"s, "a"}, {"a\0b"s, "a\0c"s}, {"a", "A"},
      {"a", "a "},        {"a[b]", "ab"}, {"%s", "%d"}};
  for (const auto& [held, free] : pairs) {
    SCOPED_TRACE(held);
    RedisLock one(held, options());
    one.acquire();
    RedisLock other(free, options());
    EXPECT_TRUE(other.try_lock());
    EXPECT_TRUE(other.release());
    EXPECT_TRUE(one.release());
  }
}

TEST_F(ChannelNames, AreTheSameInAnotherProcess) {
  auto names = plain_names;
  for (const char* const odd : {"a b", "a\r\nb", "zámek-锁"}) names.emplace_back(odd);
  for (const std::string& name : names) {
    SCOPED_TRACE(name.substr(0, 40));
    RedisLock ours(name, options());
    ours.acquire();
    auto theirs = drive(name, {"try"});
    theirs.expect_line(" FAILED busy");
    EXPECT_TRUE(ours.release());
  }
}

TEST_F(ChannelNames, AreTheSameForPortalocker) {
  for (const std::string& name : plain_names) {
    SCOPED_TRACE(name.substr(0, 40));
    auto theirs = peer("portalocker_peer.py", server, name);
    theirs.expect_line(" GOT$");
    auto ours = drive(name, {"try"});
    ours.expect_line(" FAILED busy");
    theirs.say("release");
    EXPECT_EQ(theirs.exit_status(), 0);
    auto holder = drive(name, {"hold=60"});
    holder.expect_line(" GOT$");
    auto refused = peer("portalocker_peer.py", server, name, {"wait=0.2"});
    refused.expect_line(" FAILED ");
    expect_kept(holder);
  }
}

}  // namespace
}  // namespace support
