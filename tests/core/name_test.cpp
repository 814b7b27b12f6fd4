// SPDX-License-Identifier: MIT

// Names: what is legal, what an error says about the rest, and what an ear is called.

#include <sublock/core/name.hpp>
#include <sublock/core/printable.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sublock::core {
namespace {

using namespace std::string_literals;

std::string usage(const std::function<void()>& body) {
  try {
    body();
  } catch (const LockError& error) {
    EXPECT_EQ(error.kind(), Errc::usage);
    const std::string text = error.what();
    return text.substr(0, text.find(": the call makes no sense"));
  }
  return "legal";
}

std::string channel(const std::string& name) {
  return usage([&] { check_channel(name); });
}

TEST(Channel, AnyUtf8IsLegal) {
  for (const auto& name :
       {"x"s, "!~"s, "100%s%d%n%b"s, "a*[b]?"s, "a\"b\\c"s, "a b"s, "a\tb"s, "a\nb"s, "a\r\n$1\r\nb"s,
        "a\0b"s, "\0"s, "a\x7f"s + "b", "zámek-锁"s, "🔒"s, "\xf4\x8f\xbf\xbf"s, std::string(10'000, 'x'),
        std::string(channel_bytes_max, 'y')}) {
    EXPECT_EQ(channel(name), "legal") << name;
  }
}

TEST(Channel, TheRestIsRefusedByName) {
  EXPECT_EQ(channel(""), "a channel needs a name");
  EXPECT_EQ(channel(std::string(65'537, 'y')), "a channel name has at most 65536 bytes, not 65537");
  EXPECT_EQ(channel("\x80"), "a channel name must be UTF-8: byte 0x80 at offset 0 is not");
  EXPECT_EQ(channel("ab\xff"), "a channel name must be UTF-8: byte 0xff at offset 2 is not");
  EXPECT_EQ(channel("é\xc3"), "a channel name must be UTF-8: byte 0xc3 at offset 2 is not");
  EXPECT_EQ(channel("a\xc3g"), "a channel name must be UTF-8: byte 0xc3 at offset 1 is not");
  EXPECT_EQ(channel("a\0\xc0\xaf"s), "a channel name must be UTF-8: byte 0xc0 at offset 2 is not");
  EXPECT_EQ(channel("\xed\xa0\x80"), "a channel name must be UTF-8: byte 0xed at offset 0 is not");
  EXPECT_EQ(channel("\xf4\x90\x80\x80"), "a channel name must be UTF-8: byte 0xf4 at offset 0 is not");
  EXPECT_EQ(channel("\xe0\x80\xaf"), "a channel name must be UTF-8: byte 0xe0 at offset 0 is not");
}

TEST(HolderId, HasThirtyTwoLowercaseHexDigits) {
  const auto id = [](const std::string& text) { return usage([&] { check_holder_id(text); }); };
  EXPECT_EQ(id("0123456789abcdef0123456789abcdef"), "legal");
  EXPECT_EQ(id(""), "a holder id has 32 lowercase hex digits, not 0");
  EXPECT_EQ(id(std::string(31, 'a')), "a holder id has 32 lowercase hex digits, not 31");
  EXPECT_EQ(id(std::string(33, 'a')), "a holder id has 32 lowercase hex digits, not 33");
  EXPECT_EQ(id(std::string(31, 'a') + "A"),
            "a holder id has 32 lowercase hex digits, not byte 0x41 at offset 31");
  EXPECT_EQ(id("g" + std::string(31, 'a')),
            "a holder id has 32 lowercase hex digits, not byte 0x67 at offset 0");
  EXPECT_EQ(id(std::string(32, '\0')), "a holder id has 32 lowercase hex digits, not byte 0x00 at offset 0");
}

TEST(Label, IsShortUtf8) {
  const auto label = [](const std::string& text) { return usage([&] { check_label(text); }); };
  EXPECT_EQ(label(""), "legal");
  EXPECT_EQ(label("importér\n"), "legal");
  EXPECT_EQ(label(std::string(256, 'l')), "legal");
  EXPECT_EQ(label(std::string(257, 'l')), "a label has at most 256 bytes, not 257");
  EXPECT_EQ(label("x\xff"), "a label must be UTF-8: byte 0xff at offset 1 is not");
}

TEST(ClientName, IsPortalockersWhereRedisTakesIt) {
  EXPECT_EQ(name_stem("!~"), "!~-lock");
  EXPECT_EQ(client_name("jobs", "00ff"), "jobs-lock-00ff");
  EXPECT_EQ(legacy_client_name("jobs"), "jobs-lock");
  EXPECT_EQ(client_name("a-lock-b", "c"), "a-lock-b-lock-c");
}

TEST(ClientName, IsBase64OtherwiseAndAlwaysAcceptable) {
  EXPECT_EQ(name_stem("a b"), "~YSBi~lock");
  EXPECT_EQ(name_stem("a\0b"s), "~YQBi~lock");
  EXPECT_EQ(name_stem(" "), "~IA~lock");
  EXPECT_EQ(name_stem("  "), "~ICA~lock");
  EXPECT_EQ(name_stem("    "), "~ICAgIA~lock");
  EXPECT_EQ(name_stem("zámek-锁"), "~esOhbWVrLemUgQ~lock");
  EXPECT_EQ(name_stem("\x7f\xc3\xbf\xc3\xbe\xf0\x9f\x94\x92?>"), "~f8O_w77wn5SSPz4~lock");
  EXPECT_EQ(client_name("a b", "00ff"), "~YSBi~lock-00ff");
  EXPECT_EQ(legacy_client_name("a b"), "~YSBi~lock");
  for (int byte = 0; byte < 0x80; ++byte) {
    for (const char c : client_name(std::string(5, static_cast<char>(byte)), "00ff")) {
      EXPECT_TRUE(c >= 0x21 && c <= 0x7e) << byte;
    }
  }
}

TEST(Printable, LeavesNothingThatBreaksALine) {
  EXPECT_EQ(printable("plain ~ zámek"), "plain ~ zámek");
  EXPECT_EQ(printable("a\r\n\t\0\x1b\x7f\"\\"s), R"(a\x0d\x0a\x09\x00\x1b\x7f\x22\x5c)");
}

}  // namespace
}  // namespace sublock::core
