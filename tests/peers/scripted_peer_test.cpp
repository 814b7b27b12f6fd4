// SPDX-License-Identifier: MIT

// Peers of protocol 1 that know nothing of ours, played by script: 4.1 without `elected` in its answers,
// 4.2 with it. What they see of us, and what we make of them.

#include "support/driver.hpp"
#include "support/live_redis.hpp"
#include "support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using support::Process;

const std::string low = std::string(32, '0');
const std::string middle = std::string(32, '7');
const std::string high = std::string(32, 'f');

class ScriptedPeer : public testing::Test {
 protected:
  Process scripted(const std::vector<std::string>& words) {
    return support::peer("scripted_peer.py", server_, channel, words);
  }
  Process drive(const std::vector<std::string>& words) { return support::drive(server_, channel, words); }

  static std::size_t count(Process& process, std::string_view word) {
    return static_cast<std::size_t>(std::ranges::count_if(
        process.lines(), [&](const std::string& line) { return line.find(word) != std::string::npos; }));
  }

  static json json_in(const std::string& line) { return json::parse(line.substr(line.find('{'))); }

  /// Pings as portalocker does, and returns what that participant answers; the peer answers itself too.
  static json answer_of(Process& peer, const std::string& holder_id) {
    peer.say("ping");
    for (;;) {
      auto answer = json_in(peer.expect_line("REPLY"));
      if (answer.at("holder_id") != holder_id) continue;
      peer.expect_line("PROBED 2$");
      return answer;
    }
  }

  void expect_nobody_left(long count = 0) {
    EXPECT_TRUE(support::eventually([&] { return server_.subscribers(channel) == count; }));
  }

  const std::string channel = "jobs";
  support::LiveRedis server_;
};

// --- what they see of us

TEST_F(ScriptedPeer, IsToldThatWeHold) {
  auto ours = drive({"id=" + middle, "label=import", "hold=60"});
  ours.expect_line("GOT");
  EXPECT_NE(server_.client_id(channel + "-lock-" + middle), 0);
  auto peer = scripted({"mode=pending", "id=" + low});
  peer.expect_line("JOINED 2");
  const auto answer = answer_of(peer, middle);
  EXPECT_EQ(answer.at("mode"), "exclusive");
  EXPECT_EQ(answer.at("elected"), json(true));
  EXPECT_TRUE(answer.at("protocol").is_number_integer());
  EXPECT_EQ(answer.at("protocol"), 1);
  const auto& more = answer.at("sublock");
  EXPECT_EQ(more.at("v"), 1);
  EXPECT_EQ(more.at("leaving"), json(false));
  EXPECT_EQ(more.at("next"), json(false));
  EXPECT_TRUE(more.at("host").is_string());
  EXPECT_EQ(more.at("pid"), ours.pid());
  EXPECT_EQ(more.at("label"), "import");
  EXPECT_TRUE(more.at("since_ms").is_number_integer());
  ours.signal(SIGTERM);
  ours.expect_line("RELEASED");
  EXPECT_EQ(ours.exit_status(), 0);
  expect_nobody_left(1);
  EXPECT_EQ(server_.client_id(channel + "-lock-" + middle), 0);
}

TEST_F(ScriptedPeer, IsToldThatWeRead) {
  auto ours = drive({"shared", "id=" + middle, "hold=60"});
  ours.expect_line("GOT");
  auto peer = scripted({"mode=shared"});
  peer.expect_line("JOINED 2");
  const auto answer = answer_of(peer, middle);
  EXPECT_EQ(answer.at("mode"), "shared");
  EXPECT_EQ(answer.at("elected"), json(false));
}

TEST_F(ScriptedPeer, IsPingedAsPortalockerWould) {
  auto peer = scripted({"mode=exclusive"});
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + middle, "wait=0.5"});
  const auto ping = json_in(peer.expect_line("PINGED"));
  EXPECT_EQ(ping.at("message"), "ping");
  const std::string inbox = ping.at("response_channel");
  EXPECT_EQ(inbox.substr(0, 5), "jobs-");
  EXPECT_EQ(inbox.size(), 5 + 32U);
  EXPECT_EQ(ping.at("sublock").at("v"), 1);
  EXPECT_EQ(ping.at("sublock").at("id"), middle);
  EXPECT_EQ(ping.at("sublock").at("mode"), "pending");
  EXPECT_TRUE(ping.at("sublock").at("waiting").is_boolean());
  ours.expect_line("FAILED busy");
  EXPECT_EQ(ours.exit_status(), 1);
}

TEST_F(ScriptedPeer, IsNotAnsweredWhereItAsksNothing) {
  auto ours = drive({"id=" + middle, "hold=60"});
  ours.expect_line("GOT");
  auto peer = scripted({"mode=pending"});
  peer.expect_line("JOINED 2");
  for (const auto* text : {"hello", "[]", R"({"response_channel":5})", R"({"response_channel":""})"}) {
    peer.say(std::string("publish ") + text);
    peer.expect_line("DID publish");
  }
  peer.say(R"(publish {"message":"ping","response_channel":"jobs"})");
  EXPECT_TRUE(peer.stays_without(middle, 300ms)) << peer.transcript();
  EXPECT_EQ(answer_of(peer, middle).at("mode"), "exclusive");
}

TEST_F(ScriptedPeer, CannotEndUsByWhatItPublishes) {
  Process ours({"/bin/bash", "-c", "ulimit -s 512; exec \"$0\" \"$@\"", SUBLOCK_DRIVER, "lock", channel,
                "port=" + std::to_string(server_.port()), "id=" + middle, "hold=60"});
  ours.expect_line("GOT");
  const auto nested = [](std::string_view open, std::string_view close) {
    std::string text;
    for (int i = 0; i < 10'000; ++i) text += open;
    for (int i = 0; i < 10'000; ++i) text += close;
    return text;
  };
  for (const auto& payload :
       {std::string("hello"), std::string(), std::string("{\"response_channel\":\"x\xff\"}"),
        std::string("\xff\xfe\0", 3), nested("[", ""), nested("[", "]"), nested("{\"a\":", "}"),
        std::string(16UL << 20, 'x')}) {
    EXPECT_EQ(server_.command({"PUBLISH", channel, payload}), "1");
  }
  auto peer = scripted({"mode=pending"});
  peer.expect_line("JOINED 2");
  EXPECT_EQ(answer_of(peer, middle).at("mode"), "exclusive");
  ours.signal(SIGTERM);
  ours.expect_line("RELEASED");
  EXPECT_EQ(ours.exit_status(), 0) << ours.transcript();
}

// --- an exclusive holder

class Generation : public ScriptedPeer, public testing::WithParamInterface<const char*> {
 protected:
  /// Words with which a peer of that generation answers while it isn't elected.
  std::vector<std::string> words(std::vector<std::string> more, bool elected = false) const {
    if (std::string(GetParam()) == "4.2") more.push_back(elected ? "elected=true" : "elected=false");
    return more;
  }
};

INSTANTIATE_TEST_SUITE_P(Portalocker, Generation, testing::Values("4.1", "4.2"), [](const auto& chosen) {
  return std::string(chosen.param) == "4.1" ? "V41" : "V42";
});

TEST_P(Generation, HolderKeepsUsOutUntilItLeaves) {
  auto peer = scripted(words({"mode=exclusive", "id=" + high}, true));
  peer.expect_line("JOINED 1");
  auto impatient = drive({"try"});  // before anybody else, who might be in its way sooner than the peer
  EXPECT_NE(impatient.expect_line("FAILED").find(high), std::string::npos) << impatient.transcript();
  auto writer = drive({"id=" + low, "wait=30"});
  auto reader = drive({"shared", "wait=0.6"});
  reader.expect_line("FAILED busy");
  EXPECT_TRUE(writer.stays_without("GOT", 600ms)) << writer.transcript();
  peer.say("leave");
  peer.expect_line("LEFT");
  writer.expect_line("GOT", 5s);
  EXPECT_EQ(writer.exit_status(), 0);
  EXPECT_EQ(server_.kills(), 0);
  expect_nobody_left();
}

TEST_P(Generation, PendingPeerThatComesFirstIsLeftAlone) {
  auto peer = scripted(words({"mode=pending", "id=" + low}));
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + middle, "wait=30"});
  EXPECT_TRUE(ours.stays_without("GOT", 700ms)) << ours.transcript();
  peer.say("leave");
  ours.expect_line("GOT", 5s);
  EXPECT_EQ(server_.kills(), 0);
}

TEST_P(Generation, PendingPeerThatComesLastLetsUsIn) {
  auto peer = scripted(words({"mode=pending", "id=" + high}));
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + middle, "wait=10", "hold=60"});
  ours.expect_line("GOT", 5s);
  // An answer of 4.1 can lag behind its promotion, so that one look is not enough.
  const auto looks = count(peer, "PINGED");
  EXPECT_GE(looks, std::string(GetParam()) == "4.1" ? 2U : 1U) << peer.transcript();
  EXPECT_EQ(answer_of(peer, middle).at("mode"), "exclusive");
}

TEST_F(ScriptedPeer, OfFourOneMayHaveBeenPromotedMeanwhile) {
  auto peer = scripted({"mode=pending", "id=" + high, "delay=0.3"});
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + middle, "wait=2"});
  peer.expect_line("PINGED");  // its answer to this one says pending, and is out of date already
  peer.say("mode exclusive");
  ours.expect_line("FAILED busy");
  EXPECT_EQ(count(ours, "GOT"), 0U) << ours.transcript();
}

TEST_F(ScriptedPeer, ElectedOneIsGivenWayWhateverItsId) {
  auto peer = scripted({"mode=pending", "elected=true", "id=" + high});
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + low, "wait=30"});
  EXPECT_TRUE(ours.stays_without("GOT", 700ms)) << ours.transcript();
  peer.say("leave");
  ours.expect_line("GOT", 5s);
}

TEST_F(ScriptedPeer, WhatElectedIsNotABooleanIsNotBelieved) {
  auto peer = scripted(
      {R"(answer={"holder_id":")" + high + R"(","mode":"pending","protocol":1,"elected":1})", "id=" + high});
  peer.expect_line("JOINED 1");
  auto ours = drive({"id=" + low, "wait=5"});
  ours.expect_line("GOT", 5s);
  EXPECT_GE(count(peer, "PINGED"), 2U) << peer.transcript();
}

// --- readers

TEST_P(Generation, ReaderIsJoinedByOurReaderAndDrainedByOurWriter) {
  auto peer = scripted(words({"mode=shared", "id=" + high}));
  peer.expect_line("JOINED 1");
  auto reader = drive({"shared", "wait=5"});
  reader.expect_line("GOT", 5s);
  EXPECT_EQ(reader.exit_status(), 0);

  auto writer = drive({"id=" + middle, "wait=30"});
  EXPECT_TRUE(writer.stays_without("GOT", 500ms)) << writer.transcript();
  // The first writer stays joined and keeps new readers out, ours and theirs.
  ASSERT_TRUE(support::eventually([&] { return server_.subscribers(channel) == 2; }));
  const auto answer = answer_of(peer, middle);
  EXPECT_EQ(answer.at("mode"), "pending");
  EXPECT_EQ(answer.at("elected"), json(true));
  auto late = drive({"shared", "wait=0.6"});
  late.expect_line("FAILED busy");
  peer.say("leave");
  writer.expect_line("GOT", 5s);
  EXPECT_EQ(writer.exit_status(), 0);
  EXPECT_EQ(server_.kills(), 0);
}

TEST_P(Generation, PendingPeerKeepsOurReaderOut) {
  auto peer = scripted(words({"mode=pending", "id=" + high}));
  peer.expect_line("JOINED 1");
  auto reader = drive({"shared", "wait=30", "id=" + low});
  EXPECT_TRUE(reader.stays_without("GOT", 600ms)) << reader.transcript();
  peer.say("leave");
  reader.expect_line("GOT", 5s);
}

// --- peers that don't behave

TEST_F(ScriptedPeer, SlowAnswersCountAsLongAsTheyComeInTime) {
  auto peer = scripted({"mode=exclusive", "delay=0.4"});
  peer.expect_line("JOINED 1");
  auto ours = drive({"wait=1.5", "U=1"});
  ours.expect_line("FAILED busy");
  EXPECT_EQ(server_.kills(), 0);
  EXPECT_TRUE(peer.running());
}

TEST_F(ScriptedPeer, SilentOneIsReaped) {
  auto peer = scripted({"mode=exclusive", "silent", "id=" + high});
  peer.expect_line("JOINED 1");
  auto ours = drive({"wait=20", "U=0.3"});
  ours.expect_line("GOT", 15s);
  peer.expect_line("LOST");
  EXPECT_EQ(server_.kills(), 1);
}

TEST_F(ScriptedPeer, SilentOneOfAnotherChannelIsNot) {
  auto peer = scripted({"mode=exclusive", "silent", "name=jobs-lock-b-lock-" + high});
  peer.expect_line("JOINED 1");
  auto ours = drive({"wait=1.5", "U=0.3"});
  ours.expect_line("GOT|FAILED busy");
  EXPECT_TRUE(peer.running());
  EXPECT_EQ(server_.kills(), 0);
}

class Rubbish : public ScriptedPeer,
                public testing::WithParamInterface<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Answers, Rubbish,
    testing::Values(std::pair{"Text", "hello"}, std::pair{"Array", "[]"},
                    std::pair{"Timestamp", "1712345.25"},
                    std::pair{"ProtocolTwo", R"({"holder_id":"a","mode":"pending","protocol":2})"},
                    std::pair{"ProtocolTrue", R"({"holder_id":"a","mode":"pending","protocol":true})"},
                    std::pair{"ModeInCapitals", R"({"holder_id":"a","mode":"SHARED","protocol":1})"},
                    std::pair{"NoId", R"({"mode":"pending","protocol":1})"},
                    std::pair{"EmptyId", R"({"holder_id":"","mode":"pending","protocol":1})"}),
    [](const auto& chosen) { return chosen.param.first; });

TEST_P(Rubbish, CountsAsAnExclusiveHolder) {
  auto peer = scripted({std::string("answer=") + GetParam().second});
  peer.expect_line("JOINED 1");
  auto writer = drive({"wait=0.5", "U=0.3"});
  auto reader = drive({"shared", "wait=0.5", "U=0.3"});
  writer.expect_line("FAILED busy");
  reader.expect_line("FAILED busy");
  expect_nobody_left(1);
  peer.say("quit");
  peer.expect_line("ENDED");
  auto after = drive({"wait=3"});
  after.expect_line("GOT");
  EXPECT_EQ(after.exit_status(), 0);
  EXPECT_EQ(server_.kills(), 0);
}

TEST_F(ScriptedPeer, BytesThatAreNotUtf8CountAsAnExclusiveHolder) {
  auto peer = scripted({"answer-hex=ff"});
  peer.expect_line("JOINED 1");
  auto ours = drive({"wait=0.5", "U=0.3"});
  ours.expect_line("FAILED busy");
  EXPECT_TRUE(peer.running());
}

}  // namespace
