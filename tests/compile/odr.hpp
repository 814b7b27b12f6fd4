// SPDX-License-Identifier: MIT
#pragma once

// Every public header (the list is made by CMake), and what the two translation units are asked.

#include "sublock_all_headers.hpp"

#include <system_error>

const std::error_category& category_seen_by_a();
const std::error_category& category_seen_by_b();
