// SPDX-License-Identifier: MIT
#pragma once

// Names to numbers: the only place that may ask a resolver, and so the only one that may block without
// a bound. Called by a thread that waits for a line to open, never with a mutex held.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sublock::hiredis {

/// Numeric addresses, best first. A Unix socket has one, whose name is empty.
using Addresses = std::vector<Host>;

/// What needs no resolver; empty where one is needed.
[[nodiscard]] inline Addresses numeric_addresses(const Endpoint& endpoint) {
  if (!endpoint.sentinels.empty()) return {};
  if (endpoint.host.empty()) return {Host{}};
  in6_addr binary = {};
  const std::string bare = endpoint.host.substr(0, endpoint.host.find('%'));  // fe80::1%eth0
  const bool v4 = ::inet_pton(AF_INET, endpoint.host.c_str(), &binary) == 1;
  const bool v6 = ::inet_pton(AF_INET6, bare.c_str(), &binary) == 1;
  return v4 || v6 ? Addresses{{endpoint.host, endpoint.port}} : Addresses{};
}

/// Asks the resolver; blocks as long as that takes.
[[nodiscard]] inline std::variant<Addresses, Failure> resolve(const Host& host) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.name.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    const char* why = status == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(status);
    return Failure{Errc::connect, "can't look up the host of Redis at " + host.shown() + ": " + why};
  }
  Addresses addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
        0) {
      addresses.push_back({text, host.port});
    }
  }
  ::freeaddrinfo(found);
  if (addresses.empty()) {
    return Failure{Errc::connect, "the host of Redis at " + host.shown() + " has no address"};
  }
  return addresses;
}

}  // namespace sublock::hiredis
