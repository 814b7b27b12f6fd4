// SPDX-License-Identifier: MIT
#pragma once

// A certificate authority of a test's own, that writes what it issues as PEM files.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <support/live_redis.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace support {

/// Issues from a folder of its own, which ends with it.
class Authority {
 public:
  Authority() {
    std::string folder = (std::filesystem::temp_directory_path() / "sublock-authority-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("mkdtemp: " + folder);
    folder_ = folder;
    key_ = fresh_key();
    certificate_ = make("the test's authority", key_.get(), -hour, hour, "");
    write("ca", key_.get(), certificate_.get());
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  ~Authority() { std::filesystem::remove_all(folder_); }

  /// A certificate for `names`, such as "IP:127.0.0.1,DNS:localhost", valid from and until so many seconds from now.
  /// Its files are `certificate(name)` and `key(name)`.
  void issue(const std::string& name, const std::string& names, long from = -hour, long until = hour) {
    const Key key = fresh_key();
    write(name, key.get(), make(name, key.get(), from, until, names).get());
  }

  [[nodiscard]] std::string certificate(const std::string& name = "ca") const {
    return folder_ + '/' + name + ".crt";
  }
  [[nodiscard]] std::string key(const std::string& name) const { return folder_ + '/' + name + ".key"; }

  /// A folder as OpenSSL has one for the system, in which a certificate is found by a hash of its subject.
  [[nodiscard]] std::string store() const {
    const std::filesystem::path store = folder_ + "/store";
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "%08lx.0", ::X509_subject_name_hash(certificate_.get()));
    std::filesystem::create_directory(store);
    std::filesystem::copy_file(certificate(), store / name.data(),
                               std::filesystem::copy_options::overwrite_existing);
    return store.string();
  }

  static constexpr long hour = 3600;

 private:
  template <auto free>
  struct Free {
    void operator()(auto* object) const { free(object); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, Free<X509_free>>;

  static Key fresh_key() {
    Key key(EVP_EC_gen("P-256"));
    if (!key) throw std::runtime_error("no key could be made");
    return key;
  }

  /// Signed by us; by itself where there is no certificate of ours yet.
  Certificate make(const std::string& name, EVP_PKEY* key, long from, long until, const std::string& names) {
    Certificate made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), from);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), until);
    X509_set_pubkey(made.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509* const issuer = certificate_ ? certificate_.get() : made.get();
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, made.get(), nullptr, nullptr, 0);
    const auto add = [&](int kind, const std::string& value) {
      const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
          X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
      if (!extension) throw std::runtime_error("no such extension: " + value);
      X509_add_ext(made.get(), extension.get(), -1);
    };
    add(NID_basic_constraints, certificate_ ? "CA:FALSE" : "critical,CA:TRUE");
    if (!names.empty()) add(NID_subject_alt_name, names);
    if (X509_sign(made.get(), key_ ? key_.get() : key, EVP_sha256()) == 0)
      throw std::runtime_error("nothing could be signed");
    return made;
  }

  void write(const std::string& name, EVP_PKEY* key, X509* made) const {
    using File = std::unique_ptr<std::FILE, Free<std::fclose>>;
    const File key_file(std::fopen(this->key(name).c_str(), "w"));
    const File certificate_file(std::fopen(certificate(name).c_str(), "w"));
    if (!key_file || !certificate_file) throw std::runtime_error("can't write to " + folder_);
    PEM_write_PrivateKey(key_file.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    PEM_write_X509(certificate_file.get(), made);
  }

  std::string folder_;
  Key key_;
  Certificate certificate_;
  long serial_ = 0;
};

/// Makes `server` speak TLS as well, with one of the authority's certificates, and returns where. The server may ask
/// its clients for certificates: "no", "optional" or "yes".
inline std::string encipher(LiveRedis& server, const Authority& authority, const std::string& certificate,
                            const std::string& asks_for_clients = "no") {
  for (int port = server.port() + 1; port < server.port() + 50; ++port) {
    const auto answer =
        server.command({"CONFIG", "SET", "tls-cert-file", authority.certificate(certificate), "tls-key-file",
                        authority.key(certificate), "tls-ca-cert-file", authority.certificate(),
                        "tls-auth-clients", asks_for_clients, "tls-port", std::to_string(port)});
    if (answer == "OK") return "rediss://127.0.0.1:" + std::to_string(port);
  }
  throw std::runtime_error("no TLS port: " + server.log());
}

}  // namespace support
