// SPDX-License-Identifier: MIT
#pragma once

// An outside opinion on exclusion: a key that is one higher for each process that believes it holds.
// A plain connection of its own, since the lock must not be asked whether it is right.

#include <hiredis/hiredis.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
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
  OverlapCounter(std::string key, std::string url, std::string user, std::string password)
      : key_(std::move(key)), url_(std::move(url)), user_(std::move(user)), password_(std::move(password)) {}

  /// INCR. How many are inside now, as far as it could be learnt. Blocks up to about 4 s.
  [[nodiscard]] std::optional<long long> enter() {
    const QuietSignals quiet;
    const auto count = change("INCR", std::chrono::seconds(2));
    counted_in_ = count ? server_ : std::nullopt;
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
      if (counted_in_ && counted_in_ != server_) return std::nullopt;
      if (const Reply reply = ask(command, key_))
        return reply->type == REDIS_REPLY_INTEGER ? std::optional<long long>(reply->integer) : std::nullopt;
      context_.reset();
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
    open(limit);
    if (!context_ || context_->err != 0 || ::redisSetTimeout(context_.get(), limit) != REDIS_OK) {
      context_.reset();
      return false;
    }
    if (!password_.empty() && user_.empty()) static_cast<void>(ask(std::string_view("AUTH"), password_));
    if (!user_.empty()) static_cast<void>(ask(std::string_view("AUTH"), user_, password_));
    server_ = run_id();
    if (context_->err != 0) context_.reset();
    return context_ != nullptr;
  }

  /// unix:///path, or redis://[user[:password]@]host[:port][/…]
  void open(const timeval& limit) {
    std::string_view rest = url_;
    if (const std::string_view unix_scheme = "unix://"; rest.starts_with(unix_scheme)) {
      const std::string path(rest.substr(unix_scheme.size()));
      context_.reset(::redisConnectUnixWithTimeout(path.c_str(), limit));
      return;
    }
    rest.remove_prefix(std::min(rest.size(), rest.find("://") + 3));
    rest = rest.substr(0, rest.find('/'));
    if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
      const std::string_view who = rest.substr(0, at);
      const std::size_t colon = who.find(':');
      if (user_.empty()) user_ = who.substr(0, colon);
      if (password_.empty() && colon != std::string_view::npos) password_ = who.substr(colon + 1);
      rest.remove_prefix(at + 1);
    }
    int port = 6379;
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos) {
      port = std::atoi(std::string(rest.substr(colon + 1)).c_str());
      rest = rest.substr(0, colon);
    }
    if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
    context_.reset(::redisConnectWithTimeout(std::string(rest).c_str(), port, limit));
  }

  /// New for every start of a server. Empty where we may not ask, and then taken for the same.
  [[nodiscard]] std::string run_id() {
    const Reply reply = ask(std::string_view("INFO"), std::string_view("server"));
    if (!reply || reply->str == nullptr) return {};
    const std::string_view info(reply->str, static_cast<std::size_t>(reply->len));
    const std::size_t at = info.find("run_id:");
    return at == std::string_view::npos ? std::string()
                                        : std::string(info.substr(at, info.find('\r', at) - at));
  }

  std::string key_;
  std::string url_;
  std::string user_;
  std::string password_;
  std::unique_ptr<redisContext, Free> context_;
  std::optional<std::string> server_;      ///< run id of the server we are connected to
  std::optional<std::string> counted_in_;  ///< run id of the server that has counted us
};

}  // namespace driver
