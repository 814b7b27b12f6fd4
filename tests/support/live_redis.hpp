// SPDX-License-Identifier: MIT
#pragma once

// A redis-server of a test's own, on loopback, without a disk. Where it can't start, the test fails.

#include "support/eventually.hpp"
#include "support/standstill.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// Lives no longer than the thread that made it. Questions to it go through its unix socket, so that no
/// server but this one can answer them. Not thread-safe.
class LiveRedis {
 public:
  /// Starts `redis-server`, from PATH, with further arguments if you like, and waits until it answers.
  /// Throws std::runtime_error with the server's own words if it can't. `config`, if there is any, becomes a file that
  /// the server may write to.
  explicit LiveRedis(std::vector<std::string> arguments = {}, const std::string& config = {})
      : arguments_(std::move(arguments)) {
    std::string folder = (std::filesystem::temp_directory_path() / "sublock-redis-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("mkdtemp: " + folder);
    folder_ = folder;
    if (!config.empty()) std::ofstream(config_path()) << config;
    try {
      for (int tries = 0; tries < 20 && pid_ < 0; ++tries) {  // a port may be taken between look and leap
        port_ = free_port();
        start();
      }
      if (pid_ < 0) throw std::runtime_error("redis-server does not start: " + log());
    } catch (...) {
      end();
      throw;
    }
  }

  LiveRedis(const LiveRedis&) = delete;
  LiveRedis& operator=(const LiveRedis&) = delete;

  ~LiveRedis() { end(); }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string socket_path() const { return folder_ + "/socket"; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// That nobody listens on just now.
  static int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    const bool ok = ::bind(fd, raw, size) == 0 && ::getsockname(fd, raw, &size) == 0;
    ::close(fd);
    if (!ok) throw std::runtime_error("no free port: " + std::string(std::strerror(errno)));
    return ntohs(address.sin_port);
  }

  /// What the server wrote to its log.
  [[nodiscard]] std::string log() const {
    std::ifstream in(folder_ + "/log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// Ends the server as an administrator would, with SIGTERM.
  void stop() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGCONT);
    ::kill(pid_, SIGTERM);
    const auto gone = [&] { return ::waitpid(pid_, nullptr, WNOHANG) != 0; };
    if (!eventually(gone, 5s)) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }

  /// Ends the server as a power cut would.
  void crash() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  /// A new server at the same address, once the old one is gone. Throws if it can't start there.
  void restart() {
    stop();
    if (!eventually([&] { return start(); }))
      throw std::runtime_error("redis-server does not restart: " + log());
  }

  /// It stands still when this returns.
  void pause() {
    if (!stop_and_wait(pid_)) throw std::runtime_error("the test's redis-server does not stand still");
    paused_ = true;
  }
  void resume() {
    ::kill(pid_, SIGCONT);
    paused_ = false;
  }
  [[nodiscard]] bool paused() const noexcept { return paused_; }

  /// The answer to a command, as text: elements of a list one a line, an error with its first word, nil
  /// as "". Arguments are bytes. Throws if the server can't be asked.
  std::string command(const std::vector<std::string>& words) {
    if (auto answer = ask(words)) return text_of(**answer);
    throw std::runtime_error("the test's redis-server does not answer: " + log());
  }

  /// How many connections subscribe to the channel, by name.
  [[nodiscard]] long subscribers(const std::string& channel) {
    const auto answer = command({"PUBSUB", "NUMSUB", channel});
    return std::stol(answer.substr(answer.rfind('\n') + 1));
  }

  /// The server's statistics for a command ("get", "client|kill"): how often it was called.
  [[nodiscard]] long calls(const std::string& command_name) {
    const auto all = command({"INFO", "commandstats"});
    const auto key = "cmdstat_" + command_name + ":calls=";
    const auto at = all.find(key);
    return at == std::string::npos ? 0 : std::stol(all.substr(at + key.size()));
  }

  [[nodiscard]] long kills() { return calls("client|kill"); }

  /// The server's id of the one connection with that client name; 0 where there is none.
  [[nodiscard]] std::int64_t client_id(const std::string& name) {
    const auto list = command({"CLIENT", "LIST"});
    const auto at = list.find(" name=" + name + " ");
    if (at == std::string::npos) return 0;
    const auto line = list.rfind('\n', at) + 1;  // npos + 1 is 0
    return std::stoll(list.substr(line + std::strlen("id=")));
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  [[nodiscard]] std::string config_path() const { return folder_ + "/config"; }

  /// Whether it runs and answers; else nothing of it is left.
  bool start() {
    std::vector<std::string> words = {
        "redis-server",  "--port", std::to_string(port_), "--bind",      "127.0.0.1", "--save", "",
        "--appendonly",  "no",     "--unixsocket",        socket_path(), "--dir",     folder_,  "--logfile",
        folder_ + "/log"};
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    if (std::filesystem::exists(config_path())) words.insert(words.begin() + 1, config_path());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::filesystem::remove(socket_path());
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
    if (pid == 0) {  // only async-signal-safe calls from here on
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      const int null = ::open("/dev/null", O_RDWR);
      for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    pid_ = pid;
    bool ended = false;
    const auto settled = [&] {
      ended = ::waitpid(pid, nullptr, WNOHANG) == pid;
      return ended || ask({"PING"});
    };
    const bool in_time = eventually(settled, 20s);
    if (in_time && !ended) return true;
    if (!ended) crash();
    pid_ = -1;
    return false;
  }

  /// Nothing while the server can't be reached. An error is an answer too.
  std::unique_ptr<Reply> ask(const std::vector<std::string>& words) {
    const timeval limit{5, 0};
    const std::unique_ptr<redisContext, Free> context(
        redisConnectUnixWithTimeout(socket_path().c_str(), limit));
    if (!context || context->err != 0 || redisSetTimeout(context.get(), limit) != REDIS_OK) return nullptr;
    std::vector<const char*> argv;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      argv.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context.get(), static_cast<int>(argv.size()), argv.data(), sizes.data())));
    return reply ? std::make_unique<Reply>(std::move(reply)) : nullptr;
  }

  static std::string text_of(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    if (reply.type == REDIS_REPLY_NIL) return "";
    if (reply.type != REDIS_REPLY_ARRAY) return {reply.str, reply.len};
    std::string text;
    for (std::size_t i = 0; i < reply.elements; ++i) {
      if (i > 0) text += '\n';
      text += text_of(*reply.element[i]);
    }
    return text;
  }

  void end() {
    stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::vector<std::string> arguments_;
  bool paused_ = false;
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace support
