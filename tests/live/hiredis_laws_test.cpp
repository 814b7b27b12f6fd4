// SPDX-License-Identifier: MIT

// The hiredis transport under the laws of all transports, over a redis-server of this test's own, in the clear and by TLS. What is
// peculiar to it is in the other hiredis tests of this folder.

#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <live/line_world.hpp>
#include <live/live_world.hpp>
#include <sublock/transport/hiredis.hpp>

namespace sublock::testing {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, TransportLaws, LineWorldOn<PlainServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(Hiredis, LineLaws, LineWorldOn<PlainServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, TransportLaws, LineWorldOn<EncipheredServer>);
INSTANTIATE_TYPED_TEST_SUITE_P(HiredisOverTls, LineLaws, LineWorldOn<EncipheredServer>);

}  // namespace
}  // namespace sublock::testing
