// SPDX-License-Identifier: MIT

// The transport that shares ears under the laws of all transports, and its lock under those of all locks, over a
// redis-server of this test's own.

#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/use_laws.hpp>
#include <lock/waiting_laws.hpp>
#include <shared_ear/sharing_world.hpp>

namespace sublock::testing {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, TransportLaws, SharingLineWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, LineLaws, SharingLineWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, LockLaws, SharingWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, LockUseLaws, SharingWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, LockWaitingLaws, SharingWorld);
INSTANTIATE_TYPED_TEST_SUITE_P(SharedEar, LockLossLaws, SharingWorld);

}  // namespace
}  // namespace sublock::testing
