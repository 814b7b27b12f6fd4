// SPDX-License-Identifier: MIT
#pragma once

// What a Redis server knows and does, as far as locks need it: clients, names, subscriptions, PUBLISH,
// PUBSUB NUMSUB, CLIENT LIST and CLIENT KILL. Its keys are in keys.hpp. No time, no faults, no listeners: what it sends goes onto
// a socket's way down and somebody else delivers it.

#include <sublock/policies.hpp>
#include <sublock/transport/in_memory/keys.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::in_memory {

struct LineState;
struct Process;
struct Socket;
class Server;

/// What the server sends down a socket, in one order for replies and pushes.
namespace reply {
struct Connected {};
struct Pushed {
  std::string channel;
  std::string payload;
};
struct Answer {
  core::Event event;  ///< to the oldest request that awaits one
};
struct Closed {
  Failure failure;  ///< the last thing to come
};
}  // namespace reply
using Reply = std::variant<reply::Connected, reply::Pushed, reply::Answer, reply::Closed>;

/// One write of a client: executed as one step, refused as one step.
struct Request {
  enum class Kind { connect, commands, goodbye };

  Kind kind = Kind::commands;
  std::optional<core::Verb> verb = {};  ///< empty: nobody awaits an answer
  std::vector<std::string_view> commands = {};
  std::function<std::optional<core::Event>(Server&, Socket&)> run = {};
};

template <class T>
struct Packet {
  Instant due;
  bool sent = true;  ///< false: a wedged process has not even written it
  T content;
};

/// A client's request that has not been answered.
struct Awaited {
  std::shared_ptr<LineState> line;
  std::uint64_t epoch = 0;  ///< of the line, when it asked
  core::Verb verb;
};

/// One connection, with both its ends and what travels between them.
struct Socket {
  enum class Phase { connecting, open, closed };

  explicit Socket(std::shared_ptr<Process> owner) : process(std::move(owner)) {}

  const std::shared_ptr<Process> process;  ///< null: a raw client of the test, which never reads

  // At the server.
  Phase phase = Phase::connecting;
  std::int64_t id = 0;
  std::string name;
  std::vector<std::string> channels;
  bool everything = false;   ///< as by PSUBSCRIBE *
  bool close_after = false;  ///< has killed itself, and hears the answer first

  // On the way.
  std::deque<Packet<Request>> up;
  std::deque<Packet<Reply>> down;

  // At the client.
  std::shared_ptr<LineState> line;  ///< whose ear this is; null: a mouth, or an ear in the pool
  std::deque<Awaited> awaited;
  bool abandoned = false;  ///< the client has closed its end and reads no more
};

/// What a server has done since it was made, exactly. The test's own raw calls are not in it.
struct Counts {
  std::size_t requests = 0;  ///< writes of clients that were executed, whole transactions as one: round trips
  std::size_t commands = 0;  ///< Redis commands in them, MULTI and EXEC included
  std::size_t messages = 0;  ///< copies of published messages sent to subscribers, raw publishes included
  std::size_t kills = 0;     ///< connections closed by CLIENT KILL

  friend bool operator==(const Counts&, const Counts&) = default;
};

/// The server. Guarded by the world's mutex; sockets stay alive for as long as they are connected.
class Server {
 public:
  using Send = std::function<void(Socket&, Reply)>;

  Server(Send send, std::function<Instant()> now) : keys(std::move(now)), send_(std::move(send)) {}

  Keys keys;

  bool stopped = false;
  bool subscribe_in_multi = true;
  std::map<std::string, Failure, std::less<>> refusals;  ///< by command name
  Counts counts;

  /// Executes one request of a socket and sends what there is to answer.
  void execute(Socket& socket, const Request& request) {
    switch (request.kind) {
      case Request::Kind::connect: return accept(socket);
      case Request::Kind::goodbye: return forget(socket);
      case Request::Kind::commands: break;
    }
    if (socket.phase != Socket::Phase::open) return;
    ++counts.requests;
    counts.commands += request.commands.size();
    if (const Failure* refusal = refusal_of(request)) {
      if (request.verb) send_(socket, reply::Answer{core::event::Refused{*request.verb, *refusal}});
      return;
    }
    std::optional<core::Event> answer = request.run(*this, socket);
    if (request.verb && answer) send_(socket, reply::Answer{*std::move(answer)});
    if (socket.close_after) close(socket);
  }

  void accept(Socket& socket) {
    if (stopped) {
      socket.phase = Socket::Phase::closed;
      return send_(socket, reply::Closed{{Errc::connect, "connection refused: no Redis is running there"}});
    }
    socket.phase = Socket::Phase::open;
    socket.id = next_id_++;
    clients_.push_back(&socket);
    send_(socket, reply::Connected{});
  }

  /// Closes the server's end; the client learns it after all that was sent before.
  void close(Socket& socket) {
    if (socket.phase != Socket::Phase::open) return;
    forget(socket);
    send_(socket, reply::Closed{{Errc::connect, "the Redis server closed the connection"}});
  }

  void close_all() {
    const std::vector<Socket*> clients = clients_;
    for (Socket* client : clients) close(*client);
  }

  void subscribe(Socket& socket, const std::string& channel) {
    if (std::ranges::find(socket.channels, channel) != socket.channels.end()) return;
    socket.channels.push_back(channel);
    subscribers_[channel].push_back(&socket);
  }

  void unsubscribe(Socket& socket, const std::string& channel) {
    if (std::erase(socket.channels, channel) == 0) return;
    const auto found = subscribers_.find(channel);
    std::erase(found->second, &socket);
    if (found->second.empty()) subscribers_.erase(found);
  }

  void unsubscribe_all(Socket& socket) {
    while (!socket.channels.empty()) unsubscribe(socket, std::string(socket.channels.back()));
  }

  [[nodiscard]] std::size_t subscribers(std::string_view channel) const {
    const auto found = subscribers_.find(channel);
    return found == subscribers_.end() ? 0 : found->second.size();
  }

  /// Returns what PUBLISH does: everybody who is sent a copy, by name or by pattern.
  std::size_t publish(const std::string& channel, const std::string& payload) {
    std::size_t receivers = 0;
    if (const auto found = subscribers_.find(channel); found != subscribers_.end()) {
      for (Socket* client : found->second) send_(*client, reply::Pushed{channel, payload});
      receivers += found->second.size();
    }
    receivers += static_cast<std::size_t>(std::ranges::count(clients_, true, &Socket::everything));
    counts.messages += receivers;
    return receivers;
  }

  /// CLIENT LIST TYPE pubsub.
  [[nodiscard]] std::vector<core::Connection> list() const {
    std::vector<core::Connection> listed;
    for (const Socket* client : clients_) {
      if (!client->channels.empty() || client->everything) listed.push_back({client->id, client->name});
    }
    return listed;
  }

  /// Returns whether there was such a client. `self` may be null.
  bool kill(std::int64_t id, const Socket* self) {
    const auto found = std::ranges::find(clients_, id, &Socket::id);
    if (found == clients_.end()) return false;
    ++counts.kills;
    if (*found == self) {
      (*found)->close_after = true;
    } else {
      close(**found);
    }
    return true;
  }

  [[nodiscard]] const std::vector<Socket*>& clients() const noexcept { return clients_; }

 private:
  void forget(Socket& socket) {
    unsubscribe_all(socket);
    std::erase(clients_, &socket);
    socket.phase = Socket::Phase::closed;
  }

  [[nodiscard]] const Failure* refusal_of(const Request& request) const {
    for (const std::string_view command : request.commands) {
      if (const auto found = refusals.find(command); found != refusals.end()) return &found->second;
    }
    return nullptr;
  }

  Send send_;
  std::int64_t next_id_ = 1;
  std::vector<Socket*> clients_;  ///< in the order in which they connected
  std::map<std::string, std::vector<Socket*>, std::less<>> subscribers_;
};

}  // namespace sublock::in_memory
