// SPDX-License-Identifier: MIT
//
// The two locks of the examples, compiled once, and what their servers need of the library's inner rooms.

#include "server.hpp"

#include <sublock/core/roll_call.hpp>
#include <sublock/inquiry.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

template class sublock::BasicRedisLock<sublock::HiredisTransport>;
template class sublock::BasicRedisLock<sublock::InMemoryTransport>;

namespace examples {
namespace {

using sublock::core::RollCall;

/// Lists the server's connections and kills the one that bears the name.
template <class Transport>
void kill_connection(const std::shared_ptr<Transport>& administrator, const std::string& name) {
  constexpr auto patience = std::chrono::seconds(5);
  sublock::Inquiry<Transport, typename Transport::Line, RollCall, sublock::SteadyClock> inquiry(
      administrator, {}, RollCall(name, name + "-administrator", {}));
  inquiry.wait_until(patience, [](const RollCall& call) { return call.asked(); });
  inquiry.line().list();
  inquiry.wait_until(patience, [](const RollCall& call) { return call.connections().has_value(); });
  std::vector<std::int64_t> ids;
  for (const auto& connection : inquiry.question().connections().value()) {
    if (connection.name == name) ids.push_back(connection.id);
  }
  if (ids.empty()) throw std::runtime_error("there is no connection called " + name);
  inquiry.line().kill(ids);
  inquiry.wait_until(patience, [](const RollCall& call) { return call.killed(); });
}

}  // namespace

MemoryServer::MemoryServer() : redis_(std::make_unique<sublock::InMemoryRedis>()) {}
MemoryServer::~MemoryServer() = default;

std::shared_ptr<sublock::InMemoryTransport> MemoryServer::connect() { return redis_->connect(); }

void MemoryServer::freeze(sublock::InMemoryTransport& process) { redis_->wedge(process); }
void MemoryServer::thaw(sublock::InMemoryTransport& process) { redis_->resume(process); }

std::string LiveServer::url() {
  const char* url = std::getenv("REDIS_URL");
  return url != nullptr ? url : "redis://127.0.0.1:6379";
}

std::shared_ptr<sublock::HiredisTransport> LiveServer::connect() const { return sublock::connect(url()); }

void LiveServer::expect_an_answer() const {
  static_cast<void>(Lock(connect(), channel_of_our_own("hello")).probe());
}

void MemoryServer::cut(const Lock& lock) { kill_connection(connect(), lock.client_name()); }
void LiveServer::cut(const Lock& lock) const { kill_connection(connect(), lock.client_name()); }

std::string channel_of_our_own(const std::string& name) { return name + "-" + std::to_string(::getpid()); }

}  // namespace examples
