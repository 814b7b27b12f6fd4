// SPDX-License-Identifier: MIT
#pragma once

// A bad network between a client and a server: a TCP relay with a thread of its own, which delays and falls
// silent on command. Bytes are never lost, changed or put in another order within a connection, as TCP has it.

#include "support/resp.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace support {

/// Thread-safe. Ends its own connections, and nothing else, when it ends.
class FaultProxy {
 public:
  using Delay = std::chrono::milliseconds;
  enum Direction : std::size_t { to_server, to_client };

  /// In front of 127.0.0.1:`server_port`. Throws std::runtime_error where it can't listen.
  explicit FaultProxy(int server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 1024) != 0 ||
        ::getsockname(listener_, raw, &size) != 0)
      throw std::runtime_error("no proxy: " + std::string(std::strerror(errno)));
    port_ = ntohs(address.sin_port);
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] { run(); });
  }
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  ~FaultProxy() {
    ending_ = true;
    wake();
    thread_.join();
    pairs_.clear();
    ::close(listener_);
    ::close(wake_);
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  /// Connections that are open now, and those there ever were.
  [[nodiscard]] std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return pairs_.size();
  }
  [[nodiscard]] std::size_t accepted() const noexcept { return accepted_; }

  /// Whether something is kept back just now.
  [[nodiscard]] bool holds_back() const {
    const std::lock_guard lock(mutex_);
    const auto is_late = [now = Clock::now()](const Lane& lane) {
      return !lane.parcels.empty() && !lane.is_due(now);
    };
    return std::ranges::any_of(pairs_,
                               [&](const auto& pair) { return std::ranges::any_of(pair->lanes, is_late); });
  }

  // --- faults, each for what is read from now on, until `heal` -------------------------------------

  /// Everything in that direction comes later by `by`, ends of connections too.
  void delay(Direction direction, Delay by) {
    change([&] { faults_.delays[direction] = by; });
  }

  /// Requests that contain `word` anywhere come later by `by`; what follows on the same connection waits.
  void delay_frames(std::string word, Delay by) {
    change([&] { faults_.frames = {std::move(word), by}; });
  }

  /// Replies to requests that contain `word` come later by `by`: for one in a transaction, EXEC's reply.
  void delay_reply_to(std::string word, Delay by) {
    change([&] { faults_.replies = {std::move(word), by}; });
  }

  /// What was published comes later by `by` to whoever subscribes; what follows on the same connection waits.
  void delay_messages(Delay by) {
    change([&] { faults_.messages = by; });
  }

  /// Nothing passes, in either direction, and nobody hears of an end. Connecting works, without an answer.
  void silence() {
    change([&] { faults_.silent = true; });
  }

  /// Silent, and the server has seen a reset on every connection, while to the clients all looks well.
  void half_open() {
    change([&] {
      faults_.silent = true;
      for (const auto& pair : pairs_) pair->reset_server();
    });
  }

  /// No faults any more; what was delayed goes out at once, in its order. Clients whose server side was
  /// reset see a reset now.
  void heal() {
    change([&] {
      faults_ = {};
      for (const auto& pair : pairs_) {
        for (Lane& lane : pair->lanes) lane.hurry();
      }
      std::erase_if(pairs_, [](const auto& pair) {
        if (pair->server.fd < 0) pair->client.reset();
        return pair->server.fd < 0;
      });
    });
  }

  /// Resets every connection there is, on both sides.
  void drop_all() {
    change([&] {
      for (const auto& pair : pairs_) {
        pair->client.reset();
        pair->reset_server();
      }
      pairs_.clear();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct WordDelay {
    std::string word;
    Delay by{};
    [[nodiscard]] bool concerns(std::string_view frame) const {
      return !word.empty() && frame.find(word) != std::string_view::npos;
    }
  };

  struct Faults {
    std::array<Delay, 2> delays{};
    WordDelay frames;
    WordDelay replies;
    Delay messages{};
    bool silent = false;
  };

  struct Socket {
    int fd = -1;
    Socket() = default;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() {
      if (fd >= 0) ::close(fd);
    }
    void adopt(int opened) {
      fd = opened;
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    void reset() {
      const linger at_once{1, 0};
      if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      if (fd >= 0) ::close(fd);
      fd = -1;
    }
  };

  /// One direction of one connection.
  struct Lane {
    struct Parcel {
      Clock::time_point due;
      std::string bytes;  ///< empty: the end of the stream
    };
    std::string uncut;
    std::deque<Parcel> parcels;
    std::size_t queued = 0;
    bool ended = false;   ///< nothing more comes in
    bool closed = false;  ///< the end has been passed on

    static constexpr std::size_t queued_max = 64U << 20U;

    void put(std::string bytes, Clock::time_point due) {
      if (!parcels.empty()) due = std::max(due, parcels.back().due);
      queued += bytes.size();
      parcels.push_back({due, std::move(bytes)});
    }
    void hurry() {
      for (Parcel& parcel : parcels) parcel.due = {};
    }
    [[nodiscard]] bool takes() const { return !ended && queued < queued_max; }
    [[nodiscard]] bool is_due(Clock::time_point now) const {
      return !parcels.empty() && parcels.front().due <= now;
    }
  };

  struct Pair {
    Socket client;
    Socket server;
    std::array<Lane, 2> lanes;
    RespPairing pairing;

    [[nodiscard]] int source(Direction direction) const {
      return direction == to_server ? client.fd : server.fd;
    }
    [[nodiscard]] int sink(Direction direction) const {
      return direction == to_server ? server.fd : client.fd;
    }
    void reset_server() {
      server.reset();
      for (Lane& lane : lanes) lane.parcels.clear();
    }
  };

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  void change(auto edit) {
    const std::lock_guard lock(mutex_);
    edit();
    wake();
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one) + 0);
  }

  void run() {
    while (!ending_) {
      std::vector<pollfd> polls{{wake_, POLLIN, 0}};
      int timeout = -1;
      {
        const std::lock_guard lock(mutex_);
        if (!faults_.silent) timeout = watch(polls);
      }
      ::poll(polls.data(), polls.size(), timeout);
      std::uint64_t ignored = 0;
      static_cast<void>(::read(wake_, &ignored, sizeof ignored) + 0);
      const std::lock_guard lock(mutex_);
      if (faults_.silent) continue;
      while (accept_one()) {
      }
      std::erase_if(pairs_, [&](const auto& pair) { return !serve(*pair); });
    }
  }

  /// Adds what to poll for; returns poll's timeout until the next parcel is due.
  int watch(std::vector<pollfd>& polls) const {
    polls.push_back({listener_, POLLIN, 0});
    auto next = Clock::time_point::max();
    const auto now = Clock::now();
    for (const auto& pair : pairs_) {
      for (const Direction direction : {to_server, to_client}) {
        const Lane& lane = pair->lanes[direction];
        if (lane.takes()) polls.push_back({pair->source(direction), POLLIN, 0});
        if (lane.is_due(now)) polls.push_back({pair->sink(direction), POLLOUT, 0});
        if (!lane.parcels.empty() && !lane.is_due(now)) next = std::min(next, lane.parcels.front().due);
      }
    }
    if (next == Clock::time_point::max()) return -1;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
  }

  bool accept_one() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return false;
    ++accepted_;
    auto pair = std::make_unique<Pair>();
    pair->client.adopt(fd);
    const int onward = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    const bool up = ::connect(onward, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    pair->server.adopt(onward);
    if (up) pairs_.push_back(std::move(pair));
    return true;
  }

  /// False once the connection has ended on both sides, or broken.
  bool serve(Pair& pair) {
    for (const Direction direction : {to_server, to_client}) {
      if (!take(pair, direction) || !give(pair, direction)) return false;
    }
    return !pair.lanes[to_server].closed || !pair.lanes[to_client].closed;
  }

  bool take(Pair& pair, Direction direction) {
    Lane& lane = pair.lanes[direction];
    std::array<char, 65536> chunk;
    while (lane.takes()) {
      const auto count = ::recv(pair.source(direction), chunk.data(), chunk.size(), 0);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
      const auto now = Clock::now();
      if (count > 0) {
        lane.uncut.append(chunk.data(), static_cast<std::size_t>(count));
        cut(pair, direction, now);
        continue;
      }
      lane.ended = true;  // a reset is passed on as an end
      const auto due = now + faults_.delays[direction];
      if (!lane.uncut.empty()) lane.put(std::exchange(lane.uncut, {}), due);
      lane.put({}, due);
    }
    return true;
  }

  /// Whole frames go into the queue, each with its delay.
  void cut(Pair& pair, Direction direction, Clock::time_point now) {
    Lane& lane = pair.lanes[direction];
    std::string_view rest = lane.uncut;
    while (const std::size_t size = resp_size(rest)) {
      const std::string_view frame = rest.substr(0, size);
      Delay by = faults_.delays[direction];
      if (direction == to_server) {
        pair.pairing.request(frame, faults_.replies.concerns(frame));
        if (faults_.frames.concerns(frame)) by += faults_.frames.by;
      } else if (is_message(frame)) {
        by += faults_.messages;
      } else if (pair.pairing.reply(frame)) {
        by += faults_.replies.by;
      }
      lane.put(std::string(frame), now + by);
      rest.remove_prefix(size);
    }
    lane.uncut.erase(0, lane.uncut.size() - rest.size());
  }

  /// Sends what is due. False where the other side has gone.
  static bool give(Pair& pair, Direction direction) {
    Lane& lane = pair.lanes[direction];
    const auto now = Clock::now();
    while (lane.is_due(now)) {
      std::string& bytes = lane.parcels.front().bytes;
      if (bytes.empty()) {
        lane.closed = true;
        ::shutdown(pair.sink(direction), SHUT_WR);
      } else {
        const auto count = ::send(pair.sink(direction), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        lane.queued -= static_cast<std::size_t>(count);
        bytes.erase(0, static_cast<std::size_t>(count));
        if (!bytes.empty()) continue;
      }
      lane.parcels.pop_front();
    }
    return true;
  }

  int server_port_;
  int listener_ = -1;
  int port_ = 0;
  int wake_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<std::size_t> accepted_ = 0;
  mutable std::mutex mutex_;
  Faults faults_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::thread thread_;
};

}  // namespace support
