// SPDX-License-Identifier: MIT

// Any client may publish on the lock channel, and whatever arrives there is read by the thread that is the lock.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>
#include <support/sanitized.hpp>

namespace support {
namespace {

using namespace std::string_literals;

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string ping_to(const std::string& channel) {
  return R"({"message":"ping","response_channel":")" + channel + "\"}";
}

class HostilePing : public Cases {
 protected:
  static constexpr long megabyte = 1L << 20;

  HostilePing() { holder.expect_line(" GOT$"); }

  /// The channels on which the holder has answered `payload`, in their order. It answers in order, so whatever
  /// comes before the answer to a later ping is all there is.
  std::vector<std::string> answers_to(const std::string& payload) {
    const std::string last = "hp-last-" + std::to_string(++asked);
    ear.command({"SUBSCRIBE", last});
    server.command({"PUBLISH", "hp", payload});
    server.command({"PUBLISH", "hp", ping_to(last)});
    std::vector<std::string> channels;
    std::vector<PlainConnection::Message> messages;
    const bool answered = eventually([&] {
      pollfd poll{ear.fd(), POLLIN, 0};
      if (::poll(&poll, 1, 0) == 1) ear.read(messages);
      return !messages.empty() && messages.back().channel == last;
    });
    EXPECT_TRUE(answered) << holder.transcript();
    for (const auto& message : messages) {
      EXPECT_TRUE(nlohmann::json::accept(message.payload)) << message.payload;
      if (message.channel != last) channels.push_back(message.channel);
    }
    ear.command({"UNSUBSCRIBE", last});
    return channels;
  }

  void expect_well() {
    const double bound = within(0.2);
    double fastest = 10;
    for (int i = 0; i < 3 && fastest > bound; ++i) {
      const double start = now();
      ASSERT_EQ(ask(server.port(), "hp", 1, 5s).size(), 1U) << holder.transcript();
      fastest = std::min(fastest, now() - start);
    }
    EXPECT_LE(fastest, bound);
    EXPECT_EQ(server.subscribers("hp"), 1);
    EXPECT_EQ(count(holder, "LOST"), 0) << holder.transcript();
  }

  /// With little stack; ThreadSanitizer's own needs of each thread would not fit into that.
  Process holder{{"/bin/sh", "-c",
                  "ulimit -s "s + (sanitized ? "8192" : "512") +
                      "; exec '" SUBLOCK_DRIVER "' lock hp hold=120 port=" + std::to_string(server.port())}};
  PlainConnection ear{server.port()};
  int asked = 0;
};

TEST_F(HostilePing, EndsNoHold) {
  ear.command({"SUBSCRIBE", "hp-x"});
  const long before = memory(holder.pid(), "VmRSS");
  const std::vector<std::string> payloads = {
      "hello",
      "",
      "[]",
      "null",
      "5",
      R"({"response_channel":5})",
      R"({"response_channel":""})",
      "{\"response_channel\":\"x\xff\"}",
      "\xff\xfe\0"s,
      repeated("[", 10'000),
      repeated("[", 10'000) + repeated("]", 10'000),
      repeated("{\"a\":", 10'000) + "1" + repeated("}", 10'000),
      R"({"response_channel":)" + repeated("[", 10'000) + repeated("]", 10'000) + "}",
      ping_to("hp-x").insert(1, "\"p\":" + repeated("[", 10'000) + repeated("]", 10'000) + ","),
      R"({"response_channel":null,"message":"ping"})",
      "{\"response_channel\":\"\\ud800\"}",
      "1e999999",
      "-",
      "\0"s,
      R"({"message":"grant","response_channel":"","sublock":{"v":1,"to":"x","nonce":"y","queue":[]}})",
      R"({"message":"check","sublock":{"v":1,"nonce":""}})",
      std::string(16 * megabyte, 'x')};
  for (const std::string& payload : payloads) {
    SCOPED_TRACE(payload.substr(0, 60) + " of " + std::to_string(payload.size()));
    answers_to(payload);
    expect_well();
  }
  // A sanitizer keeps freed memory for a while.
  EXPECT_TRUE(sanitized ||
              eventually([&] { return memory(holder.pid(), "VmRSS") <= before + 64 * megabyte; }))
      << before << " before, now " << memory(holder.pid(), "VmRSS");
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

// As on the Python side: the last of equal keys counts, and text behind the object makes it nothing.
TEST_F(HostilePing, ThatIsDoubtfulIsReadTheSameWayEveryTime) {
  ear.command({"SUBSCRIBE", "hp-one"});
  ear.command({"SUBSCRIBE", "hp-two"});
  const std::vector<std::string> one = {"hp-one"};
  const std::vector<std::string> two = {"hp-two"};
  const std::vector<std::string> nobody;
  std::vector<std::string> as_before;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(answers_to(ping_to("hp-one")), one);
    EXPECT_EQ(answers_to(R"({"response_channel":"hp-one","message":"ping","response_channel":"hp-two"})"),
              two);
    EXPECT_EQ(answers_to(ping_to("hp-one") + " x"), nobody);
    EXPECT_EQ(answers_to(ping_to("hp-one") + ping_to("hp-two")), nobody);
    EXPECT_EQ(answers_to(" \n" + ping_to("hp-one") + "\r\n "), one);
    EXPECT_EQ(answers_to(ping_to("hp-one").insert(1, R"("more":{"a":[1,2.5,null,"\u00e9"]},)")), one);
    auto doubtful = answers_to("\xef\xbb\xbf" + ping_to("hp-one"));
    const auto padded =
        answers_to(ping_to("hp-two").insert(1, "\"pad\":\"" + std::string(megabyte, ' ') + "\","));
    doubtful.insert(doubtful.end(), padded.begin(), padded.end());
    EXPECT_TRUE(round == 0 || doubtful == as_before);
    as_before = doubtful;
  }
  expect_well();
  expect_kept(holder);
}

TEST_F(HostilePing, InAFloodDelaysNobodyForLong) {
  PlainConnection flood(server.port());
  for (int i = 0; i < 2000; ++i)
    flood.command({"PUBLISH", "hp", i % 2 == 0 ? ping_to("hp-nobody") : repeated("[", 500)});
  expect_well();
  expect_kept(holder);
}

}  // namespace
}  // namespace support
