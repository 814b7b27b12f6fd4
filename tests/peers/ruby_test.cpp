// SPDX-License-Identifier: MIT

// Ruby's redis_getlock as a peer on the same key: its commands, played by a script on Debian's redis-rb. Each reads
// what the other has stored, and they keep each other out, also where we have to do without SET's options.
//
//   SUBLOCK_RUBY_SECONDS=60 build/tests/sublock_peers_tests --gtest_filter='*Ruby*'    as long as you like

#include <gtest/gtest.h>

#include <cases/key_cases.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <regex>

namespace support {
namespace {

class Ruby : public KeyCasesOfAnyAge {
 protected:
  Process ruby(const std::string& key, const std::vector<std::string>& words) {
    return peer("getlock_peer.rb", server, key, words);
  }

  static double seconds() {
    const char* const text = std::getenv("SUBLOCK_RUBY_SECONDS");
    return text != nullptr ? std::strtod(text, nullptr) : 3;
  }
};

TEST_P(Ruby, ReadsWhatWeStore) {
  auto ours = drive_key("r", {"hold=60", "interval=0.25"});
  ours.expect_line(" GOT$");
  for (int round = 0; round < 2; ++round) {
    auto reader = ruby("r", {"show"});
    const auto line = reader.expect_line(" SHOWN ");
    EXPECT_EQ(reader.exit_status(), 0) << reader.transcript();
    std::smatch words;
    ASSERT_TRUE(std::regex_search(line, words, std::regex(" SHOWN ([0-9a-f-]+) (-?[0-9.e-]+)$"))) << line;
    EXPECT_EQ(words[1], owner("r"));
    EXPECT_TRUE(std::regex_match(owner("r"), std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")));
    EXPECT_GT(std::stod(words[2]), 0) << "and what it says is kept up to date";
    EXPECT_LE(std::stod(words[2]), 2.0);
    expect_extended("r");
    expect_extended("r");
  }
  auto theirs = ruby("r", {"wait=0", "hold=0"});
  theirs.expect_line(" FAILED busy$");
  EXPECT_EQ(theirs.exit_status(), 1);
  expect_kept(ours);
}

TEST_P(Ruby, IsReadByUs) {
  auto theirs = ruby("r", {"interval=0.25"});
  const auto line = theirs.expect_line(" GOT ");
  expect_busy("r", line.substr(line.rfind(' ') + 1));
  auto ours = drive_key("r", {"wait=30", "hold=60"});
  expect_extended("r");
  expect_extended("r");
  EXPECT_EQ(ours.lines().size(), 1U) << ours.transcript();
  theirs.say("release");
  const double released = stamp_of(theirs.expect_line(" RELEASED$"));
  EXPECT_LE(stamp_of(ours.expect_line(" GOT$")) - released, within(1));
  auto next = ruby("r", {"wait=30", "hold=0", "interval=0.1"});
  next.expect_line(" TRY$");
  EXPECT_TRUE(next.stays_without(" GOT ", 500ms)) << next.transcript();
  expect_kept(ours);
  next.expect_line(" GOT ");
  EXPECT_EQ(next.exit_status(), 0) << next.transcript();
}

TEST_P(Ruby, ThatIsKilledIsFollowedWhenItsLeaseIsOver) {
  auto theirs = ruby("r", {});
  theirs.expect_line(" GOT ");
  auto ours = drive_key("r", {"wait=30"});
  ours.expect_line(" TRY$");
  theirs.signal(SIGKILL);
  const double killed = now();
  EXPECT_LE(stamp_of(ours.expect_line(" GOT$")) - killed, within(2 + 1));
}

// Two of ours and two of theirs after one key. Theirs look fifty times a second, for by default they hardly ever meet it
// free; and rest in between, so that we do.
TEST_P(Ruby, AndWeKeepEachOtherOut) {
  struct Contender {
    Process process;
    std::string name;
  };
  std::vector<std::unique_ptr<Contender>> contenders;
  const auto turns = [&](Contender& contender) { return count(contender.process, "GOT"); };
  for (int i = 0; i < 2; ++i) {
    contenders.emplace_back(
        new Contender{drive_key("r", {"loop", "wait=60", "hold=0.002", "overlap=in:r"}), "ours"});
    contenders.emplace_back(new Contender{ruby("r", {"loop", "wait=60", "hold=0.002", "overlap=in:r",
                                                     "interval=0.02", "expire=5", "pause=0.05"}),
                                          "Ruby"});
  }
  EXPECT_TRUE(throughout(span(seconds()), [&] {
    return std::ranges::all_of(contenders, [](auto& contender) { return contender->process.running(); });
  }));
  const auto everybody_had_some = [&] {
    return std::ranges::all_of(contenders, [&](auto& contender) { return turns(*contender) >= 3; });
  };
  EXPECT_TRUE(eventually(everybody_had_some, 30s));
  for (auto& contender : contenders) contender->process.signal(SIGTERM);
  for (auto& contender : contenders) {
    EXPECT_EQ(contender->process.exit_status(), 0) << contender->process.transcript().substr(0, 2000);
    EXPECT_EQ(count(contender->process, "OVERLAP"), 0) << contender->process.transcript().substr(0, 2000);
    EXPECT_EQ(count(contender->process, "LOST"), 0) << contender->process.transcript().substr(0, 2000);
    std::cout << contender->name << ' ' << turns(*contender) << " turns\n";
  }
  EXPECT_EQ(value("in:r"), "0") << "all who came in went out";
}

INSTANTIATE_TEST_SUITE_P(On, Ruby, any_age, ::testing::PrintToStringParamName());

}  // namespace
}  // namespace support
