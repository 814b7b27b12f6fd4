// SPDX-License-Identifier: MIT
#pragma once

// A TCP relay between a client and a server, which writes down what passes and can lose, add and end
// things; and without a server, one that answers from a script. It has a thread of its own.

#include "support/eventually.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace support {

/// What has passed over all connections since it was last asked for.
struct Traffic {
  std::string to_server;
  std::string to_client;
  std::uint64_t writes_of_client = 0;  ///< segments with data, as the kernel counted them
  std::uint64_t writes_of_server = 0;
};

/// Thread-safe.
class Relay {
 public:
  /// What a scripted server says to what it has just read; the first call, with "", on connecting.
  using Script = std::function<std::string(std::string_view)>;

  explicit Relay(int server_port) : server_port_(server_port) { start(); }
  explicit Relay(Script script) : script_(std::move(script)) { start(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  ~Relay() {
    ending_ = true;
    wake();
    thread_.join();
    for (const auto& pair : pairs_) pair->end();
    ::close(listener_);
    ::close(wake_);
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  /// Connections that are open now.
  [[nodiscard]] std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return pairs_.size();
  }
  [[nodiscard]] std::size_t accepted() const noexcept { return accepted_; }

  Traffic take() {
    const std::lock_guard lock(mutex_);
    for (const auto& pair : pairs_) pair->count(traffic_);
    return std::exchange(traffic_, {});
  }

  /// From now on nothing is passed on, and nothing lost connections say is heard: the network is gone.
  void swallow(bool on) { swallowing_ = on; }

  /// Sends `bytes` to every client whose connection has not been, or has been, used to subscribe.
  void inject(const std::string& bytes, bool to_subscribers) {
    const std::lock_guard lock(mutex_);
    for (const auto& pair : pairs_) {
      if (pair->subscriber == to_subscribers) send_all(pair->client, bytes);
    }
  }

  /// Closes every connection, or refuses further ones too by closing them at once.
  void drop_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& pair : pairs_) pair->shutdown();
  }
  void refuse(bool on) { refusing_ = on; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    bool subscriber = false;
    std::uint64_t client_segments = 0;
    std::uint64_t server_segments = 0;

    void end() {
      ::close(client);
      if (server >= 0) ::close(server);
    }
    void shutdown() {
      ::shutdown(client, SHUT_RDWR);
      if (server >= 0) ::shutdown(server, SHUT_RDWR);
    }
    void count(Traffic& traffic) {
      traffic.writes_of_client += since(client, client_segments);
      if (server >= 0) traffic.writes_of_server += since(server, server_segments);
    }
    static std::uint64_t since(int fd, std::uint64_t& before) {
      // The kernel's structure has grown beyond libc's: data segments in is a 32-bit word at offset 152.
      constexpr std::size_t data_segments_in = 152;
      char info[256] = {};
      socklen_t size = sizeof info;
      std::uint32_t now = 0;
      if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) != 0 || size < data_segments_in + sizeof now) {
        throw std::runtime_error("this kernel does not count segments");
      }
      std::memcpy(&now, info + data_segments_in, sizeof now);
      return now - std::exchange(before, now);
    }
  };

  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  void start() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 1024) != 0 ||
        ::getsockname(listener_, raw, &size) != 0) {
      throw std::runtime_error("no relay: " + std::string(std::strerror(errno)));
    }
    port_ = ntohs(address.sin_port);
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = std::thread([this] { run(); });
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one) + 0);
  }

  void run() {
    while (!ending_) {
      std::vector<pollfd> polls{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      std::vector<std::shared_ptr<Pair>> pairs;
      {
        const std::lock_guard lock(mutex_);
        pairs = pairs_;
      }
      for (const auto& pair : pairs) {
        polls.push_back({pair->client, POLLIN, 0});
        polls.push_back({pair->server, POLLIN, 0});
      }
      if (::poll(polls.data(), polls.size(), -1) < 0) continue;
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bool ended = (polls[2 + 2 * i].revents != 0 && !pass(*pairs[i], true)) ||
                           (polls[3 + 2 * i].revents != 0 && !pass(*pairs[i], false));
        if (ended) end(pairs[i]);
      }
      if (polls[1].revents != 0) accept_one();
    }
  }

  void end(const std::shared_ptr<Pair>& pair) {
    pair->count(traffic_);
    pair->end();
    std::erase(pairs_, pair);
  }

  void accept_one() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    ++accepted_;
    auto pair = std::make_shared<Pair>();
    pair->client = client;
    if (refusing_) {
      ::close(client);
      return;
    }
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (server_port_ != 0) {
      pair->server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      ::setsockopt(pair->server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const sockaddr_in address = loopback(server_port_);
      if (::connect(pair->server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        pair->end();
        return;
      }
    } else {
      send_all(client, script_(""));
    }
    pairs_.push_back(std::move(pair));
  }

  /// False once that side has ended.
  bool pass(Pair& pair, bool from_client) {
    std::string bytes(1 << 16, '\0');
    const auto count = ::recv(from_client ? pair.client : pair.server, bytes.data(), bytes.size(), 0);
    if (count <= 0) return swallowing_ && count < 0;
    bytes.resize(static_cast<std::size_t>(count));
    if (swallowing_) return true;
    (from_client ? traffic_.to_server : traffic_.to_client) += bytes;
    if (from_client && bytes.find("SUBSCRIBE") != std::string::npos) pair.subscriber = true;
    if (server_port_ == 0) {
      send_all(pair.client, script_(bytes));
    } else {
      send_all(from_client ? pair.server : pair.client, bytes);
    }
    return true;
  }

  static void send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  int server_port_ = 0;
  Script script_;
  int listener_ = -1;
  int port_ = 0;
  int wake_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> swallowing_ = false;
  std::atomic<bool> refusing_ = false;
  std::atomic<std::size_t> accepted_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Pair>> pairs_;
  Traffic traffic_;
  std::thread thread_;
};

}  // namespace support
