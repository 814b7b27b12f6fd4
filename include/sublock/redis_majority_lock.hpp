// SPDX-License-Identifier: MIT
#pragma once

// The majority lock on real servers: nothing but its name.

#include <sublock/basic_majority_lock.hpp>
#include <sublock/transport/hiredis.hpp>

namespace sublock {

/// Held on most of several servers.
using RedisMajorityLock = BasicMajorityLock<HiredisTransport>;

}  // namespace sublock
