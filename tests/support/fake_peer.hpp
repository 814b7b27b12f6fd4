// SPDX-License-Identifier: MIT
#pragma once

// A peer that plays no protocol: subscribes to a lock channel, and publishes what it was told to, whatever it
// is, to the response channel of each ping. And a question from outside: who answers a ping?

#include "support/eventually.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace support {

/// A plain hiredis connection to 127.0.0.1. No answer takes longer than five seconds. Not thread-safe.
class PlainConnection {
 public:
  /// Throws std::runtime_error where nobody listens. An empty name is none.
  explicit PlainConnection(int port, const std::string& name = {}) {
    const timeval limit{5, 0};
    context_.reset(redisConnectWithTimeout("127.0.0.1", port, limit));
    if (!context_ || context_->err != 0 || redisSetTimeout(context_.get(), limit) != REDIS_OK)
      throw std::runtime_error("no connection to port " + std::to_string(port));
    // A program started meanwhile would keep it subscribed when it ends here.
    ::fcntl(context_->fd, F_SETFD, FD_CLOEXEC);
    if (!name.empty()) command({"CLIENT", "SETNAME", name});
  }

  /// A message that came on a channel.
  struct Message {
    std::string channel;
    std::string payload;
  };

  /// Sends and waits for the answer: an integer, or 0 for what is none. Nothing if the connection broke.
  std::optional<long long> command(const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      argv.push_back(word.data());
      sizes.push_back(word.size());
    }
    const Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context_.get(), static_cast<int>(argv.size()), argv.data(), sizes.data())));
    if (!reply) return std::nullopt;
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(std::string(reply->str, reply->len));
    return reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
  }

  [[nodiscard]] int fd() const { return context_->fd; }

  /// Takes in what has arrived; false once the connection has ended.
  bool read(std::vector<Message>& into) {
    if (redisBufferRead(context_.get()) != REDIS_OK) return false;
    return drain(into);
  }

  /// What was read already, along with an answer.
  bool drain(std::vector<Message>& into) {
    for (;;) {
      void* raw = nullptr;
      if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) return false;
      if (raw == nullptr) return true;
      const Reply reply(static_cast<redisReply*>(raw));
      const auto text = [&](std::size_t i) {
        return std::string(reply->element[i]->str, reply->element[i]->len);
      };
      if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 && text(0) == "message")
        into.push_back({text(1), text(2)});
    }
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  std::unique_ptr<redisContext, Free> context_;
};

/// Where a ping wants its answers, if that is what it is.
[[nodiscard]] inline std::optional<std::string> response_channel_of(const std::string& payload) {
  const auto ping = nlohmann::json::parse(payload, nullptr, false);
  if (!ping.is_object() || !ping.contains("response_channel") || !ping["response_channel"].is_string())
    return std::nullopt;
  auto channel = ping["response_channel"].get<std::string>();
  return channel.empty() ? std::nullopt : std::optional(channel);
}

/// As portalocker 4 answers; with `elected` as 4.2 does, without as 4.0 and 4.1 do.
[[nodiscard]] inline std::string answer_record(const std::string& holder_id, const std::string& mode,
                                               std::optional<bool> elected = {}) {
  nlohmann::json record{{"holder_id", holder_id}, {"mode", mode}, {"protocol", 1}};
  if (elected) record["elected"] = *elected;
  return record.dump();
}

/// Thread-safe.
class FakePeer {
 public:
  struct Script {
    std::string name = {};                  ///< of the subscribing connection; empty: none
    std::vector<std::string> answers = {};  ///< all of them to each ping; none: silent
    std::chrono::milliseconds delay = {};   ///< between the ping and its answers
  };

  /// Subscribed once it is made. Throws std::runtime_error where that can't be had.
  FakePeer(int port, std::string channel, Script script)
      : channel_(std::move(channel)), script_(std::move(script)), ear_(port, script_.name), mouth_(port) {
    ear_.command({"SUBSCRIBE", channel_});
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] { run(); });
  }
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;

  /// Leaves, by closing its connections.
  ~FakePeer() {
    ending_ = true;
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one) + 0);
    thread_.join();
    ::close(wake_);
  }

  /// What to do with pings that come from now on. The name stays.
  void follow(Script script) {
    const std::lock_guard lock(mutex_);
    script_ = std::move(script);
  }

  [[nodiscard]] std::size_t pings() const noexcept { return pings_; }
  /// Answers that have been published.
  [[nodiscard]] std::size_t answered() const noexcept { return answered_; }
  /// Still subscribed: nobody has killed it.
  [[nodiscard]] bool connected() const noexcept { return connected_; }

  /// Everything that was published on the channel.
  [[nodiscard]] std::vector<std::string> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Message = PlainConnection::Message;

  void run() {
    sigset_t pipe;  // hiredis 0.14 writes without MSG_NOSIGNAL
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::vector<Message> messages;
    bool alive = ear_.drain(messages);
    while (alive && !ending_) {
      for (const Message& message : std::exchange(messages, {})) hear(message.payload);
      while (!due_.empty() && due_.begin()->first <= Clock::now()) {
        const auto [at, answer] = *due_.begin();
        due_.erase(due_.begin());
        alive = publish(answer);
      }
      int timeout = -1;
      if (!due_.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_.begin()->first - Clock::now());
        timeout = std::max(0, static_cast<int>(left.count()));
      }
      pollfd polls[] = {{ear_.fd(), POLLIN, 0}, {wake_, POLLIN, 0}};
      ::poll(polls, 2, timeout);
      if (polls[0].revents != 0) alive = ear_.read(messages);
    }
    connected_ = alive;
  }

  /// False once the connection has ended. A server that refuses it is none of our business.
  bool publish(const Message& answer) {
    try {
      if (!mouth_.command({"PUBLISH", answer.channel, answer.payload})) return false;
      ++answered_;
    } catch (const std::runtime_error&) {
      return true;
    }
    return true;
  }

  void hear(const std::string& payload) {
    const std::lock_guard lock(mutex_);
    heard_.push_back(payload);
    const auto to = response_channel_of(payload);
    if (!to) return;
    ++pings_;
    for (const std::string& answer : script_.answers)
      due_.emplace(Clock::now() + script_.delay, Message{*to, answer});
  }

  std::string channel_;
  mutable std::mutex mutex_;
  Script script_;
  std::vector<std::string> heard_;
  PlainConnection ear_;
  PlainConnection mouth_;
  std::multimap<Clock::time_point, Message> due_;
  int wake_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> connected_ = true;
  std::atomic<std::size_t> pings_ = 0;
  std::atomic<std::size_t> answered_ = 0;
  std::thread thread_;
};

/// The answers to a ping from outside, as portalocker sends it: the first `enough` of them, or fewer if no more
/// come within the bound.
[[nodiscard]] inline std::vector<std::string> ask(int port, const std::string& channel,
                                                  std::size_t enough = 1, TestClock::duration within = 1s) {
  static std::atomic<unsigned> asked = 0;
  const std::string to = channel + "-" + std::to_string(::getpid()) + "." + std::to_string(++asked);
  PlainConnection ear(port);
  PlainConnection mouth(port);
  ear.command({"SUBSCRIBE", to});
  const nlohmann::json ping{{"message", "ping"}, {"response_channel", to}};
  const auto deadline = TestClock::now() + within;
  mouth.command({"PUBLISH", channel, ping.dump()});
  std::vector<PlainConnection::Message> messages;
  while (messages.size() < enough) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - TestClock::now()).count();
    pollfd poll{ear.fd(), POLLIN, 0};
    if (left <= 0 || ::poll(&poll, 1, static_cast<int>(left)) <= 0 || !ear.read(messages)) break;
  }
  std::vector<std::string> answers;
  for (auto& message : messages) answers.push_back(std::move(message.payload));
  return answers;
}

}  // namespace support
