// SPDX-License-Identifier: MIT

// What is stored under the key: written so that redis_getlock reads it, and read whatever it is.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sublock/core/dice.hpp>
#include <sublock/core/lease/value.hpp>

#include <cstddef>
#include <set>
#include <string>

namespace sublock::core::lease {
namespace {

const std::string id = "0123456789abcdef0123456789abcdef";
const std::string uuid = "01234567-89ab-4def-8123-456789abcdef";

TEST(LeaseValue, AUuidIsARandomOneOfTheFourthVersion) {
  Dice dice({1, 2});
  std::set<char> variants;
  for (int i = 0; i < 1000; ++i) {
    const std::string one = uuid_of(dice.fresh_id());
    ASSERT_EQ(one.size(), 36U);
    for (std::size_t at = 0; at < one.size(); ++at) {
      const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
      EXPECT_EQ(one[at] == '-', hyphen) << one;
    }
    EXPECT_EQ(one.find_first_not_of("-0123456789abcdef"), std::string::npos) << one;
    EXPECT_EQ(one[14], '4') << one;
    variants.insert(one[19]);
  }
  EXPECT_EQ(variants, (std::set<char>{'8', '9', 'a', 'b'}));
}

TEST(LeaseValue, AUuidKeepsAllOtherDigits) {
  const std::string one = uuid_of(id);
  EXPECT_EQ(one.substr(0, 14), uuid.substr(0, 14));
  EXPECT_EQ(one.substr(15, 4), uuid.substr(15, 4));
  EXPECT_EQ(one.substr(20), uuid.substr(20));
}

TEST(LeaseValue, IsThatOfRuby) {
  EXPECT_EQ(value_of(mark_of(uuid), WallTime(1480000000.25)),
            R"({"uuid":"01234567-89ab-4def-8123-456789abcdef","expire_at":"1480000000.250000"})");
}

TEST(LeaseValue, AnyParserReadsIt) {
  const auto read = nlohmann::json::parse(value_of(mark_of(uuid), WallTime(1480000000.25)));
  EXPECT_EQ(read.size(), 2U);
  EXPECT_EQ(read.at("uuid"), uuid);
  EXPECT_EQ(read.at("expire_at"), "1480000000.250000");
}

/// Ruby's Float() takes digits, a point and digits; neither an exponent without need nor inf or nan.
TEST(LeaseValue, TheExpiryIsPlainDigitsHoweverLarge) {
  for (const double seconds : {0.0, 0.000001, 1.0, 1480000000.123456, 1e12, 1e18, 1e30}) {
    const auto read = nlohmann::json::parse(value_of(mark_of(uuid), WallTime(seconds)));
    const std::string digits = read.at("expire_at");
    EXPECT_EQ(digits.find_first_not_of("0123456789."), std::string::npos) << digits;
    EXPECT_EQ(digits.size() - digits.find('.'), 7U) << digits;
    EXPECT_NE(digits.front(), '.');
    EXPECT_DOUBLE_EQ(std::stod(digits), seconds);
  }
}

TEST(LeaseValue, ComesBack) {
  const std::string text = value_of(mark_of(uuid), WallTime(1480000000.25));
  const auto value = decode_value(text);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->uuid, uuid);
  EXPECT_EQ(expire_at(text), WallTime(1480000000.25));
}

TEST(LeaseValue, TheMarkIsWhatItBeginsWithAndNobodyElses) {
  EXPECT_TRUE(value_of(mark_of(uuid), WallTime(1)).starts_with(mark_of(uuid)));
  EXPECT_FALSE(value_of(mark_of(uuid + "0"), WallTime(1)).starts_with(mark_of(uuid)));
  EXPECT_FALSE(value_of(mark_of(uuid_of(std::string(32, 'f'))), WallTime(1)).starts_with(mark_of(uuid)));
}

TEST(LeaseValue, IsMuchSmallerThanWhatIsFetched) {
  EXPECT_LT(value_of(mark_of(uuid), WallTime(1e18)).size() * 5, value_bytes_max);
}

// --- whatever a stranger has stored ------------------------------------------------------------------------

TEST(LeaseValue, OfRubyIsReadInAnyOrderAndWithMore) {
  const auto value = decode_value(R"( {"expire_at": "1.5", "more": [1, {}], "uuid": "dead"} )");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->uuid, "dead");
  EXPECT_EQ(expire_at(R"({"expire_at":"1.5","uuid":"dead"})"), WallTime(1.5));
}

TEST(LeaseValue, RubbishIsNoLock) {
  for (const std::string text :
       {"", " ", "not json", "[]", "5", "null", "true", "\"uuid\"", "{}", "{\"uuid\":5}", "{\"uuid\":null}",
        "{\"uuid\":\"a\"", "{\"uuid\":\"\xff\"}", "\xff\xfe", "{\"a\":\"b\"}", "{\"uuid\":\"a\"} and more"}) {
    EXPECT_FALSE(decode_value(text).has_value()) << text;
    EXPECT_FALSE(expire_at(text).has_value()) << text;
  }
  EXPECT_FALSE(decode_value(std::string(1, '\0')).has_value());
}

TEST(LeaseValue, DeepOrLongRubbishIsNoLockEither) {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  EXPECT_FALSE(decode_value(deep).has_value());
  EXPECT_FALSE(decode_value(std::string(10'000, '[')).has_value());
  EXPECT_FALSE(decode_value(R"({"uuid":)" + deep + "}").has_value());
  EXPECT_FALSE(decode_value(std::string(std::size_t{16} << 20U, 'x')).has_value());
}

TEST(LeaseValue, ALongLockThatWasCutOffIsNone) {
  const std::string text = R"({"uuid":")" + std::string(std::size_t{16} << 20U, 'x') + R"("})";
  EXPECT_FALSE(decode_value(text.substr(0, value_bytes_max)).has_value());
}

TEST(LeaseValue, OfTwoUuidsTheLaterCounts) {
  const auto value = decode_value(R"({"uuid":"a","uuid":"b","expire_at":"1.0"})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->uuid, "b") << "as in Ruby";
}

TEST(LeaseValue, AnExpiryThatMakesNoSenseIsNone) {
  for (const std::string written : {R"("")", R"("soon")", R"("1.0 ")", R"(" 1.0")", R"("1.0x")", R"("0x10")",
                                    R"("1e999")", "null", "{}", "[]"}) {
    const std::string text = R"({"uuid":"dead","expire_at":)" + written + "}";
    EXPECT_FALSE(expire_at(text).has_value()) << text;
    EXPECT_TRUE(decode_value(text).has_value()) << "whose it is can be told all the same: " << text;
  }
  EXPECT_FALSE(expire_at(R"({"uuid":"dead"})").has_value());
}

}  // namespace
}  // namespace sublock::core::lease
