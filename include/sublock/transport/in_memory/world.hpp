// SPDX-License-Identifier: MIT
#pragma once

// The network between processes and the server: what is on its way, when it is due, what faults hold it
// back, and who hears it in the end. What Redis does with a command is in server.hpp; what a line sends
// is in line.hpp.

#include <sublock/transport/in_memory/pacing.hpp>
#include <sublock/transport/in_memory/process.hpp>
#include <sublock/transport/in_memory/server.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::in_memory {

/// Everything behind an InMemoryRedis. Every member but `mutex` is guarded by it.
class World {
 public:
  explicit World(std::shared_ptr<Pacing> pacing) : pacing_(std::move(pacing)) {}

  std::mutex mutex;
  Server server{[this](Socket& socket, Reply reply) { send_down(socket, std::move(reply)); },
                [this] { return pacing_->now(); }};

  [[nodiscard]] Pacing& pacing() noexcept { return *pacing_; }

  std::shared_ptr<Socket> connect(std::shared_ptr<Process> process) {
    auto socket = std::make_shared<Socket>(std::move(process));
    sockets_.push_back(socket);
    send_up(*socket, {.kind = Request::Kind::connect});
    return socket;
  }

  /// Writes a request. Where nothing delays it, the server has executed it when this returns.
  void send_up(Socket& socket, Request request) {
    const bool sent = !socket.process || !socket.process->wedged;
    socket.up.push_back({due(socket), sent, std::move(request)});
    while (can_send(socket) && socket.up.front().due <= pacing_->now()) arrive(socket);
    sweep();
    pacing_->wake(nullptr);
  }

  /// Writes a request that `line` wants answered.
  void ask(Socket& socket, const std::shared_ptr<LineState>& line, Request request) {
    socket.awaited.push_back({line, line->epoch, *request.verb});
    send_up(socket, std::move(request));
  }

  /// The client closes its end.
  void disconnect(Socket& socket) {
    socket.line.reset();
    socket.awaited.clear();
    socket.down.clear();
    socket.abandoned = true;
    send_up(socket, {.kind = Request::Kind::goodbye});
  }

  /// Executes and delivers whatever is due, in the order in which it is; returns how many events
  /// reached a listener.
  std::size_t pump() {
    const std::uint64_t before = delivered_;
    for (;;) {
      const Step step = next_step();
      if (step.due > pacing_->now()) break;
      const std::shared_ptr<Socket> alive = step.socket;
      if (step.line) {
        step.line->reminder = Instant::max();
        tell(step.line, step.line->epoch, core::event::Reminded{});
      } else if (step.up) {
        arrive(*alive);
      } else {
        receive(alive);
      }
      sweep();
    }
    return static_cast<std::size_t>(delivered_ - before);
  }

  /// See LineOf. Time passes as the pacing has it.
  void wait(std::unique_lock<std::mutex>& lock, const std::shared_ptr<LineState>& line, Duration at_most,
            const std::stop_token& stop) {
    const Instant end = core::saturating_add(pacing_->now(), std::max(at_most, Duration::zero()));
    const std::uint64_t before = line->delivered;
    for (;;) {
      pump();
      if (line->delivered != before || stop.stop_requested() || pacing_->now() >= end) return;
      pacing_->pause(lock, line.get(), end, next_step().due, stop);
    }
  }

  /// Tells the line once, after `delay`; a wedged process is told when it runs again.
  void remind(const std::shared_ptr<LineState>& line, Duration delay) {
    line->reminder = core::saturating_add(pacing_->now(), delay);
    pacing_->wake(nullptr);
  }

  /// The mouth of a process, connected anew where the last one broke.
  Socket& mouth_of(const std::shared_ptr<Process>& process) {
    if (!process->mouth) process->mouth = connect(process);
    return *process->mouth;
  }

  /// Opens are pending until both connections are up, see `settle`.
  void open(const std::shared_ptr<Process>& process, const std::shared_ptr<LineState>& line) {
    if (line->ear || line->is_open || process->crashed) return;
    process->opening.push_back(line);
    Socket& mouth = mouth_of(process);
    if (!line->deaf) return give_ear(process, line);
    desks_.push_back({process, line});
    if (process->mouth_is_up) reassure(mouth);
  }

  /// An ear for a desk, and the first thing it says there.
  void hear(const std::shared_ptr<Process>& process, const std::shared_ptr<LineState>& line,
            Request request) {
    if (!line->ear) give_ear(process, line);
    line->subscribed = true;
    ask(*line->ear, line, std::move(request));
  }

  /// A desk needs its ear no more.
  void deafen(const std::shared_ptr<LineState>& line) {
    if (!line->ear) return;
    line->ear_is_up = line->subscribed = false;
    disconnect(*std::exchange(line->ear, nullptr));
  }

  /// Takes the ear from a line, so that nothing of it is heard any more: to the pool if it is clean.
  void close(const std::shared_ptr<Process>& process, const std::shared_ptr<LineState>& line) {
    const bool clean = line->ear_is_up && !line->subscribed;
    const std::shared_ptr<Socket> ear = retire(process, line);
    if (!ear || ear->abandoned) return;
    ear->line.reset();
    if (clean) {
      process->pool.push_back(ear);
    } else {
      disconnect(*ear);
    }
  }

  /// Closes every connection of a process, as its kernel does when it ends.
  void end(Process& process) {
    process.opening.clear();
    process.pool.clear();
    process.mouth.reset();
    process.mouth_is_up = false;
    process.wedged = false;
    for (const auto& socket : sockets_of(process)) {
      std::erase_if(socket->up, [](const auto& packet) { return !packet.sent; });
      disconnect(*socket);
    }
    flush();
  }

  /// The server closes every connection of a process.
  void drop(const Process& process) {
    for (const auto& socket : sockets_of(process)) server.close(*socket);
    flush();
  }

  /// A connection that belongs to no process and never reads. Throws std::logic_error for a stopped server.
  Socket& connect_raw() {
    if (server.stopped) throw std::logic_error("no raw client can connect: the in-memory Redis is stopped");
    const auto socket = std::make_shared<Socket>(nullptr);
    sockets_.push_back(socket);
    server.accept(*socket);
    return *socket;
  }

  /// A wedged process runs again: what it wanted to write goes on its way.
  void unwedge(Process& process) {
    process.wedged = false;
    for (const auto& socket : sockets_of(process)) {
      for (auto& packet : socket->up) packet.sent = true;
    }
    flush();
  }

  /// After a fault began or ended: what has arrived by now is executed, and whoever waits looks again.
  void flush() {
    const std::vector<std::shared_ptr<Socket>> sockets = sockets_;
    for (const auto& socket : sockets) {
      while (can_send(*socket) && socket->up.front().due <= pacing_->now()) arrive(*socket);
    }
    sweep();
    pacing_->wake(nullptr);
  }

 private:
  struct Seated {
    std::shared_ptr<Process> process;
    std::shared_ptr<LineState> line;
  };

  struct Step {
    std::shared_ptr<Socket> socket = nullptr;
    bool up = false;
    Instant due = Instant::max();
    std::shared_ptr<LineState> line = nullptr;  // to be reminded
  };

  void give_ear(const std::shared_ptr<Process>& process, const std::shared_ptr<LineState>& line) {
    std::erase_if(process->pool, [](const auto& ear) { return ear->phase != Socket::Phase::open; });
    if (process->pool.empty()) {
      line->ear = connect(process);
    } else {
      line->ear = std::move(process->pool.back());
      process->pool.pop_back();
      reassure(*line->ear);
    }
    line->ear->line = line;
  }

  /// Somebody new learns in the next delivery that the connection stands already.
  void reassure(Socket& socket) {
    socket.down.push_back({pacing_->now(), true, reply::Connected{}});
    pacing_->wake(nullptr);
  }

  static bool can_send(const Socket& socket) {
    return !socket.up.empty() && socket.up.front().sent && (!socket.process || !socket.process->partitioned);
  }

  static bool can_receive(const Socket& socket) {
    return !socket.down.empty() && !socket.process->partitioned && !socket.process->held &&
           !socket.process->wedged;
  }

  /// The earliest thing that no fault holds back. O(connections).
  [[nodiscard]] Step next_step() const {
    Step next;
    for (const auto& socket : sockets_) {
      if (can_send(*socket) && socket->up.front().due < next.due) {
        next = {socket, true, socket->up.front().due};
      }
      if (can_receive(*socket) && socket->down.front().due < next.due) {
        next = {socket, false, socket->down.front().due};
      }
      const auto& line = socket->line;
      if (line && line->reminder < next.due && !socket->process->wedged)
        next = {socket, false, line->reminder, line};
    }
    for (const Seated& desk : desks_) {
      if (desk.line->reminder < next.due && !desk.process->wedged)
        next = {nullptr, false, desk.line->reminder, desk.line};
    }
    return next;
  }

  /// When what is sent now may arrive; never before what was sent earlier, since each way is a queue.
  Instant due(const Socket& socket) {
    const Duration delay = socket.process ? socket.process->delay : Duration::zero();
    return pacing_->now() + delay + pacing_->latency();
  }

  void send_down(Socket& socket, Reply reply) {
    if (!socket.process || socket.abandoned) return;
    socket.down.push_back({due(socket), true, std::move(reply)});
  }

  void arrive(Socket& socket) {
    const Request request = std::move(socket.up.front().content);
    socket.up.pop_front();
    if (socket.phase != Socket::Phase::closed) server.execute(socket, request);
  }

  void receive(const std::shared_ptr<Socket>& socket) {
    Reply reply = std::move(socket->down.front().content);
    socket->down.pop_front();
    if (auto* pushed = std::get_if<reply::Pushed>(&reply)) {
      const auto line = socket->line;
      if (line) tell(line, line->epoch, core::event::Message{pushed->channel, pushed->payload});
    } else if (auto* answer = std::get_if<reply::Answer>(&reply)) {
      const Awaited asked = std::move(socket->awaited.front());
      socket->awaited.pop_front();
      if (std::holds_alternative<core::event::Left>(answer->event) && socket->awaited.empty()) {
        asked.line->subscribed = false;
      }
      tell(asked.line, asked.epoch, answer->event);
    } else if (auto* closed = std::get_if<reply::Closed>(&reply)) {
      closed_by_server(socket, closed->failure);
    } else {
      connected(socket);
    }
  }

  void connected(const std::shared_ptr<Socket>& socket) {
    if (socket->line) {
      socket->line->ear_is_up = true;
    } else {
      socket->process->mouth_is_up = true;
    }
    settle(*socket->process);
  }

  /// Tells every line that has all it needs that it is open.
  void settle(Process& process) {
    if (!process.mouth_is_up) return;
    for (const auto& line : std::vector(process.opening)) {
      if (!(line->ear_is_up || line->deaf) || std::erase(process.opening, line) == 0) continue;
      line->is_open = true;
      tell(line, line->epoch, core::event::Opened{});
    }
  }

  void closed_by_server(const std::shared_ptr<Socket>& socket, const Failure& failure) {
    const std::shared_ptr<Process> process = socket->process;
    socket->abandoned = true;
    if (const auto line = socket->line) return lose(process, line, failure);
    if (std::erase(process->pool, socket) != 0 || process->mouth != socket) return;
    process->mouth.reset();
    const bool was_up = std::exchange(process->mouth_is_up, false);
    for (const Awaited& asked : std::exchange(socket->awaited, {})) {
      tell(asked.line, asked.epoch, core::event::Refused{asked.verb, failure});
    }
    if (was_up) {
      if (!process->opening.empty()) mouth_of(process);
      return;
    }
    for (const auto& line : std::vector(process->opening)) {
      if (std::ranges::find(process->opening, line) != process->opening.end()) {
        lose(process, line, failure);
      }
    }
  }

  void lose(const std::shared_ptr<Process>& process, const std::shared_ptr<LineState>& line,
            const Failure& failure) {
    if (line->deaf && line->is_open) {
      line->ear_is_up = line->subscribed = false;
      line->ear = nullptr;
      return tell(line, line->epoch, core::event::Refused{core::Verb::listen, failure});
    }
    const auto ear = retire(process, line);
    if (ear && !ear->abandoned) disconnect(*ear);
    tell(line, line->epoch, core::event::Lost{failure});
  }

  /// Ends the present epoch of a line and returns the ear it had.
  std::shared_ptr<Socket> retire(const std::shared_ptr<Process>& process,
                                 const std::shared_ptr<LineState>& line) {
    ++line->epoch;
    line->is_open = false;
    line->ear_is_up = false;
    line->subscribed = false;
    line->response_channel.clear();
    line->reminder = Instant::max();
    std::erase(process->opening, line);
    std::erase_if(desks_, [&](const Seated& desk) { return desk.line == line; });
    return std::exchange(line->ear, nullptr);
  }

  void tell(const std::shared_ptr<LineState>& line, std::uint64_t epoch, const core::Event& event) {
    if (line->epoch != epoch || !line->listener) return;
    ++delivered_;
    ++line->delivered;
    pacing_->wake(line.get());
    line->listener->on_event(event);
  }

  [[nodiscard]] std::vector<std::shared_ptr<Socket>> sockets_of(const Process& process) const {
    std::vector<std::shared_ptr<Socket>> found;
    std::ranges::copy_if(sockets_, std::back_inserter(found),
                         [&](const auto& socket) { return socket->process.get() == &process; });
    return found;
  }

  /// Forgets connections that both ends have done with.
  void sweep() {
    std::erase_if(sockets_, [](const auto& socket) {
      return socket->phase == Socket::Phase::closed && (socket->abandoned || !socket->process);
    });
  }

  std::shared_ptr<Pacing> pacing_;
  std::vector<std::shared_ptr<Socket>> sockets_;
  std::vector<Seated> desks_;  // the open ones: the others are known by their ears
  std::uint64_t delivered_ = 0;
};

}  // namespace sublock::in_memory
