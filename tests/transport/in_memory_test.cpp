// SPDX-License-Identifier: MIT

// The in-memory transport under the laws of all transports, in real and in virtual time. What is
// peculiar to it is in in_memory_faults_test.cpp and in_memory_time_test.cpp.

#include <laws/line_laws.hpp>
#include <laws/transport_laws.hpp>
#include <sublock/transport/in_memory.hpp>

namespace sublock::testing {
namespace {

struct RealWorld {
  using Transport = InMemoryTransport;

  std::shared_ptr<Transport> connect() { return redis->connect(); }
  std::size_t publish(const std::string& channel, const std::string& payload) {
    return redis->publish(channel, payload);
  }
  std::size_t subscribers(const std::string& channel) { return redis->subscribers(channel); }
  void kill(std::int64_t id) { redis->kill(id); }
  void close_everything() { redis->restart(); }
  void close_mouths() {
    for (const auto& client : redis->connections()) {
      if (client.channels.empty()) redis->kill(client.id);
    }
  }

  std::unique_ptr<InMemoryRedis> redis = std::make_unique<InMemoryRedis>();
};

struct VirtualWorld : RealWorld {
  VirtualWorld() { redis = std::make_unique<InMemoryRedis>(ManualClock{}); }
};

using Worlds = ::testing::Types<RealWorld, VirtualWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, TransportLaws, Worlds);
INSTANTIATE_TYPED_TEST_SUITE_P(InMemory, LineLaws, Worlds);

}  // namespace
}  // namespace sublock::testing
