// SPDX-License-Identifier: MIT
#pragma once

// An outside opinion on exclusion: a key that is one higher for each process that believes it holds.
// A plain connection of its own, since the lock must not be asked whether it is right.

#include <sublock/transport/hiredis/connection_options.hpp>

#include <hiredis/hiredis.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/time.h>

namespace driver {

/// Nothing here throws: a count that can't be had is left out, and the driver goes on. Not thread-safe.
class OverlapCounter {
 public:
  OverlapCounter(std::string key, sublock::hiredis::Endpoint server)
      : key_(std::move(key)), server_(std::move(server)) {}

  /// INCR. How many are inside now, as far as it could be learnt. Blocks up to about 4 s.
  [[nodiscard]] std::optional<long long> enter() {
    const QuietSignals quiet;
    const auto count = change("INCR", std::chrono::seconds(2));
    counted_in_ = count ? run_id_ : std::nullopt;
    return count;
  }

  /// DECR, if `enter` counted and the server is still the one that did: one that came back empty has
  /// forgotten the count. Blocks up to about twice `patience`.
  void leave(std::chrono::milliseconds patience) {
    if (!counted_in_) return;
    const QuietSignals quiet;
    change("DECR", patience);
    counted_in_.reset();
  }

 private:
  /// hiredis 0.14 writes without MSG_NOSIGNAL and takes EINTR badly while connecting: no signal reaches
  /// this thread meanwhile, and a SIGPIPE of our own making is taken away.
  class QuietSignals {
   public:
    QuietSignals() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    QuietSignals(const QuietSignals&) = delete;
    QuietSignals& operator=(const QuietSignals&) = delete;
    ~QuietSignals() {
      sigset_t pipe;
      ::sigemptyset(&pipe);
      ::sigaddset(&pipe, SIGPIPE);
      const timespec at_once{};
      while (::sigtimedwait(&pipe, nullptr, &at_once) == SIGPIPE) {
      }
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

   private:
    sigset_t before_{};
  };

  struct Free {
    void operator()(redisContext* context) const noexcept { ::redisFree(context); }
    void operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  template <class... Words>
  [[nodiscard]] Reply ask(const Words&... words) {
    const char* argv[] = {words.data()...};
    const std::size_t sizes[] = {words.size()...};
    return Reply(static_cast<redisReply*>(
        ::redisCommandArgv(context_.get(), static_cast<int>(sizeof...(words)), argv, sizes)));
  }

  std::optional<long long> change(std::string_view command, std::chrono::milliseconds patience) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!usable() && !connect(patience)) return std::nullopt;
      if (counted_in_ && counted_in_ != run_id_) return std::nullopt;
      if (const Reply reply = ask(command, key_))
        return reply->type == REDIS_REPLY_INTEGER ? std::optional<long long>(reply->integer) : std::nullopt;
      const bool unanswered = context_->err == REDIS_ERR_IO && errno == EAGAIN;
      context_.reset();
      if (unanswered) break;  // it may have been carried out: once more could count twice
    }
    return std::nullopt;
  }

  /// False also where the server has closed the connection and nobody has noticed yet.
  [[nodiscard]] bool usable() {
    if (!context_) return false;
    pollfd poll{context_->fd, POLLIN, 0};
    if (::poll(&poll, 1, 0) == 0) return true;  // nobody owes us an answer, so readable means closed
    context_.reset();
    return false;
  }

  bool connect(std::chrono::milliseconds patience) {
    const timeval limit{patience.count() / 1000, patience.count() % 1000 * 1000};
    context_.reset(server_.host.empty()
                       ? ::redisConnectUnixWithTimeout(server_.path.c_str(), limit)
                       : ::redisConnectWithTimeout(server_.host.c_str(), server_.port, limit));
    if (!context_ || context_->err != 0 || ::redisSetTimeout(context_.get(), limit) != REDIS_OK) {
      context_.reset();
      return false;
    }
    using Word = std::string_view;
    if (!server_.user.empty()) {
      static_cast<void>(ask(Word("AUTH"), server_.user, *server_.password));
    } else if (server_.password) {
      static_cast<void>(ask(Word("AUTH"), *server_.password));
    }
    if (server_.database != 0) static_cast<void>(ask(Word("SELECT"), std::to_string(server_.database)));
    run_id_ = ask_run_id();
    if (context_->err != 0) context_.reset();
    return context_ != nullptr;
  }

  /// New for every start of a server. Empty where we may not ask, and then taken for the same.
  [[nodiscard]] std::string ask_run_id() {
    const Reply reply = ask(std::string_view("INFO"), std::string_view("server"));
    if (!reply || reply->str == nullptr) return {};
    const std::string_view info(reply->str, static_cast<std::size_t>(reply->len));
    const std::size_t at = info.find("run_id:");
    return at == std::string_view::npos ? std::string()
                                        : std::string(info.substr(at, info.find('\r', at) - at));
  }

  std::string key_;
  sublock::hiredis::Endpoint server_;
  std::unique_ptr<redisContext, Free> context_;
  std::optional<std::string> run_id_;      ///< run id of the server we are connected to
  std::optional<std::string> counted_in_;  ///< run id of the server that has counted us
};

}  // namespace driver
