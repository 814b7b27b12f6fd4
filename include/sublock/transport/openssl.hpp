// SPDX-License-Identifier: MIT
#pragma once

// TLS for `rediss://`, by OpenSSL under the transport's own poll loop: the only room that knows OpenSSL. Link
// sublock::tls for it.

#include <sublock/error.hpp>
#include <sublock/transport/hiredis/pipe.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace sublock {

/// Whom to believe, and how to show who we are.
struct TlsOptions {
  /// A PEM file of certificates whose word counts. Empty, the default: the system's.
  std::string ca_file = {};
  /// Our own certificate, with its chain, and its key, as PEM files; both or none. For servers that ask for one.
  std::string certificate_file = {};
  std::string key_file = {};  ///< see `certificate_file`
  /// What the server's certificate must be made out to, and what is asked for by SNI. Empty, the default: the host of
  /// the URL.
  std::string server_name = {};
  /// Whether the server's certificate is looked at. Without it anybody on the way can be the server. The default is
  /// true.
  bool verify = true;
};

/// How it is done; nothing here is for users but `tls`.
namespace openssl {

template <auto free>
struct Free {
  void operator()(auto* object) const noexcept { free(object); }
};

/// The oldest of the errors that OpenSSL has noted on this thread; forgets the others.
[[nodiscard]] inline std::string take_error() {
  const char* const text = ::ERR_reason_error_string(::ERR_peek_error());
  std::string error = text == nullptr ? "unknown reason" : text;
  ::ERR_clear_error();
  return error;
}

[[nodiscard]] inline int descriptor_of(BIO* bio) noexcept {
  return static_cast<int>(
      reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));  // NOLINT(*-reinterpret-cast)
}
[[nodiscard]] inline bool is_passing(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/// A socket as OpenSSL sees it: like its own, but that it raises no SIGPIPE.
[[nodiscard]] inline const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sublock socket");
    if (made == nullptr) throw std::bad_alloc();
    ::BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) {
      BIO_clear_retry_flags(bio);
      const auto count = ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (count < 0 && is_passing(errno)) BIO_set_retry_write(bio);
      return static_cast<int>(count);
    });
    ::BIO_meth_set_read(made, [](BIO* bio, char* bytes, int size) {
      BIO_clear_retry_flags(bio);
      const auto count = ::recv(descriptor_of(bio), bytes, static_cast<std::size_t>(size), 0);
      if (count < 0 && is_passing(errno)) BIO_set_retry_read(bio);
      return static_cast<int>(count);
    });
    ::BIO_meth_set_ctrl(made,
                        [](BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1L : 0L; });
    ::BIO_meth_set_create(made, [](BIO* bio) {
      ::BIO_set_init(bio, 1);
      return 1;
    });
    return made;
  }();
  return method;
}

/// Ends without a good-bye: a forked child must not say it in its parent's name.
class Conversation final : public hiredis::Stream {
 public:
  explicit Conversation(SSL* ssl) : ssl_(ssl) {}

  ssize_t send(const char* bytes, std::size_t size) override {
    ::ERR_clear_error();
    const int count = ::SSL_write(ssl_.get(), bytes, size > INT_MAX ? INT_MAX : static_cast<int>(size));
    waits_for_peer_ = count <= 0 && SSL_want_read(ssl_.get());
    return outcome(count);
  }
  ssize_t recv(char* bytes, std::size_t size) override {
    ::ERR_clear_error();
    const int count = ::SSL_read(ssl_.get(), bytes, size > INT_MAX ? INT_MAX : static_cast<int>(size));
    if (count > 0) waits_for_peer_ = false;
    return outcome(count);
  }

  [[nodiscard]] bool waits_for_peer() const noexcept override { return waits_for_peer_; }
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept override { return failure_; }

 private:
  ssize_t outcome(int count) {
    if (count > 0) return count;
    if (failure_) return refuse();  // what follows it is vague
    const int system = errno;
    switch (::SSL_get_error(ssl_.get(), count)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE: errno = EAGAIN; return -1;
      case SSL_ERROR_ZERO_RETURN: return 0;
      case SSL_ERROR_SYSCALL:
        if (system == 0 || count == 0) return 0;  // the end, without a good-bye
        errno = system;
        return -1;
      default: break;
    }
    failure_ = reason();
    return refuse();
  }

  static ssize_t refuse() noexcept {
    errno = EPROTO;
    return -1;
  }

  /// A certificate that is not believed won't be a moment later: that is no trouble of the network.
  [[nodiscard]] Failure reason() const {
    if (ERR_GET_REASON(::ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
      ::ERR_clear_error();
      return {Errc::connect, "it ended in the middle of TLS"};
    }
    const bool looks = ::SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE;
    const long verdict = looks ? ::SSL_get_verify_result(ssl_.get()) : X509_V_OK;
    const std::string error = take_error();
    if (verdict == X509_V_OK)
      return {Errc::auth,
              "TLS: " + error + "; does the server speak TLS there, and does it ask for a certificate?"};
    return {Errc::auth, std::string("its certificate is not believed: ") +
                            ::X509_verify_cert_error_string(verdict) +
                            "; check ca_file, server_name and the host in the URL"};
  }

  std::unique_ptr<SSL, Free<::SSL_free>> ssl_;
  bool waits_for_peer_ = false;
  std::optional<Failure> failure_;
};

class Cipher final : public hiredis::Cipher {
 public:
  explicit Cipher(TlsOptions options)
      : options_(std::move(options)), context_(::SSL_CTX_new(::TLS_client_method())) {
    const auto demand = [](bool good, const std::string& what) {
      if (!good) throw LockError({Errc::usage, "TLS: " + what + ": " + take_error()});
    };
    demand(context_ != nullptr, "OpenSSL makes no context");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                         SSL_MODE_RELEASE_BUFFERS);
    ::SSL_CTX_set_verify(context_.get(), options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (options_.ca_file.empty()) {
      demand(::SSL_CTX_set_default_verify_paths(context_.get()) == 1,
             "the system's certificates can't be read");
    } else {
      demand(::SSL_CTX_load_verify_locations(context_.get(), options_.ca_file.c_str(), nullptr) == 1,
             "no certificates can be read from ca_file '" + options_.ca_file + "'");
    }
    if (options_.certificate_file.empty() != options_.key_file.empty())
      throw LockError({Errc::usage, "TLS: certificate_file and key_file go together; give both or none"});
    if (options_.certificate_file.empty()) return;
    demand(::SSL_CTX_use_certificate_chain_file(context_.get(), options_.certificate_file.c_str()) == 1,
           "no certificate can be read from '" + options_.certificate_file + "'");
    demand(::SSL_CTX_use_PrivateKey_file(context_.get(), options_.key_file.c_str(), SSL_FILETYPE_PEM) == 1,
           "no key that fits the certificate can be read from '" + options_.key_file + "'");
  }

  [[nodiscard]] std::unique_ptr<hiredis::Stream> over(int fd, const std::string& host) const override {
    SSL* const ssl = ::SSL_new(context_.get());
    if (ssl == nullptr) throw std::bad_alloc();
    auto conversation = std::make_unique<Conversation>(ssl);
    BIO* const bio = ::BIO_new(socket_method());
    if (bio == nullptr) throw std::bad_alloc();
    ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
    ::SSL_set_bio(ssl, bio, bio);
    ::SSL_set_connect_state(ssl);
    const std::string& name = options_.server_name.empty() ? host : options_.server_name;
    if (is_address(name)) {
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), name.c_str());
    } else {
      ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      ::SSL_set1_host(ssl, name.c_str());
      SSL_set_tlsext_host_name(ssl, name.c_str());
    }
    return conversation;
  }

 private:
  [[nodiscard]] static bool is_address(const std::string& name) {
    in6_addr binary = {};
    return ::inet_pton(AF_INET, name.c_str(), &binary) == 1 ||
           ::inet_pton(AF_INET6, name.c_str(), &binary) == 1;
  }

  const TlsOptions options_;
  std::unique_ptr<SSL_CTX, Free<::SSL_CTX_free>> context_;
};

}  // namespace openssl

/// For `ConnectionOptions::tls`; connections may share it. Reads the files now. Throws LockError with Errc::usage for
/// what can't be read or does not fit.
[[nodiscard]] inline std::shared_ptr<const hiredis::Cipher> tls(const TlsOptions& options = {}) {
  return std::make_shared<const openssl::Cipher>(options);
}

}  // namespace sublock
