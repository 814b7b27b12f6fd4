// SPDX-License-Identifier: MIT
#pragma once

// The other processes of a benchmark: this program once more, in a role, and a line to talk over. What the
// roles do stands beside the benchmarks that need them.

#include "plain.hpp"
#include "time.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// One end of a line between two processes, over which numbers go.
class Talk {
 public:
  explicit Talk(int fd) : fd_(fd) {}
  Talk(Talk&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Talk& operator=(Talk&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Talk() { close(); }

  void say(std::int64_t number) const {
    if (::send(fd_, &number, sizeof number, MSG_NOSIGNAL) != sizeof number)
      throw std::runtime_error("a helper has gone");
  }
  /// Nothing once the other one has gone.
  [[nodiscard]] std::optional<std::int64_t> hear() const {
    std::int64_t number = 0;
    if (::recv(fd_, &number, sizeof number, MSG_WAITALL) != sizeof number) return std::nullopt;
    return number;
  }

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

/// What a helper does, until it hears that nobody needs it any more.
using Role =
    std::function<void(const Talk& with, const Server& server, const std::vector<std::string>& words)>;

[[nodiscard]] inline std::map<std::string, Role>& roles() {
  static std::map<std::string, Role> all;
  return all;
}

struct InRole {
  InRole(const std::string& name, Role role) { roles().emplace(name, std::move(role)); }
};

/// A process in a role; the first that it says is that it is ready. Ends with this object.
class Helper {
 public:
  Helper(const Server& server, const std::string& role, std::vector<std::string> words) : talk_(-1) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    words.insert(words.begin(), {"sublock-benchmarks", "--role", role, std::to_string(server.port)});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {  // only async-signal-safe calls from here on
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);
      ::dup2(ends[1], STDIN_FILENO);
      ::execv("/proc/self/exe", argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    talk_ = Talk(ends[0]);
    if (!talk_.hear()) throw std::runtime_error("the helper '" + role + "' did not start");
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() {
    talk_.close();
    ::waitpid(pid_, nullptr, 0);
  }

  void say(std::int64_t number) const { talk_.say(number); }
  [[nodiscard]] std::int64_t hear() const {
    const auto number = talk_.hear();
    if (!number) throw std::runtime_error("a helper has gone");
    return *number;
  }

 private:
  Talk talk_;
  pid_t pid_ = -1;
};

}  // namespace bench
