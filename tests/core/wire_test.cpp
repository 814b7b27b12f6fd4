// SPDX-License-Identifier: MIT

// The wire: golden bytes, that Python reads too, and round trips.

#include <core/wire_samples.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/wire.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::core {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST(Wire, PingBytes) { EXPECT_EQ(encode(ping_of_ours()), golden_ping); }

TEST(Wire, PingBytesOfOneWhoWillNotWait) {
  EXPECT_EQ(encode(Ping{"jobs-00ff", true, {sample_id, 0}, HolderMode::shared, false, false}),
            R"({"message":"ping","response_channel":"jobs-00ff","sublock":{"v":1,)"
            R"("id":"0123456789abcdef0123456789abcdef","mode":"shared","waiting":false,"priority":0,)"
            R"("queue":false,"again_ms":250}})");
}

TEST(Wire, ReplyBytes) { EXPECT_EQ(encode_reply(holder_of_ours()), golden_reply); }

TEST(Wire, ReplyBytesOfOneWhoHoldsNothing) {
  EXPECT_EQ(
      encode_reply({.holder_id = sample_id, .mode = HolderMode::pending, .leaving = true, .next = true}),
      R"({"holder_id":"0123456789abcdef0123456789abcdef","mode":"pending","protocol":1,"elected":false,)"
      R"("sublock":{"v":1,"leaving":true,"next":true,"host":"","pid":0,"label":"",)"
      R"("since_ms":null,"priority":0,"waiting_ms":null,"ear":null}})");
}

TEST(Wire, EveryTextIsReadBackAsItWas) {
  std::vector<std::string> texts{"",         "plain",        "zámek 锁 😀", "\xc3",
                                 "\xe9\x94", "\xed\xa0\x80", "\xc0\xaf",   "\xf4\x90\x80\x80"};
  for (int byte = 0; byte < 256; ++byte) texts.push_back("a" + std::string(1, static_cast<char>(byte)) + "b");
  for (const std::string& text : texts) {
    std::string written;
    record::write_text(written, text);
    const auto read = record::Json::parse(written, nullptr, false);
    ASSERT_TRUE(read.is_string()) << written;
    const auto wellformed = !detail::utf8_flaw(text);
    EXPECT_EQ(read.get<std::string>() == text, wellformed) << written;
    EXPECT_EQ(written.find("\ufffd") == std::string::npos, wellformed) << written;
  }
}

TEST(Wire, HintAndGrantBytes) {
  EXPECT_EQ(encode(Hint{HintKind::wake, {}}), R"({"sublock":{"v":1,"hint":"wake","queue":[]}})");
  EXPECT_EQ(encode(Hint{HintKind::next, {"a", "b"}}),
            R"({"sublock":{"v":1,"hint":"next","queue":["a","b"]}})");
  EXPECT_EQ(encode(Grant{sample_id, "jobs-00ff", {"a"}}),
            R"({"message":"grant","response_channel":"","sublock":{"v":1,)"
            R"("to":"0123456789abcdef0123456789abcdef","nonce":"jobs-00ff","queue":["a"]}})");
}

TEST(Wire, RoundTrips) {
  for (const bool waiting : {false, true}) {
    for (const bool queue : {false, true}) {
      const Ping ping{"jobs-00ff", true, {sample_id, 7}, HolderMode::pending, waiting, queue};
      EXPECT_EQ(decode_ping(encode(ping)), ping);
    }
  }
  EXPECT_EQ(decode_reply(encode_reply(holder_of_ours())), holder_of_ours());
  Holder waiter = holder_of_ours();
  waiter.mode = HolderMode::pending;
  waiter.held_for.reset();
  waiter.waiting_for = 12ms;
  EXPECT_EQ(decode_reply(encode_reply(waiter)), waiter);
  const Hint hint{HintKind::next, {"a", "b"}};
  EXPECT_EQ(decode_hint(encode(hint)), hint);
  const Grant grant{sample_id, "jobs-00ff", {"a", "b"}};
  EXPECT_EQ(decode_grant(encode(grant)), grant);
  for (const auto mode : {HolderMode::exclusive, HolderMode::pending, HolderMode::shared}) {
    for (const bool leaving : {false, true}) {
      Holder holder{
          .holder_id = sample_id, .mode = mode, .elected = false, .sublock = true, .leaving = leaving};
      if (mode != HolderMode::pending) holder.leaving = false;
      EXPECT_EQ(decode_reply(encode_reply(holder)), holder);
    }
  }
}

TEST(Wire, ChannelsTravelByteForByte) {
  for (const auto& channel : {"a b"s, "a\tb"s, "a\nb"s, "a\r\n$1\r\nb"s, "a\0b"s, "a\x7f"s, "zámek-锁-🔒"s,
                              "a\"b\\c"s, "100%s%n"s}) {
    auto ping = ping_of_ours();
    ping.response_channel = channel;
    EXPECT_EQ(decode_ping(encode(ping)), ping) << channel;
  }
}

TEST(Wire, APingOnTheLongestChannelIsNotTooLong) {
  auto ping = ping_of_ours();
  ping.response_channel = std::string(channel_bytes_max, '\0') + "-" + sample_id;
  const auto text = encode(ping);
  EXPECT_GT(text.size(), 6 * channel_bytes_max);
  EXPECT_EQ(decode_ping(text), ping);
}

TEST(Wire, PrintsAsOneLine) {
  std::ostringstream out;
  out << wire::Reply{sample_id, HolderMode::pending, 1, false,
                     wire::ReplyExtension{1, true, false, "a\nb", 2, "", {}, 3, {}, {}}};
  EXPECT_EQ(
      out.str(),
      R"({holder_id: "0123456789abcdef0123456789abcdef", mode: pending, protocol: 1, elected: false, )"
      R"(sublock: {v: 1, leaving: true, next: false, host: "a\x0ab", pid: 2, label: "", since_ms: -, priority: 3, waiting_ms: -, ear: -}})");
  out.str("");
  out << wire::Hint{{1, HintKind::wake, {"a", "b"}}} << wire::Hint{{1, HintKind::next, {}}};
  EXPECT_EQ(out.str(),
            R"({sublock: {v: 1, hint: wake, queue: ["a", "b"]}}{sublock: {v: 1, hint: next, queue: []}})");
}

/// What Python's json makes of what we encode: keys in order, each with its type.
TEST(Wire, PythonReadsIt) {
  auto ping = ping_of_ours();
  ping.response_channel = "a\0b\nz\u00e1mek-\u9501"s;
  const auto directory = testing::TempDir();
  const auto input = directory + "sublock-wire-" + std::to_string(::getpid());
  std::ofstream(input) << encode(ping) << '\n'
                       << encode_reply(holder_of_ours()) << '\n'
                       << encode_reply({.holder_id = sample_id, .mode = HolderMode::shared}) << '\n';
  const auto command =
      "python3 -c '\nimport json, sys\n"
      "def show(v):\n"
      "  if isinstance(v, dict): return \"{\" + \" \".join(k + \"=\" + show(v[k]) for k in v) + \"}\"\n"
      "  return type(v).__name__ + \":\" + ascii(v)\n"
      "for line in open(sys.argv[1], \"rb\"): print(show(json.loads(line)))' " +
      input;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string seen;
  std::array<char, 4096> chunk{};
  while (const auto n = std::fread(chunk.data(), 1, chunk.size(), pipe)) seen.append(chunk.data(), n);
  EXPECT_EQ(::pclose(pipe), 0);
  std::remove(input.c_str());
  EXPECT_EQ(
      seen,
      "{message=str:'ping' response_channel=str:'a\\x00b\\nz\\xe1mek-\\u9501' sublock={v=int:1 "
      "id=str:'0123456789abcdef0123456789abcdef' mode=str:'pending' waiting=bool:True priority=int:7 "
      "queue=bool:True again_ms=int:2500}}\n"
      "{holder_id=str:'0123456789abcdef0123456789abcdef' mode=str:'exclusive' protocol=int:1 "
      "elected=bool:True sublock={v=int:1 leaving=bool:False next=bool:False host=str:'web-3' pid=int:812 "
      "label=str:'import\\xe9r' since_ms=int:4200 priority=int:-2 waiting_ms=NoneType:None "
      "ear=NoneType:None}}\n"
      "{holder_id=str:'0123456789abcdef0123456789abcdef' mode=str:'shared' protocol=int:1 "
      "elected=bool:False sublock={v=int:1 leaving=bool:False next=bool:False host=str:'' pid=int:0 "
      "label=str:'' since_ms=NoneType:None priority=int:0 waiting_ms=NoneType:None ear=NoneType:None}}\n");
}

}  // namespace
}  // namespace sublock::core
