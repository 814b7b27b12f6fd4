// SPDX-License-Identifier: MIT

// Every public header, in the first of two translation units that are linked together.

#include "compile/odr.hpp"

const std::error_category& category_seen_by_a() { return sublock::category(); }
