// SPDX-License-Identifier: MIT
#pragma once

// What a user may choose about a connection to Redis, and the reading of its URL. Nothing here opens
// anything; an error never shows a password.

#include <sublock/core/holder.hpp>
#include <sublock/error.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock {
namespace hiredis {
class Cipher;
}

/// How to reach a Redis server, and how to notice that it can't be reached any more. Looking a host
/// name up takes as long as the system's resolver takes: no time limit of this library covers it. Asking sentinels
/// takes up to `connect_timeout`, whatever the caller's own limit.
struct ConnectionOptions {
  /// `redis://[user[:password]@]host[:port][/database]`, the same with `rediss://` for TLS, or
  /// `unix:///path[?db=database]`; percent signs escape, IPv6 addresses stand in brackets. Or
  /// `redis+sentinel://[user[:password]@]host[:port],host[:port],…/name[/database]`, the primary of that name as
  /// its sentinels know it, and `rediss+sentinel://`; or `redis+cluster://[user[:password]@]host[:port],…`, some nodes
  /// of a cluster, and `rediss+cluster://`. The default is this machine, port 6379.
  std::string url = "redis://127.0.0.1:6379";
  /// The ACL user; overrides the URL's. Empty, the default: the URL's, or the server's default user.
  std::string user = {};
  /// Overrides the URL's. Empty by default.
  std::string password = {};
  /// What sentinels ask for, if they do. Empty by default.
  std::string sentinel_password = {};
  /// How long one connection may take until it is authenticated and usable. More than zero. The
  /// default is 5 s.
  core::Duration connect_timeout = std::chrono::seconds(5);
  /// A connection on which nothing arrived for so long is asked for a sign of life. Zero: never. The
  /// default is 10 s.
  core::Duration health_check_interval = std::chrono::seconds(10);
  /// How long that sign may take; without it the connection counts as lost. So a silent network is
  /// noticed after at most the sum of both, 13 s by default. More than zero. The default is 3 s.
  core::Duration health_check_timeout = std::chrono::seconds(3);
  /// Idle time after which the kernel probes the peer; data it doesn't acknowledge for twice as long
  /// ends the connection. Zero: the system's defaults. The default is 15 s.
  core::Duration keepalive = std::chrono::seconds(15);
  /// How many subscriber connections are kept for the next lock when they are done. The default is 8.
  std::size_t idle_ears_max = 8;
  /// How often each node of a cluster that is in use is asked how it sees the cluster; one that sees it down, or
  /// doesn't say within twice that time, counts as lost with all locks there. More than zero. The default is 500 ms.
  core::Duration cluster_check_interval = std::chrono::milliseconds(500);
  /// How to encipher, for `rediss://` and for nothing else: `sublock::tls()` of <sublock/transport/openssl.hpp>.
  /// None by default.
  std::shared_ptr<const hiredis::Cipher> tls = {};
};

namespace hiredis {

/// A host by name or number.
struct Host {
  std::string name;
  std::uint16_t port = 0;

  /// "127.0.0.1:6379" or "[::1]:6379".
  [[nodiscard]] std::string shown() const {
    const bool bracketed = name.find(':') != std::string::npos;
    return (bracketed ? "[" + name + "]" : name) + ":" + std::to_string(port);
  }
  friend bool operator==(const Host&, const Host&) = default;
};

/// Where a URL points and as whom to log in.
struct Endpoint {
  std::string host;  ///< empty for a Unix socket, for sentinels and for a cluster
  std::uint16_t port = 6379;
  std::vector<Host> sentinels;  ///< who know where the primary is
  std::string primary;          ///< as they call it
  std::vector<Host> seeds;      ///< some nodes of a cluster
  std::string path;             ///< of a Unix socket
  std::string user;
  std::optional<std::string> password;
  int database = 0;

  /// For error texts: "127.0.0.1:6379", "unix:/run/redis.sock" or "mymaster (by its sentinels)".
  [[nodiscard]] std::string shown() const {
    if (!sentinels.empty()) return primary + " (by its sentinels)";
    if (!seeds.empty()) return seeds.front().shown() + " (and the nodes of its cluster)";
    return host.empty() ? "unix:" + path : Host{host, port}.shown();
  }
};

namespace url {

[[noreturn]] inline void refuse(const std::string& why) {
  throw LockError({Errc::usage, "the connection URL " + why +
                                    "; write redis://[user[:password]@]host[:port][/database], the same with "
                                    "rediss://, redis+sentinel://host[:port],.../name[/database], "
                                    "redis+cluster://host[:port],..., or "
                                    "unix:///path[?db=database]"});
}

inline int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

inline std::string decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const int high = at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
    if (high < 0 || low < 0) refuse("has a % that two hex digits don't follow");
    decoded += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return decoded;
}

/// A decimal number without sign or blanks, at most `max`.
inline std::optional<int> number(std::string_view digits, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '-') return {};
  return value <= max ? std::optional(value) : std::nullopt;
}

inline int database(std::string_view digits) {
  constexpr int databases_max = 1'000'000;
  const auto value = digits.empty() ? std::nullopt : number(digits, databases_max);
  if (!value) refuse("names a database that is not a number");
  return *value;
}

inline bool has_blank_or_control(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return true;
  }
  return false;
}

inline Host host_and_port(std::string_view text, std::uint16_t default_port) {
  Host host{{}, default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) refuse("has a [ without its ]");
    host.name = std::string(text.substr(1, close - 1));
    text.remove_prefix(close + 1);
    if (host.name.find_first_not_of("0123456789abcdefABCDEF:.") < host.name.find('%')) {
      refuse("has something in brackets that is not an IPv6 address");
    }
    host.name = decode(host.name);
    if (!text.empty() && !text.starts_with(':')) refuse("has something behind the ] that is not a port");
    if (!text.empty()) port = text.substr(1);
    if (!text.empty() && port.empty()) refuse("ends in a colon without a port");
  } else {
    const auto colon = text.find(':');
    host.name = decode(text.substr(0, colon));
    if (host.name.find(':') != std::string::npos) refuse("has an IPv6 address without brackets");
    if (colon != std::string_view::npos) {
      port = text.substr(colon + 1);
      if (port.empty()) refuse("ends in a colon without a port");
    }
  }
  if (host.name.empty()) refuse("names no host");
  if (has_blank_or_control(host.name)) refuse("has a blank or control byte in the host");
  if (port.empty()) return host;
  const auto value = number(port, 65535);
  if (!value || *value == 0) refuse("has a port that is not a number from 1 to 65535");
  host.port = static_cast<std::uint16_t>(*value);
  return host;
}

/// Takes user and password from its front.
inline void read_login(std::string_view& authority, Endpoint& endpoint) {
  const auto at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view login = authority.substr(0, at);
    const auto colon = login.find(':');
    endpoint.user = decode(login.substr(0, colon));
    if (colon != std::string_view::npos) endpoint.password = decode(login.substr(colon + 1));
    authority.remove_prefix(at + 1);
  }
}

/// What stands before the first slash and behind it, which may be nothing.
inline std::pair<std::string_view, std::string_view> cut(std::string_view text) {
  const auto slash = text.find('/');
  return {text.substr(0, slash), slash == std::string_view::npos ? "" : text.substr(slash + 1)};
}

inline void read_redis(std::string_view rest, Endpoint& endpoint) {
  if (rest.find_first_of("?#") != std::string_view::npos) refuse("has a query or a fragment");
  auto [authority, digits] = cut(rest);
  if (!digits.empty()) endpoint.database = database(digits);
  read_login(authority, endpoint);
  const Host host = host_and_port(authority, endpoint.port);
  endpoint.host = host.name;
  endpoint.port = host.port;
}

inline std::vector<Host> hosts(std::string_view list, std::uint16_t default_port) {
  std::vector<Host> found;
  for (;;) {
    const auto comma = list.find(',');
    found.push_back(host_and_port(list.substr(0, comma), default_port));
    if (comma == std::string_view::npos) return found;
    list.remove_prefix(comma + 1);
  }
}

inline void read_sentinels(std::string_view rest, Endpoint& endpoint) {
  constexpr std::uint16_t sentinel_port = 26379;
  if (rest.find_first_of("?#") != std::string_view::npos) refuse("has a query or a fragment");
  auto [authority, path] = cut(rest);
  const auto [name, digits] = cut(path);
  endpoint.primary = decode(name);
  if (endpoint.primary.empty()) refuse("names no primary behind its sentinels: /name");
  if (has_blank_or_control(endpoint.primary)) refuse("has a blank or control byte in the primary's name");
  if (!digits.empty()) endpoint.database = database(digits);
  read_login(authority, endpoint);
  endpoint.sentinels = hosts(authority, sentinel_port);
}

inline void read_cluster(std::string_view rest, Endpoint& endpoint) {
  if (rest.find_first_of("?#") != std::string_view::npos) refuse("has a query or a fragment");
  auto [authority, digits] = cut(rest);
  if (!digits.empty() && database(digits) != 0) refuse("names a database, and a cluster has none but 0");
  read_login(authority, endpoint);
  endpoint.seeds = hosts(authority, endpoint.port);
}

inline void read_unix(std::string_view rest, Endpoint& endpoint) {
  constexpr std::size_t path_max = 107;  // sun_path less its final zero; longer ones would be cut
  const auto question = rest.find('?');
  endpoint.path = decode(rest.substr(0, question));
  if (!endpoint.path.starts_with('/')) refuse("needs an absolute path after unix://");
  if (endpoint.path.size() > path_max) refuse("has a socket path of more than 107 bytes");
  if (endpoint.path.find('\0') != std::string::npos) refuse("has a zero byte in the path");
  if (question == std::string_view::npos) return;
  const std::string_view query = rest.substr(question + 1);
  if (!query.starts_with("db=")) refuse("has a query other than db=");
  endpoint.database = database(query.substr(3));
}

}  // namespace url

/// Reads and checks everything a user may have got wrong. Throws LockError(usage); never shows a password.
[[nodiscard]] inline Endpoint endpoint_of(const ConnectionOptions& options) {
  const auto check = [](bool good, const char* text) {
    if (!good) throw LockError({Errc::usage, text});
  };
  check(options.connect_timeout > core::Duration::zero(), "connect_timeout must be more than zero");
  check(options.health_check_interval >= core::Duration::zero(),
        "health_check_interval must not be negative");
  check(options.health_check_timeout > core::Duration::zero(), "health_check_timeout must be more than zero");
  check(options.cluster_check_interval > core::Duration::zero(),
        "cluster_check_interval must be more than zero");
  check(options.keepalive >= core::Duration::zero(), "keepalive must not be negative");

  Endpoint endpoint;
  std::string_view text = options.url;
  const bool secure = text.starts_with("rediss");
  check(!secure || options.tls != nullptr,
        "rediss:// needs a cipher: include <sublock/transport/openssl.hpp>, link sublock::tls, and set the "
        "option "
        "tls = sublock::tls()");
  check(secure || options.tls == nullptr, "the option tls is set, but the URL does not begin with rediss://");
  const std::string_view behind = text.substr(std::min(text.size(), std::size_t{secure ? 6U : 5U}));
  constexpr std::string_view plain = "://";
  constexpr std::string_view by_sentinels = "+sentinel://";
  constexpr std::string_view by_seeds = "+cluster://";
  const bool is_redis = text.starts_with("redis");
  if (is_redis && behind.starts_with(plain)) {
    url::read_redis(behind.substr(plain.size()), endpoint);
  } else if (is_redis && behind.starts_with(by_sentinels)) {
    url::read_sentinels(behind.substr(by_sentinels.size()), endpoint);
  } else if (is_redis && behind.starts_with(by_seeds)) {
    url::read_cluster(behind.substr(by_seeds.size()), endpoint);
  } else if (text.starts_with("unix://")) {
    url::read_unix(text.substr(7), endpoint);
  } else {
    url::refuse(
        "starts with none of redis://, rediss:// and unix://, nor with redis or rediss and +sentinel:// or "
        "+cluster://");
  }
  if (!options.user.empty()) endpoint.user = options.user;
  if (!options.password.empty()) endpoint.password = options.password;
  check(endpoint.user.empty() || endpoint.password, "a Redis user is given without a password");
  return endpoint;
}

}  // namespace hiredis
}  // namespace sublock
