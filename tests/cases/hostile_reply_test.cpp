// SPDX-License-Identifier: MIT

// Whoever asks must survive the answers: a peer that replies with rubbish owns the lock as far as anybody can
// tell, and nothing it says may leave the asker subscribed.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

#include <memory>
#include <ostream>
#include <tuple>

namespace support {
namespace {

struct Answer {
  const char* name;
  std::string bytes;
  friend std::ostream& operator<<(std::ostream& out, const Answer& answer) { return out << answer.name; }
};

class HostileReply : public Cases, public ::testing::WithParamInterface<std::tuple<Answer, std::string>> {};

TEST_P(HostileReply, IsAnOwnerAndNoMore) {
  const auto& [answer, mode] = GetParam();
  const double wait = within(scaled(0.3, 2.0));
  // Ten megabytes take their time where everything is watched; nobody is to lose patience with them.
  const double patience = within(U);
  const std::vector<std::string> words = {"wait=" + std::to_string(wait), "hold=0.1", mode,
                                          "U=" + std::to_string(patience)};
  auto peer = std::make_unique<FakePeer>(server.port(), "hr", FakePeer::Script{.answers = {answer.bytes}});
  auto other = drive("hr", words);
  expect_after_try(other, " FAILED (busy|protocol) ", 0, wait + patience + 0.5);
  EXPECT_EQ(other.exit_status(), 1) << other.transcript();
  EXPECT_EQ(server.subscribers("hr"), 1);

  auto object = drive_anywhere(
      "hr", {words[0], words[1], mode, words[3], "loop", "port=" + std::to_string(server.port())});
  expect_after_try(object, " FAILED (busy|protocol) ", 0, wait + patience + 0.5);
  EXPECT_EQ(count(object, "GOT"), 0) << object.transcript();
  EXPECT_TRUE(peer->connected());
  EXPECT_GT(peer->answered(), 0u);
  peer.reset();
  const double left = now();
  EXPECT_LE(stamp_of(object.expect_line(" GOT$")) - left, within(1));
  object.signal(SIGTERM);
  EXPECT_EQ(object.exit_status(), 0) << object.transcript();
  auto next = drive("hr", {"try"});
  EXPECT_EQ(next.exit_status(), 0) << next.transcript();
  EXPECT_EQ(server.subscribers("hr"), 0);
  EXPECT_EQ(server.kills(), 0);
}

/// Rules for what is read here are in the wire's own tests; these are what has hurt others.
std::vector<Answer> answers() {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const auto record = [&](const std::string& fields) {
    return R"({"holder_id":")" + id + "\"," + fields + "}";
  };
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += R"({"x":)";
  return {
      {"Text", "hello"},
      {"Nothing", ""},
      {"NoUtf8", "\xff"},
      {"NoUtf8InAString", R"({"holder_id":")"
                          "\xff"
                          R"(","mode":"pending","protocol":1})"},
      {"Brackets", std::string(10'000, '[')},
      {"NestedArrays", std::string(10'000, '[') + std::string(10'000, ']')},
      {"NestedObjects", many},
      {"EmptyList", "[]"},
      {"Null", "null"},
      {"OldTimestamp", "1712345.25"},
      {"Protocol2", record(R"("mode":"pending","protocol":2)")},
      {"ProtocolTrue", record(R"("mode":"pending","protocol":true)")},
      {"ProtocolText", record(R"("mode":"pending","protocol":"1")")},
      {"NoProtocol", record(R"("mode":"pending")")},
      {"ModeInCapitals", record(R"("mode":"SHARED","protocol":1)")},
      {"NoMode", record(R"("protocol":1)")},
      {"NoHolderId", R"({"mode":"pending","protocol":1})"},
      {"EmptyHolderId", answer_record("", "pending")},
      {"HolderIdIsANumber", R"({"holder_id":7,"mode":"pending","protocol":1})"},
      {"TenMegabytes", std::string(10'000'000, 'x')},
  };
}

INSTANTIATE_TEST_SUITE_P(Of, HostileReply,
                         ::testing::Combine(::testing::ValuesIn(answers()),
                                            ::testing::Values(std::string("label=writer"),
                                                              std::string("shared"))),
                         [](const auto& test) {
                           const bool shared = std::get<1>(test.param) == "shared";
                           return std::string(std::get<0>(test.param).name) +
                                  (shared ? "ToAReader" : "ToAWriter");
                         });

}  // namespace
}  // namespace support
