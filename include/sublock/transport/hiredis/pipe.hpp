// SPDX-License-Identifier: MIT
#pragma once

// Bytes over one connected socket, as they are or enciphered. Never blocks and raises no signal; which cipher
// there is, if any, is decided outside.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>

#include <sys/socket.h>
#include <sys/types.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sublock::hiredis {

/// One enciphered conversation. The handshake is part of the first sends and receives.
class Stream {
 public:
  virtual ~Stream() = default;

  /// As the system calls of that name on a socket that does not block: -1 and EAGAIN while nothing moves, which may
  /// be for want of something from the peer. Whatever has not been sent must be offered again, with more behind it
  /// if there is more.
  virtual ssize_t send(const char* bytes, std::size_t size) = 0;
  virtual ssize_t recv(char* bytes, std::size_t size) = 0;

  /// What moves next is something from the peer, whatever is still to be sent.
  [[nodiscard]] virtual bool waits_for_peer() const noexcept = 0;
  /// Why it can't go on, where that is for the cipher to say.
  [[nodiscard]] virtual const std::optional<Failure>& failure() const noexcept = 0;
};

/// Makes streams. Thread-safe.
class Cipher {
 public:
  virtual ~Cipher() = default;
  /// Over a connected socket, with the server that the user calls `host`.
  [[nodiscard]] virtual std::unique_ptr<Stream> over(int fd, const std::string& host) const = 0;
};

class Pipe {
 public:
  void open(Descriptor fd) noexcept { fd_ = std::move(fd); }
  /// Once it is connected.
  void encipher(const Cipher& cipher, const std::string& host) { stream_ = cipher.over(fd_.get(), host); }
  void close() noexcept {
    stream_.reset();
    fd_.close();
  }

  [[nodiscard]] ssize_t send(const char* bytes, std::size_t size) {
    return stream_ ? stream_->send(bytes, size) : ::send(fd_.get(), bytes, size, MSG_NOSIGNAL);
  }
  [[nodiscard]] ssize_t recv(char* bytes, std::size_t size) {
    return stream_ ? stream_->recv(bytes, size) : ::recv(fd_.get(), bytes, size, 0);
  }

  /// There may be bytes that no poll would tell of.
  [[nodiscard]] bool hoards() const noexcept { return stream_ != nullptr; }
  [[nodiscard]] bool waits_for_peer() const noexcept { return stream_ && stream_->waits_for_peer(); }

  /// What went wrong, after a call that returned -1.
  [[nodiscard]] Failure failure() const {
    if (stream_ && stream_->failure()) return *stream_->failure();
    return {Errc::connect, std::strerror(errno)};
  }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  Descriptor fd_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace sublock::hiredis
