// SPDX-License-Identifier: MIT

// Every member of the locks that users write, compiled, whether or not a test calls it; and one file in
// which clang-tidy sees all headers.

#include "sublock_all_headers.hpp"

template class sublock::BasicRedisLock<sublock::InMemoryTransport>;
template class sublock::BasicRedisLock<sublock::InMemoryTransport, sublock::LowestIdElection,
                                       sublock::NeverReap, sublock::ManualClock>;
template class sublock::BasicMajorityLock<sublock::InMemoryTransport>;
#ifdef HIREDIS_MAJOR
template class sublock::BasicRedisLock<sublock::HiredisTransport>;
#endif
