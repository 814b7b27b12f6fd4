// SPDX-License-Identifier: MIT

// The lock over an in-memory Redis, in virtual and in real time, under the laws of all locks.

#include <lock/in_memory_worlds.hpp>
#include <lock/lock_laws.hpp>
#include <lock/loss_laws.hpp>
#include <lock/use_laws.hpp>
#include <lock/waiting_laws.hpp>

namespace sublock::testing {
namespace {

using Worlds = ::testing::Types<VirtualWorld, RealTimeWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, LockLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, LockWaitingLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, LockUseLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, LockLossLaws, Worlds);

}  // namespace
}  // namespace sublock::testing
