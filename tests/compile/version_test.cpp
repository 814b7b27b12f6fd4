// SPDX-License-Identifier: MIT

// One version: of the macros, of the build that reads them, and of the newest chapter in CHANGELOG.md.

#include <sublock/version.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace {

TEST(Version, IsOneInMacrosAndWords) {
  EXPECT_EQ(std::string(sublock::version), std::to_string(SUBLOCK_VERSION_NUMBER / 10000) + "." +
                                               std::to_string(SUBLOCK_VERSION_NUMBER / 100 % 100) + "." +
                                               std::to_string(SUBLOCK_VERSION_NUMBER % 100));
  EXPECT_LT(SUBLOCK_VERSION_MINOR, 100);
  EXPECT_LT(SUBLOCK_VERSION_PATCH, 100);
}

TEST(Version, IsThatOfTheBuild) { EXPECT_STREQ(sublock::version, BUILD_VERSION); }

TEST(Version, HasTheFirstChapterOfTheChangelog) {
  std::ifstream changelog(SUBLOCK_SOURCE_DIR "/CHANGELOG.md");
  for (std::string line; std::getline(changelog, line);) {
    if (!line.starts_with("## ")) continue;
    EXPECT_EQ(line.substr(3, line.find(',') - 3), sublock::version) << line;
    return;
  }
  FAIL() << "CHANGELOG.md has no chapter";
}

}  // namespace
