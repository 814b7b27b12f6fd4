// SPDX-License-Identifier: MIT

// The lock over hiredis and a redis-server of this test's own, in the clear and over TLS, under the laws of all locks.

#include <live/live_world.hpp>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/use_laws.hpp>
#include <lock/waiting_laws.hpp>
#include <sublock/redis_lock.hpp>

namespace sublock::testing {
namespace {

using LiveWorld = LiveWorldOn<PlainServer>;
using TlsWorld = LiveWorldOn<EncipheredServer>;

INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockWaitingLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockUseLaws, LiveWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LockLossLaws, LiveWorld);

// How long one waits does not depend on what carries it, so the laws of waiting are not repeated.
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, LockLaws, TlsWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, LockUseLaws, TlsWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, LockLossLaws, TlsWorld);

}  // namespace
}  // namespace sublock::testing
