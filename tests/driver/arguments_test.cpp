// SPDX-License-Identifier: MIT

// The driver's words, without a lock: a check that reads a wrong number as another one proves nothing.

#include "driver/arguments.hpp"
#include "driver/report.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <vector>

namespace driver {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Arguments parsed(std::initializer_list<const char*> words) {
  const std::vector<const char*> list(words);
  return parse(list);
}

TEST(Arguments, HaveDefaults) {
  const Arguments arguments = parsed({"lock", "a"});
  EXPECT_EQ(arguments.name, "a");
  EXPECT_EQ(arguments.wait, seconds(5));
  EXPECT_EQ(arguments.hold, seconds(0));
  EXPECT_EQ(arguments.url, "redis://127.0.0.1:6379");
  EXPECT_FALSE(arguments.shared || arguments.loop || arguments.try_once || arguments.fencing ||
               arguments.say_leaving);
  EXPECT_FALSE(arguments.unavailable_timeout || arguments.check_interval);
  const Arguments of_key = parsed({"key", "a"});
  EXPECT_EQ(of_key.wait, seconds(5));
  EXPECT_EQ(of_key.ask_every, sublock::infinite);
  EXPECT_FALSE(of_key.expire || of_key.interval);
}

TEST(Arguments, TakeTheChannelByItsPlaceWhateverItLooksLike) {
  for (const char* const channel : {"", "-lock-x", "a=b", "try", "wait=3", "\x80", "--help"})
    EXPECT_EQ(parsed({"lock", channel, "shared"}).name, channel);
}

TEST(Arguments, ReadEveryWord) {
  const Arguments arguments =
      parsed({"lock", "a", "shared", "loop", "wait=0.25", "hold=1.5", "U=3", "C=0.001", "host=::1",
              "port=7000", "user=u", "password=p=q", "id=0123456789ABCDEF0123456789abcdef", "label=a b",
              "overlap=in:k", "fencing", "leaving"});
  EXPECT_TRUE(arguments.shared && arguments.loop && arguments.fencing && arguments.say_leaving);
  EXPECT_EQ(arguments.wait, milliseconds(250));
  EXPECT_EQ(arguments.hold, milliseconds(1500));
  EXPECT_EQ(arguments.unavailable_timeout, seconds(3));
  EXPECT_EQ(arguments.check_interval, milliseconds(1));
  EXPECT_EQ(arguments.url, "redis://[::1]:7000");
  EXPECT_EQ(arguments.user, "u");
  EXPECT_EQ(arguments.password, "p=q");
  EXPECT_EQ(arguments.holder_id, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(arguments.label, "a b");
  EXPECT_EQ(arguments.overlap_key, "in:k");
  EXPECT_EQ(parsed({"lock", "a", "url=unix:///x"}).url, "unix:///x");
}

TEST(Arguments, ReadTheWordsOfAKey) {
  const Arguments arguments = parsed({"key", "k", "expire=0.5", "interval=0.1", "mine=0.05", "wait=8",
                                      "hold=1", "loop", "overlap=in:k", "U=3", "port=7000", "fencing"});
  EXPECT_EQ(arguments.verb, Verb::key);
  EXPECT_EQ(arguments.name, "k");
  EXPECT_EQ(arguments.expire, milliseconds(500));
  EXPECT_EQ(arguments.interval, milliseconds(100));
  EXPECT_EQ(arguments.ask_every, milliseconds(50));
  EXPECT_EQ(arguments.wait, seconds(8));
  EXPECT_EQ(arguments.url, "redis://127.0.0.1:7000");
  EXPECT_TRUE(arguments.loop && arguments.fencing);
}

TEST(Arguments, RefuseTheWordsOfTheOtherKind) {
  for (const char* const text :
       {"shared", "leaving", "C=1", "id=0123456789abcdef0123456789abcdef", "label=x"}) {
    EXPECT_NO_THROW(static_cast<void>(parsed({"lock", "a", text}))) << text;
    EXPECT_THROW(parsed({"key", "a", text}), UsageError) << text;
  }
  for (const char* const text : {"expire=2", "interval=1", "mine=1"}) {
    EXPECT_NO_THROW(static_cast<void>(parsed({"key", "a", text}))) << text;
    EXPECT_THROW(parsed({"lock", "a", text}), UsageError) << text;
  }
  for (const char* const text : {"expire=-1", "expire=nan", "interval=-1", "interval=", "mine=x"})
    EXPECT_THROW(parsed({"key", "a", text}), UsageError) << text;
}

TEST(Arguments, AreExactToTheMillisecond) {
  for (int count = 1; count <= 3000; ++count) {
    const std::string text =
        "expire=" + std::to_string(count / 1000) + "." + std::to_string(1000 + count % 1000).substr(1);
    EXPECT_EQ(parsed({"key", "a", text.c_str()}).expire, milliseconds(count)) << text;
  }
}

TEST(Arguments, LetTryOverrideWaitInEitherOrder) {
  EXPECT_EQ(parsed({"lock", "a", "try", "wait=9"}).wait, seconds(0));
  EXPECT_EQ(parsed({"lock", "a", "wait=9", "try"}).wait, seconds(0));
}

TEST(Arguments, SaturateWhatIsTooLong) {
  for (const char* const text : {"wait=1e300", "wait=1e400", "wait=9.3e9", "wait=inf"})
    EXPECT_EQ(parsed({"lock", "a", text}).wait, sublock::infinite) << text;
  EXPECT_EQ(parsed({"lock", "a", "wait=1e-400"}).wait, seconds(0));
  EXPECT_EQ(parsed({"lock", "a", "wait=1e-12"}).wait, std::chrono::nanoseconds(1))
      << "rounded up, not to never";
}

TEST(Arguments, RefuseWhatIsNoNumberOrNoWord) {
  for (const char* const text : {"wait=",      "wait=nan",
                                 "wait=-nan",  "wait=-1",
                                 "wait=-0",    "wait=-inf",
                                 "wait=1x",    "wait= 1",
                                 "wait=1 ",    "wait=+1",
                                 "wait=0x1",   "wait=1e-",
                                 "hold=1,5",   "U=s",
                                 "C=-1",       "port=0",
                                 "port=65536", "port=1.5",
                                 "port=",      "id=",
                                 "id=0123",    "id=0123456789abcdef0123456789abcdeg",
                                 "Wait=1",     "wait",
                                 "try=1",      "",
                                 "shard"})
    EXPECT_THROW(parsed({"lock", "a", text}), UsageError) << text;
  EXPECT_THROW(parsed({"lock", "a", "url=redis://x", "port=1"}), UsageError);
  EXPECT_THROW(parsed({"lock"}), UsageError);
  EXPECT_THROW(parsed({}), UsageError);
  EXPECT_THROW(parsed({"key"}), UsageError);
  EXPECT_THROW(parsed({"lok", "a"}), UsageError);
}

TEST(Report, KeepsALineOneLine) {
  EXPECT_EQ(printable("a b~"), "a b~");
  EXPECT_EQ(printable(std::string_view("\r\n\0\x7f\xc3\xa1", 6)), "\\x0d\\x0a\\x00\\x7f\\xc3\\xa1");
}

}  // namespace
}  // namespace driver
