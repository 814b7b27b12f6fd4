// SPDX-License-Identifier: MIT

// The floors as peers: floor-peer PORT CHANNEL ping|key|message. What Redis alone takes, by the plainest of
// programs; none of them is a lock to use.

#include "../plain.hpp"
#include "peer.hpp"

#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using bench::Plain;

class Floor {
 public:
  virtual ~Floor() = default;
  virtual void acquire() = 0;
  virtual void release() = 0;
  [[noreturn]] std::string learn() { throw std::runtime_error("a floor learns nothing"); }
};

/// One round trip, and nothing at all.
class Ping : public Floor {
 public:
  explicit Ping(const bench::Server& server) : redis_(server) {}
  void acquire() override { redis_.command({"PING"}); }
  void release() override {}

 private:
  Plain redis_;
};

/// A key that is set, and the script that compares and deletes.
class Key : public Floor {
 public:
  Key(const bench::Server& server, std::string key) : redis_(server), key_(std::move(key)) {
    const auto loaded = redis_.command({"SCRIPT", "LOAD",
                                        "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                        "redis.call('del', KEYS[1]) else return 0 end"});
    script_ = std::string(loaded->str, loaded->len);
  }
  void acquire() override { redis_.command({"SET", key_, id_, "NX", "PX", "10000"}); }
  void release() override { redis_.command({"EVALSHA", script_, "1", key_, id_}); }

 private:
  Plain redis_;
  std::string key_;
  std::string id_ = "0123456789abcdef0123456789abcdef";
  std::string script_;
};

/// A message to the one who waits for it; only the very first waits for none.
class Message : public Floor {
 public:
  Message(const bench::Server& server, std::string channel)
      : server_(server), mouth_(server), channel_(std::move(channel)) {}
  void acquire() override {
    if (mouth_.command({"SET", channel_, "taken", "NX"})->type == REDIS_REPLY_STATUS) return;
    ear_ = std::make_unique<Plain>(server_);
    ear_->command({"SUBSCRIBE", channel_});
    ear_->message();
  }
  void release() override { mouth_.command({"PUBLISH", channel_, "yours"}); }

 private:
  bench::Server server_;
  Plain mouth_;
  std::string channel_;
  std::unique_ptr<Plain> ear_;
};

std::unique_ptr<Floor> floor_of(const std::string& what, const bench::Server& server,
                                const std::string& channel) {
  if (what == "ping") return std::make_unique<Ping>(server);
  if (what == "key") return std::make_unique<Key>(server, channel);
  if (what == "message") return std::make_unique<Message>(server, channel);
  throw std::invalid_argument("no such floor: " + what);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    bench::Server server;
    server.port = std::stoi(argv[1]);
    return bench::serve(*floor_of(argv[3], server, argv[2]));
  } catch (const std::exception& error) {
    std::cout << "failed " << error.what() << std::endl;
    return 1;
  }
}
