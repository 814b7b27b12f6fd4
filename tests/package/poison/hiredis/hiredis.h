// SPDX-License-Identifier: MIT
#pragma once

// Stands before the real one in the include path of a program that must not need hiredis.

#error "the core has included hiredis"
