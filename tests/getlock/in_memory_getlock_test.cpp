// SPDX-License-Identifier: MIT

// RedisGetlock over an in-memory Redis, in virtual and in real time, under the laws of all of its kind.

#include <getlock/getlock_laws.hpp>
#include <getlock/getlock_loss_laws.hpp>
#include <getlock/in_memory_keys.hpp>
#include <laws/desk_laws.hpp>

namespace sublock::testing {
namespace {

using Worlds = ::testing::Types<InMemoryKeys<VirtualWorld>, InMemoryKeys<RealTimeWorld>>;
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, GetlockLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, GetlockLossLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, DeskLaws, Worlds);

}  // namespace
}  // namespace sublock::testing
