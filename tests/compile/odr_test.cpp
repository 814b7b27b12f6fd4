// SPDX-License-Identifier: MIT

// That this links is the test: nothing in a header is defined twice. And what must be one is one.

#include <gtest/gtest.h>

#include <system_error>

const std::error_category& category_seen_by_a();
const std::error_category& category_seen_by_b();

TEST(TwoTranslationUnits, ShareOneErrorCategory) { EXPECT_EQ(category_seen_by_a(), category_seen_by_b()); }
