// SPDX-License-Identifier: MIT
#pragma once

// One in-memory world in virtual time, where a wait that hears nothing costs nothing, and words for the
// tests of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/transport/in_memory.hpp>
#include <support/recorder.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sublock::testing {

/// One line, in a process of its own unless told otherwise.
using Process = Caller<InMemoryTransport>;

class InMemoryFixture : public ::testing::Test {
 protected:
  std::unique_ptr<Process> joined(const std::shared_ptr<InMemoryTransport>& on, const std::string& id = "1") {
    auto process = std::make_unique<Process>(on);
    EXPECT_TRUE(process->answered<core::event::Opened>([](auto& line) { line.open(); }));
    EXPECT_TRUE(process->answered<core::event::Joined>(
        [&](auto& line) { line.join("a", "a-" + id, "a-lock-" + id); }));
    return process;
  }

  /// What a line hears within a second, beyond what it has heard already.
  static std::vector<std::string> hears_next(Process& process) {
    const std::size_t before = process.order().size();
    process.wait(std::chrono::seconds(1));
    auto order = process.order();
    order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(before));
    return order;
  }

  static auto pings() {
    return [](auto& line) { line.ping("a", "a-p", "ping"); };
  }

  ManualClock clock;
  InMemoryRedis redis{clock};
  std::shared_ptr<InMemoryTransport> transport = redis.connect();
};

}  // namespace sublock::testing
