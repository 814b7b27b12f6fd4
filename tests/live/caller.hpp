// SPDX-License-Identifier: MIT
#pragma once

// One of the processes that meet on a server, as the transport's own tests see it: a line, and what it hears.

#include <sublock/transport/hiredis.hpp>
#include <support/recorder.hpp>

#include <string>

namespace sublock::testing {

using Process = Caller<HiredisTransport>;

/// Where answers to a process on channel "lock" go.
inline const std::string response = "lock-0123456789abcdef0123456789abcdef";

}  // namespace sublock::testing
