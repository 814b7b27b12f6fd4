// SPDX-License-Identifier: MIT
#pragma once

// What the cases about keys stand on beside the others: a server of today, and one that is spoken to as if it were
// from before 2.6.12, with neither SET's options nor scripts.

#include <cases/cases.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace support {

enum class Age { today, old };
inline std::ostream& operator<<(std::ostream& out, Age age) {
  return out << (age == Age::old ? "Old" : "Today");
}

/// Who tells nobody its version is taken for old.
[[nodiscard]] inline std::vector<std::string> arguments_for(Age age) {
  if (age == Age::today) return {};
  return {"--rename-command", "HELLO", "", "--rename-command", "INFO", ""};
}

class KeyCases : public Cases {
 protected:
  explicit KeyCases(Age age = Age::today) : Cases(arguments_for(age)) {}

  [[nodiscard]] std::string value(const std::string& key) { return server.command({"GET", key}); }
  [[nodiscard]] bool exists(const std::string& key) { return server.command({"EXISTS", key}) == "1"; }
  /// In milliseconds; -1 where it is there for ever, -2 where it is not.
  [[nodiscard]] long left(const std::string& key) { return std::stol(server.command({"PTTL", key})); }
  /// The uuid in a value that a lock has stored.
  [[nodiscard]] std::string owner(const std::string& key) {
    constexpr std::size_t begin = std::string_view(R"({"uuid":")").size();
    constexpr std::size_t length = 36;
    const std::string all = value(key);
    return all.size() < begin + length ? all : all.substr(begin, length);
  }

  /// Whoever comes now is told that somebody has it.
  void expect_busy(const std::string& key, const std::string& owner) {
    auto driver = drive_key(key, {"try"});
    const auto line = driver.expect_line(" FAILED busy ");
    EXPECT_NE(line.find(owner), std::string::npos) << line;
    EXPECT_EQ(driver.exit_status(), 1);
  }

  /// An extension gets through, which stores a value that lasts longer.
  void expect_extended(const std::string& key) {
    const auto before = value(key);
    const auto uuid = owner(key);
    ASSERT_TRUE(exists(key));
    EXPECT_TRUE(eventually([&] { return value(key) != before; }));
    EXPECT_EQ(owner(key), uuid);
    EXPECT_GT(left(key), 0);
  }
};

/// The same on either server.
class KeyCasesOfAnyAge : public KeyCases, public ::testing::WithParamInterface<Age> {
 protected:
  KeyCasesOfAnyAge() : KeyCases(GetParam()) {}
};

inline const auto any_age = ::testing::Values(Age::today, Age::old);

}  // namespace support
