// SPDX-License-Identifier: MIT
#pragma once

// The server under test and plain blocking connections to it, written as anybody would write them: what the
// floors are made of. Nothing of sublock is here.

#include <hiredis/hiredis.h>

#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct Server {
  std::string host = "127.0.0.1";
  int port = 6379;

  [[nodiscard]] std::string url() const { return "redis://" + host + ':' + std::to_string(port); }
};

class Plain {
 public:
  struct Free {
    void operator()(redisContext* context) const noexcept { ::redisFree(context); }
    void operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  explicit Plain(const Server& server) : context_(::redisConnect(server.host.c_str(), server.port)) {
    if (!context_ || context_->err != 0) throw std::runtime_error("no Redis at " + server.url());
  }

  Reply command(std::initializer_list<std::string_view> words) {
    append(words);
    return reply();
  }

  /// Goes out with the next reply() or flush(), in one write.
  void append(std::initializer_list<std::string_view> words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    ::redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data());
  }

  void flush() {
    for (int done = 0; done == 0;) check(::redisBufferWrite(context_.get(), &done));
  }

  Reply reply() {
    void* raw = nullptr;
    check(::redisGetReply(context_.get(), &raw));
    return Reply(static_cast<redisReply*>(raw));
  }

  /// The text of the next message that is published to this connection.
  std::string message() {
    const Reply next = reply();
    if (next->type != REDIS_REPLY_ARRAY || next->elements != 3) throw std::runtime_error("no message");
    return {next->element[2]->str, next->element[2]->len};
  }

  [[nodiscard]] int fd() const noexcept { return context_->fd; }

 private:
  void check(int status) const {
    if (status != REDIS_OK) throw std::runtime_error(std::string("Redis: ") + context_->errstr);
  }

  std::unique_ptr<redisContext, Free> context_;
};

/// The process of a server on this machine.
[[nodiscard]] inline pid_t process_of(const Server& server) {
  const Plain::Reply info = Plain(server).command({"INFO", "server"});
  const std::string_view text(info->str, info->len);
  constexpr std::string_view key = "process_id:";
  return static_cast<pid_t>(std::atol(text.data() + text.find(key) + key.size()));
}

/// Where server and program run while a row is measured; afterwards, wherever the system likes.
class Placement {
 public:
  /// CPUs by number; the calling thread and whatever it starts go to `ours`.
  Placement(const Server& server, int its, int ours) : server_(process_of(server)) {
    ::sched_getaffinity(0, sizeof all_, &all_);
    pin(server_, its);
    pin(0, ours);
  }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  ~Placement() {
    ::sched_setaffinity(server_, sizeof all_, &all_);
    ::sched_setaffinity(0, sizeof all_, &all_);
  }

 private:
  static void pin(pid_t process, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (::sched_setaffinity(process, sizeof set, &set) != 0)
      throw std::runtime_error("no CPU " + std::to_string(cpu));
  }

  pid_t server_;
  cpu_set_t all_ = {};
};

}  // namespace bench
