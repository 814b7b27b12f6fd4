// SPDX-License-Identifier: MIT

// RedisGetlock over hiredis and redis-servers of this test's own, under the laws of all of its kind: on a server as
// Debian has it, and on one that is spoken to as if it were before 2.6.12.

#include <getlock/getlock_laws.hpp>
#include <getlock/getlock_loss_laws.hpp>
#include <laws/desk_laws.hpp>
#include <live/live_world.hpp>
#include <sublock/redis_getlock.hpp>

namespace sublock::testing {
namespace {

using Worlds = ::testing::Types<LiveWorldOn<PlainServer>, LiveWorldOn<SilentServer>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, GetlockLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, GetlockLossLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, DeskLaws, Worlds);

}  // namespace
}  // namespace sublock::testing
