// SPDX-License-Identifier: MIT

// The rights that README asks for: with them everything works and nothing is ever refused; and whoever lacks one of
// them misses it.

#include <cases/cases.hpp>
#include <pages/page.hpp>

#include <cctype>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace support {
namespace {

const std::string job = "nightly-import";

/// The words of README's `ACL SETUSER importer …` that speaks of that command.
std::vector<std::string> rights_with(const std::string& command) {
  for (const pages::Block& block : pages::blocks_of("README.md", "redis")) {
    if (block.text().find(' ' + command + ' ') == std::string::npos) continue;
    std::istringstream words(block.text());
    return {std::istream_iterator<std::string>(words), {}};
  }
  throw std::runtime_error("README grants nobody " + command);
}

class Rights : public Cases, public ::testing::WithParamInterface<std::string> {
 protected:
  void grant(const std::vector<std::string>& words) {
    ASSERT_EQ(words.at(2), "importer");
    EXPECT_NE(server.command({"ACL", "DELUSER", "importer"}), "");
    ASSERT_EQ(server.command(words), "OK");
    ASSERT_EQ(server.command({"ACL", "LOG", "RESET"}), "OK");
  }

  Process as_importer(std::vector<std::string> words) {
    words.insert(words.end(), {"user=importer", "password=secret", "wait=10"});
    return drive(job, words);
  }
  Process key_as_importer(std::vector<std::string> words) {
    words.insert(words.end(), {"user=importer", "password=secret", "wait=10", "fencing"});
    return drive_key(job, words);
  }

  /// Whatever the server has refused somebody; empty where nothing was.
  std::string refused() { return server.command({"ACL", "LOG"}); }
};

/// A waiter is handed the lock, a reader joins a reader, somebody asks in vain, a frozen holder is followed.
TEST_F(Rights, ThatReadmeAsksForAreEnoughForALock) {
  grant(rights_with("+multi"));
  auto first = as_importer({"hold=60", "fencing"});
  first.expect_line(" GOT token=1$");
  auto second = as_importer({"hold=60", "fencing"});
  second.expect_line(" TRY$");
  auto refused_one = as_importer({"try"});
  refused_one.expect_line(" FAILED busy ");
  first.signal(SIGTERM);
  first.expect_line(" RELEASED$");
  second.expect_line(" GOT token=2$");
  second.signal(SIGSTOP);
  auto third = as_importer({"shared", "hold=60"});
  third.expect_line(" GOT$");
  auto fourth = as_importer({"shared", "hold=0"});
  fourth.expect_line(" RELEASED$");
  expect_kept(third);
  EXPECT_EQ(refused(), "");
}

TEST_F(Rights, ThatReadmeAsksForAreEnoughForAKey) {
  grant(rights_with("+set"));
  auto owner = key_as_importer({"interval=0.1", "hold=60"});
  owner.expect_line(" GOT token=1$");
  const auto stored = server.command({"GET", job});
  EXPECT_TRUE(eventually([&] { return server.command({"GET", job}) != stored; }));
  auto waiter = key_as_importer({});
  ASSERT_TRUE(eventually([&] { return server.calls("subscribe") > 0; }));
  owner.signal(SIGTERM);
  owner.expect_line(" RELEASED$");
  waiter.expect_line(" RELEASED$");
  EXPECT_EQ(refused(), "");
}

/// All that happens above but for the frozen one, in less time.
TEST_P(Rights, AreMissedByWhoLacksOne) {
  const std::string& right = GetParam();
  auto words = rights_with("+multi");
  ASSERT_EQ(std::erase(words, right), 1);
  grant(words);
  auto first = as_importer({"hold=60", "fencing", "loop"});
  const auto happened = first.expect_line(" (GOT|FAILED)");
  if (happened.find("GOT") != std::string::npos) {
    auto second = as_importer({"hold=60", "loop"});
    second.expect_line(" TRY$");
    if (right == "+client|list" || right == "+client|kill") {
      first.signal(SIGSTOP);
    } else {
      first.signal(SIGTERM);
    }
    EXPECT_TRUE(eventually([&] { return !refused().empty(); }, 20s)) << right;
    first.signal(SIGCONT);
  }
  // Of a channel or a key the log gives the name, not the pattern.
  EXPECT_NE(refused().find(right[0] == '+' ? right.substr(1) : job), std::string::npos) << refused();
}

std::vector<std::string> each_right() {
  std::vector<std::string> rights = rights_with("+multi");
  std::erase_if(rights,
                [](const std::string& word) { return word[0] != '+' && word[0] != '&' && word[0] != '~'; });
  return rights;
}

INSTANTIATE_TEST_SUITE_P(Each, Rights, ::testing::ValuesIn(each_right()), [](const auto& right) {
  std::string text;
  for (const char c : right.param) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
});

}  // namespace
}  // namespace support
