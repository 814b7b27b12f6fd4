// SPDX-License-Identifier: MIT

// Everything that strangers may publish, on a stack of 512 KB: ignored, or taken for the worst it could mean.

#include <core/wire_samples.hpp>
#include <sublock/core/wire.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::core {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

/// 512 KB of stack, as under `ulimit -s 512`: what recurses into a stranger's message dies here.
void with_a_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 512UL * 1024), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &body), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

std::string times(std::size_t n, std::string_view text) {
  std::string out;
  out.reserve(n * text.size());
  while (n-- > 0) out += text;
  return out;
}

TEST(Wire, AStrangerCannotForgeALogLine) {
  std::ostringstream out;
  out << decode_reply(R"({"holder_id":"x\n1.0 GOT","mode":"pending","protocol":1})");
  EXPECT_EQ(out.str(), R"(pending x\x0a1.0 GOT)");
}

// --- pings

TEST(WirePing, OfPortalocker) {
  const auto ping = decode_ping(R"({"response_channel": "jobs-0.25", "message": "ping"})");
  ASSERT_TRUE(ping);
  EXPECT_EQ(*ping, (Ping{"jobs-0.25"}));
  EXPECT_FALSE(ping->sublock);
}

TEST(WirePing, HostileOnesAreIgnored) {
  const auto valid = std::string(golden_ping);
  const std::vector<std::pair<std::string, std::string>> payloads = {
      {"text", "hello"},
      {"nothing", ""},
      {"array", "[]"},
      {"null", "null"},
      {"number", "5"},
      {"string", R"("response_channel")"},
      {"object", "{}"},
      {"response channel is a number", R"({"response_channel":5})"},
      {"is null", R"({"response_channel":null})"},
      {"is an array", R"({"response_channel":["x"]})"},
      {"is an object", R"({"response_channel":{"response_channel":"x"}})"},
      {"is empty", R"({"response_channel":""})"},
      {"is not UTF-8", "{\"response_channel\":\"x\xff\"}"},
      {"is a surrogate in UTF-8", "{\"response_channel\":\"x\xed\xa0\x80\"}"},
      {"is half a surrogate pair", R"({"response_channel":"x\ud800"})"},
      {"is overlong", "{\"response_channel\":\"x\xc0\xaf\"}"},
      {"contains a raw NUL", "{\"response_channel\":\"x\0y\"}"s},
      {"contains a raw line end", "{\"response_channel\":\"x\ny\"}"},
      {"another key is not UTF-8", "{\"response_channel\":\"x\",\"\xff\":1}"},
      {"bytes", "\xff\xfe\0"s},
      {"UTF-16", "\xff\xfe{\0}\0"s},
      {"10,000 [", times(10'000, "[")},
      {"10,000 {", times(10'000, R"({"a":)")},
      {"nested arrays", times(10'000, "[") + times(10'000, "]")},
      {"nested objects", times(10'000, R"({"a":)") + "1" + times(10'000, "}")},
      {"too deep arrays", R"({"response_channel":"x","a":)" + times(20, "[") + times(20, "]") + "}"},
      {"too deep objects",
       R"({"response_channel":"x","sublock":)" + times(20, R"({"sublock":)") + "1" + times(21, "}")},
      {"text after it", valid + " x"},
      {"another after it", valid + valid},
      {"a NUL after it", valid + "\0"s},
      {"a NUL and more after it", valid + "\0x"s},
      {"a byte order mark", "\xef\xbb\xbf" + valid},
      {"half of it", valid.substr(0, valid.size() / 2)},
      {"a comment", "/**/" + valid},
      {"single quotes", "{'response_channel':'x'}"},
      {"a comma too much", R"({"response_channel":"x",})"},
      {"two keys, the last one empty", R"({"response_channel":"x","response_channel":""})"},
      {"two keys, the last one a number", R"({"response_channel":"x","response_channel":5})"},
      {"two keys, the last one an array", R"({"response_channel":"x","response_channel":[]})"},
      {"a number no double holds", R"({"response_channel":"x","a":1e999})"},
      {"1 MB of padding", R"({"response_channel":"x","a":")" + std::string(1UL << 20, 'x') + "\"}"},
      {"1 MB of space", std::string(1UL << 20, ' ') + valid},
      {"1 MB of padding in arrays", R"({"response_channel":"x","a":[)" + times(1UL << 19, "0,") + "0]}"},
      {"16 MB", std::string(16UL << 20, 'x')},
      {"a grant", encode(Grant{sample_id, "jobs-00ff", {}})},
  };
  with_a_small_stack([&] {
    for (const auto& [what, payload] : payloads) {
      EXPECT_EQ(decode_ping(payload), std::nullopt) << what;
      EXPECT_FALSE(decode_hint(payload)) << what;
      EXPECT_EQ(decode_grant(payload).has_value(), what == "a grant") << what;
    }
  });
}

TEST(WirePing, DoubtfulOnesAreAnswered) {
  EXPECT_EQ(decode_ping(R"({"response_channel":"x","response_channel":"y"})")->response_channel, "y");
  EXPECT_EQ(decode_ping(R"({"response_channel":5,"response_channel":"y"})")->response_channel, "y");
  EXPECT_EQ(
      decode_ping(R"({"response_channel":[[{"a":1}]],"b":{"response_channel":[]},"response_channel":"y"})")
          ->response_channel,
      "y");
  EXPECT_EQ(decode_ping(R"({"response_channel":"y","b":{"response_channel":"z"}})")->response_channel, "y");
  EXPECT_EQ(decode_ping(" \t\r\n" + std::string(golden_ping) + " \t\r\n"), ping_of_ours());
  EXPECT_EQ(decode_ping(R"({"message":["pong"],"response_channel":"x\u0000\ud83d\udd12"})")->response_channel,
            "x\0🔒"s);
  EXPECT_TRUE(decode_ping(R"({"response_channel":"x","a":)" + times(15, "[") + times(15, "]") + "}"));
  EXPECT_TRUE(decode_ping(R"({"response_channel":"x","a":[)" + times(100'000, "0,") + "0]}"));
}

TEST(WirePing, AnExtensionThatMakesNoSenseIsAbsent) {
  const auto with = [](std::string_view extension) {
    return decode_ping(R"({"response_channel":"x","sublock":)" + std::string(extension) + "}");
  };
  EXPECT_TRUE(with(R"({"v":1,"id":"a","mode":"pending","waiting":false})")->sublock);
  EXPECT_TRUE(with(R"({"v":1,"id":"a","mode":"shared","waiting":true,"priority":null,"new":[1]})")->sublock);
  EXPECT_EQ(with(R"({"v":1,"id":"a","mode":"pending","waiting":false,"priority":-9})")->from,
            (Candidate{"a", -9}));
  EXPECT_FALSE(with(R"({"v":1,"id":"a","mode":"pending","waiting":true,"queue":null})")->queue);
  EXPECT_EQ(with(R"({"v":1,"id":"a","mode":"pending","waiting":true})")->interval, 250ms);
  EXPECT_EQ(with(R"({"v":1,"id":"a","mode":"pending","waiting":true,"again_ms":-1})")->interval, 1ms);
  EXPECT_EQ(
      with(R"({"v":1,"id":"a","mode":"pending","waiting":true,"again_ms":9223372036854775807})")->interval,
      1h)
      << "nobody is remembered for ever";
  for (const auto& extension : {
           "5"s,
           "null"s,
           "[]"s,
           "{}"s,
           R"("v")"s,
           R"({"v":2,"id":"a","mode":"pending","waiting":true})"s,
           R"({"v":true,"id":"a","mode":"pending","waiting":true})"s,
           R"({"v":1.0,"id":"a","mode":"pending","waiting":true})"s,
           R"({"id":"a","mode":"pending","waiting":true})"s,
           R"({"v":1,"id":5,"mode":"pending","waiting":true})"s,
           R"({"v":1,"id":"","mode":"pending","waiting":true})"s,
           R"({"v":1,"mode":"pending","waiting":true})"s,
           R"({"v":1,"id":"a","mode":"exclusive","waiting":true})"s,
           R"({"v":1,"id":"a","mode":"PENDING","waiting":true})"s,
           R"({"v":1,"id":"a","mode":1,"waiting":true})"s,
           R"({"v":1,"id":"a","waiting":true})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":1})"s,
           R"({"v":1,"id":"a","mode":"pending"})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":true,"queue":1})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":true,"priority":"1"})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":true,"priority":1.5})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":true,"priority":9223372036854775808})"s,
           R"({"v":1,"id":"a","mode":"pending","waiting":true,"priority":99999999999999999999})"s,
           R"({"v":1,"id":")" + std::string(holder_id_bytes_max + 1, 'a') +
               R"(","mode":"pending","waiting":true})",
       }) {
    const auto ping = with(extension);
    ASSERT_TRUE(ping) << extension;
    EXPECT_EQ(*ping, Ping{"x"}) << extension;
  }
}

// --- replies

TEST(WireReply, OfPortalocker) {
  EXPECT_EQ(decode_reply(R"({"holder_id": "ab", "mode": "shared", "protocol": 1})"),
            (Holder{.holder_id = "ab", .mode = HolderMode::shared}));
  EXPECT_EQ(decode_reply(R"({"holder_id": "ab", "mode": "pending", "protocol": 1, "elected": true})"),
            (Holder{.holder_id = "ab", .mode = HolderMode::pending, .elected = true}));
}

TEST(WireReply, WhatIsNotClearIsALegacyExclusiveHolder) {
  const std::vector<std::pair<std::string, std::string>> payloads = {
      {"text", "hello"},
      {"nothing", ""},
      {"a byte", "\xff"},
      {"10,000 [", times(10'000, "[")},
      {"nested arrays", times(10'000, "[") + times(10'000, "]")},
      {"nested objects", times(10'000, R"({"sublock":)") + "1" + times(10'000, "}")},
      {"an array", "[]"},
      {"an object", "{}"},
      {"a timestamp", "1712345.25"},
      {"protocol 2", R"({"holder_id":"a","mode":"pending","protocol":2})"},
      {"protocol true", R"({"holder_id":"a","mode":"pending","protocol":true})"},
      {"protocol 1.0", R"({"holder_id":"a","mode":"pending","protocol":1.0})"},
      {"protocol text", R"({"holder_id":"a","mode":"pending","protocol":"1"})"},
      {"protocol null", R"({"holder_id":"a","mode":"pending","protocol":null})"},
      {"protocol 2^64 + 1", R"({"holder_id":"a","mode":"pending","protocol":18446744073709551617})"},
      {"no protocol", R"({"holder_id":"a","mode":"pending"})"},
      {"the last protocol is 2", R"({"holder_id":"a","mode":"pending","protocol":1,"protocol":2})"},
      {"mode SHARED", R"({"holder_id":"a","mode":"SHARED","protocol":1})"},
      {"no mode", R"({"holder_id":"a","protocol":1})"},
      {"mode null", R"({"holder_id":"a","mode":null,"protocol":1})"},
      {"no holder_id", R"({"mode":"pending","protocol":1})"},
      {"holder_id 5", R"({"holder_id":5,"mode":"pending","protocol":1})"},
      {"empty holder_id", R"({"holder_id":"","mode":"pending","protocol":1})"},
      {"long holder_id", R"({"holder_id":")" + std::string(257, 'a') + R"(","mode":"pending","protocol":1})"},
      {"holder_id is not UTF-8", "{\"holder_id\":\"\xff\",\"mode\":\"pending\",\"protocol\":1}"},
      {"text after it", R"({"holder_id":"a","mode":"pending","protocol":1}x)"},
      {"a NUL after it", "{\"holder_id\":\"a\",\"mode\":\"pending\",\"protocol\":1}\0"s},
      {"a byte order mark", "\xef\xbb\xbf{\"holder_id\":\"a\",\"mode\":\"pending\",\"protocol\":1}"},
      {"NaN", R"({"holder_id":"a","mode":"pending","protocol":1,"a":NaN})"},
      {"10 MB", std::string(10UL << 20, 'x')},
      {"a ping", std::string(golden_ping)},
  };
  with_a_small_stack([&] {
    for (const auto& [what, payload] : payloads) {
      EXPECT_EQ(decode_reply(payload), Holder{.legacy = true}) << what;
    }
  });
}

TEST(WireReply, ElectedMustBeABoolean) {
  for (const auto* elected : {"1", "\"true\"", "null", "[true]", "{}"}) {
    const auto text = R"({"holder_id":"a","mode":"pending","protocol":1,"elected":)"s + elected + "}";
    EXPECT_EQ(decode_reply(text), (Holder{.holder_id = "a", .mode = HolderMode::pending})) << elected;
  }
}

TEST(WireReply, AnExtensionThatMakesNoSenseIsAbsent) {
  const auto with = [](std::string_view key, std::string_view value) {
    auto reply = record::Json::parse(golden_reply);
    reply["mode"] = "pending";
    reply["elected"] = false;
    reply["sublock"]["leaving"] = true;
    if (value.empty()) {
      reply["sublock"].erase(std::string(key));
    } else {
      reply["sublock"][std::string(key)] = record::Json::parse(value);
    }
    return decode_reply(reply.dump());
  };
  EXPECT_TRUE(with("unknown", "[{}]").leaving);
  EXPECT_TRUE(with("since_ms", "").leaving);
  EXPECT_TRUE(with("since_ms", "null").leaving);
  EXPECT_EQ(with("priority", "").priority, 0);
  EXPECT_EQ(with("label", "\"x\"").label, "x");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"v", "2"},
                                                        {"v", "true"},
                                                        {"v", ""},
                                                        {"leaving", "1"},
                                                        {"leaving", "null"},
                                                        {"leaving", ""},
                                                        {"next", "0"},
                                                        {"host", "5"},
                                                        {"host", ""},
                                                        {"pid", "\"5\""},
                                                        {"pid", "1.5"},
                                                        {"label", "null"},
                                                        {"since_ms", "-1"},
                                                        {"since_ms", "\"now\""},
                                                        {"since_ms", "1.5"},
                                                        {"since_ms", "9223372036854775807"},
                                                        {"waiting_ms", "-1"},
                                                        {"waiting_ms", "9223372036854775807"},
                                                        {"priority", "true"},
                                                        {"priority", "9223372036854775808"}}) {
    EXPECT_EQ(with(key, value),
              (Holder{.holder_id = sample_id, .mode = HolderMode::pending, .elected = false}))
        << key << ' ' << value;
  }
}

TEST(WireReply, LeavingIsBelievedOnlyOfOneWhoClaimsNothing) {
  const auto leaving = [](std::string_view mode, std::string_view elected) {
    auto reply = record::Json::parse(golden_reply);
    reply["mode"] = mode;
    reply["elected"] = record::Json::parse(elected);
    reply["sublock"]["leaving"] = true;
    return decode_reply(reply.dump()).leaving;
  };
  EXPECT_TRUE(leaving("pending", "false"));
  EXPECT_FALSE(leaving("pending", "true"));
  EXPECT_FALSE(leaving("exclusive", "true"));
  EXPECT_FALSE(leaving("exclusive", "false"));
  EXPECT_FALSE(leaving("shared", "false"));
}

TEST(WireReply, LongTextsAreCutBetweenCharacters) {
  auto holder = holder_of_ours();
  holder.host = std::string(255, 'h') + "é";
  holder.label = std::string(1000, 'l');
  const auto back = decode_reply(encode_reply(holder));
  EXPECT_EQ(back.host, std::string(255, 'h'));
  EXPECT_EQ(back.label, std::string(256, 'l'));
}

TEST(WireReply, AHostThatIsNotUtf8DoesNotThrow) {
  auto holder = holder_of_ours();
  holder.host = "h\xff";
  EXPECT_EQ(decode_reply(encode_reply(holder)).host, "h\uFFFD");
}

// --- hints and grants

TEST(WireGrant, MustSayForWhomAndForWhichPing) {
  EXPECT_TRUE(decode_grant(
      R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"a","nonce":"n","queue":[]}})"));
  for (const auto* text :
       {R"({"message":"ping","response_channel":"","sublock":{"v":1,"to":"a","nonce":"n","queue":[]}})",
        R"({"message":"grant","response_channel":"x","sublock":{"v":1,"to":"a","nonce":"n","queue":[]}})",
        R"({"message":"grant","sublock":{"v":1,"to":"a","nonce":"n","queue":[]}})",
        R"({"message":"grant","response_channel":"","sublock":{"v":2,"to":"a","nonce":"n","queue":[]}})",
        R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"","nonce":"n","queue":[]}})",
        R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"a","nonce":"","queue":[]}})",
        R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"a","nonce":"n","queue":[1]}})",
        R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"a","nonce":"n"}})",
        R"({"message":"grant","response_channel":""})"}) {
    EXPECT_FALSE(decode_grant(text)) << text;
    EXPECT_FALSE(decode_hint(text)) << text;
  }
}

TEST(WireHint, TakesTheFirst64OfAQueue) {
  Hint hint{HintKind::wake, std::vector<std::string>(100, "w")};
  hint.queue[63] = "last";
  const auto back = decode_hint(encode(hint));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->queue.size(), record::list_max);
  EXPECT_EQ(back->queue.back(), "last");
  EXPECT_FALSE(decode_hint(R"({"sublock":{"v":1,"hint":"sleep","queue":[]}})"));
}

TEST(WireHint, AQueueIsAListOfTextsAndNothingElse) {
  const auto with = [](std::string_view queues) {
    return decode_hint(R"({"sublock":{"v":1,"hint":"wake",)" + std::string(queues) + "}}");
  };
  const std::vector<std::string> a = {"a"};
  EXPECT_EQ(with(R"("queue":["b","c"],"queue":["a"])")->queue, a);
  EXPECT_EQ(with(R"("queue":[["b"]],"queue":["a"])")->queue, a);
  EXPECT_EQ(with(R"("new":{"queue":["b"]},"queue":["a"],"new":[{"queue":["c"]},"d"])")->queue, a);
  EXPECT_TRUE(with(R"("queue":[)" + times(64, "\"a\",") + "5]"));
  for (const auto* wrong : {R"("queue":[["a"]])", R"("queue":[{"queue":["a"]}])",
                            R"("queue":{"queue":["a"]})", R"("queue":["a",{}])", R"("queue":["a",[]])",
                            R"("queue":["a",null])", R"("queue":"a")", R"("queue":["a"],"queue":null)"}) {
    EXPECT_FALSE(with(wrong)) << wrong;
  }
}

// --- against damage and against Python

TEST(Wire, DamagedMessagesNeverThrow) {
  std::mt19937 random(20240517);  // NOLINT: the same damage in every run
  const std::vector<std::string> seeds = {std::string(golden_ping), std::string(golden_reply),
                                          encode(Grant{sample_id, "n", {"a", "b"}}),
                                          encode(Hint{HintKind::wake, {"a"}})};
  const std::string bytes = "{}[]\",:\\u019-.e truefalsn\xff\xc3\x80\xed"s + '\0';
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 20'000; ++round) {
    auto text = seeds[below(seeds.size())];
    for (auto n = below(4) + 1; n > 0; --n) {
      const auto at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = bytes[below(bytes.size())]; break;
        case 1: text.insert(at, 1, bytes[below(bytes.size())]); break;
        default: text.erase(at, below(8)); break;
      }
      if (text.empty()) text = "{";
    }
    EXPECT_NO_THROW({
      if (const auto ping = decode_ping(text)) {
        EXPECT_FALSE(ping->response_channel.empty());
      }
      if (const auto holder = decode_reply(text); holder.legacy) {
        EXPECT_EQ(holder, Holder{.legacy = true});
      }
      static_cast<void>(decode_hint(text));
      static_cast<void>(decode_grant(text));
    }) << text;
  }
}

}  // namespace
}  // namespace sublock::core
