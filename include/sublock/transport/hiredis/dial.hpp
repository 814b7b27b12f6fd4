// SPDX-License-Identifier: MIT
#pragma once

// The first steps of a connection: a socket on its way to one address, and how it is set up. Nothing
// here waits.

#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace sublock::hiredis {

/// What every link of one transport shares.
struct Settings {
  explicit Settings(const ConnectionOptions& chosen) : Settings(chosen, endpoint_of(chosen), whole_server) {}

  Settings(const ConnectionOptions& chosen, Endpoint its_endpoint, const Dialect& its_dialect)
      : options(chosen), dialect(its_dialect), endpoint(std::move(its_endpoint)), where(endpoint.shown()) {}

  ConnectionOptions options;
  const Dialect& dialect;
  Endpoint endpoint;
  std::string where;  ///< the endpoint, as error texts name it
};

/// Failures are of no consequence: a kernel that lacks an option still connects.
inline void tune(int fd, const Settings& settings) noexcept {
  if (settings.endpoint.sentinels.empty() && settings.endpoint.host.empty()) return;
  const auto set = [fd](int level, int option, int value) {
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  if (settings.options.keepalive == core::Duration::zero()) return;
  using std::chrono::seconds;
  constexpr int probes = 3;
  constexpr seconds seconds_max = seconds(32767);  // the kernel's
  const auto idle = std::clamp(
      std::chrono::ceil<seconds>(std::min<core::Duration>(settings.options.keepalive, seconds_max)),
      seconds(1), seconds_max);
  const auto seconds_idle = static_cast<int>(idle.count());
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds_idle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds_idle / probes));
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, seconds_idle * 2 * 1000);
}

/// Where to connect to, in the kernel's form.
struct SocketAddress {
  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);  // NOLINT(*-reinterpret-cast): as POSIX has it
  }
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

/// `numeric` needs no resolver; its name is empty for the endpoint's Unix socket. Nothing for what no socket takes.
[[nodiscard]] inline std::optional<SocketAddress> socket_address(const Endpoint& endpoint,
                                                                 const Host& numeric) {
  SocketAddress address;
  if (numeric.name.empty()) {
    sockaddr_un local = {};
    local.sun_family = AF_UNIX;
    if (endpoint.path.size() >= sizeof local.sun_path) return std::nullopt;
    std::memcpy(local.sun_path, endpoint.path.data(), endpoint.path.size());
    std::memcpy(&address.storage, &local, sizeof local);
    address.size = sizeof local;
    return address;
  }
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(numeric.name.c_str(), std::to_string(numeric.port).c_str(), &hints, &found) != 0)
    return std::nullopt;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

/// A socket that is connecting to `address`; empty, with the reason in `why`, where not even that works. Not
/// by hiredis, whose sockets are inherited by programs that another thread starts in the same instant.
[[nodiscard]] inline Descriptor dial(const Settings& settings, const Host& address, std::string& why) {
  return Descriptor::open([&] {
    const auto target = socket_address(settings.endpoint, address);
    if (!target) {
      why = "no socket takes that address";
      return -1;
    }
    const int fd = ::socket(target->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (::connect(fd, target->get(), target->size) != 0 && errno != EINPROGRESS)) {
      why = std::strerror(errno);
      if (fd >= 0) ::close(fd);
      return -1;
    }
    tune(fd, settings);
    return fd;
  });
}

/// Nothing while `fd` is still connecting, an empty text once it is connected, else what went wrong.
[[nodiscard]] inline std::optional<std::string> dialled(int fd) {
  pollfd poll = {fd, POLLOUT, 0};
  if (::poll(&poll, 1, 0) <= 0) return std::nullopt;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? std::string() : std::string(std::strerror(error));
}

}  // namespace sublock::hiredis
