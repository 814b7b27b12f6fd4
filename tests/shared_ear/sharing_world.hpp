// SPDX-License-Identifier: MIT
#pragma once

// The world of the laws where ears are shared: nobody's connection bears his name, so whoever is meant is asked by
// which ear he hears.

#include <live/line_world.hpp>
#include <live/live_world.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/shared_ear.hpp>
#include <sublock/redis_lock.hpp>
#include <sublock/redis_shared_ear_lock.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace sublock::testing {

struct SharingServer : PlainServer {
  using Transport = SharedEarTransport;
};

/// Once it hears something, an ear may not speak; and it has a name for all channels.
struct SharingLineWorld : LineWorldOn<SharingServer> {
  static constexpr bool refuses_to_ask = true;
  static constexpr bool shares_ears = true;
};

struct SharingWorld : LiveWorldOn<SharingServer> {
  using Base = LiveWorldOn<SharingServer>;

  bool is_connected(const std::string& name) { return Base::is_connected(connection_of(name)); }
  bool kill(const std::string& name) { return Base::kill(connection_of(name)); }

 private:
  /// Of the lock that calls itself `name`.
  std::string connection_of(const std::string& name) {
    constexpr std::string_view infix = "-lock-";
    const std::size_t ids = core::own_id_digits;
    if (Base::is_connected(name) || name.size() < ids + infix.size()) return name;
    const std::string id = name.substr(name.size() - ids);
    const std::string channel = decoded(name.substr(0, name.size() - ids - infix.size()));
    RedisLock asker(asking_, channel);
    try {
      for (const Holder& holder : asker.probe()) {
        if (holder.holder_id == id && !holder.ear.empty()) return core::shared_ear_name(holder.ear);
      }
    } catch (const LockError&) {
      // Somebody does not answer.
    }
    return name;
  }

  /// What core::name_stem has made of a channel, undone.
  static std::string decoded(const std::string& stem) {
    if (!stem.starts_with('~')) return stem;
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string channel;
    unsigned pending = 0;
    unsigned bits = 0;
    for (const char c : std::string_view(stem).substr(1)) {
      pending = (pending << 6U | static_cast<unsigned>(alphabet.find(c))) & 0xfffU;
      bits += 6;
      if (bits >= 8) channel += static_cast<char>(pending >> (bits -= 8) & 0xffU);
    }
    return channel;
  }

  std::shared_ptr<HiredisTransport> asking_ = HiredisTransport::make(reach());
};

}  // namespace sublock::testing
