// SPDX-License-Identifier: MIT
#pragma once

// The client's side of the in-memory world, as plain records: a process, and the lines and desks in it.

#include <sublock/transport/in_memory/server.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sublock::in_memory {

/// What a line is between its verbs. Outlives the line while something is addressed to it.
struct LineState {
  core::Listener* listener = nullptr;  ///< null once the line is destroyed: never called again
  std::uint64_t epoch = 0;             ///< raised by close and loss: nothing of an earlier one is delivered
  std::uint64_t delivered = 0;         ///< events, over all epochs
  bool is_open = false;                ///< Opened was delivered, and neither Lost nor close() since
  bool ear_is_up = false;
  bool subscribed = false;  ///< as far as the client knows; a subscribed ear never goes to the pool
  bool deaf = false;        ///< a desk's, which needs no ear to be open
  Instant reminder = Instant::max();
  std::string response_channel;  ///< what listen() replaces
  std::shared_ptr<Socket> ear;   ///< null: closed
};

/// One process: what is shared by the lines of one transport.
struct Process {
  std::atomic<std::size_t> lines = 0;  ///< alive; atomic, since a line may be made without the mutex
  bool orphaned = false;               ///< its transport is gone, so the last line closes everything
  bool crashed = false;

  // Faults.
  bool partitioned = false;
  bool held = false;
  bool wedged = false;
  Duration delay = Duration::zero();

  bool mouth_is_up = false;
  std::shared_ptr<Socket> mouth;
  std::vector<std::shared_ptr<Socket>> pool;        ///< ears that have left everything
  std::vector<std::shared_ptr<LineState>> opening;  ///< wait for their ear or for the mouth
};

}  // namespace sublock::in_memory
