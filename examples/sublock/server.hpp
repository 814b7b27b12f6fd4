// SPDX-License-Identifier: MIT
#pragma once

// The way to the server, for all verbs: its URL, the password and TLS. A password never comes as a word, which
// everybody on this machine could read: only by the environment or from a file.

#include "words.hpp"

#include <sublock/redis_lock.hpp>
#ifdef SUBLOCK_COMMAND_HAS_TLS
#include <sublock/transport/openssl.hpp>
#endif

#include <cstdlib>
#include <fstream>
#include <string>

namespace command {

class Server {
 public:
  void add_to(CLI::App& app) {
    app.add_option("--redis", url_, "the server; else SUBLOCK_REDIS_URL, else REDIS_URL, else this machine")
        ->type_name("URL");
    app.add_option("--password-file", password_file_, "its first line is the password; else REDISCLI_AUTH")
        ->type_name("FILE");
    app.add_option("--cacert", ca_, "with rediss://, whom to believe; else whom the system believes")
        ->type_name("FILE");
    app.add_option("--cert", certificate_,
                   "with rediss://, our own certificate, for servers that ask for one")
        ->type_name("FILE");
    app.add_option("--key", key_, "its key")->type_name("FILE");
    app.add_option("--sni", name_, "with rediss://, the server's name; else the host of the URL")
        ->type_name("NAME");
    app.add_flag("--insecure", insecure_, "with rediss://, believe everybody");
  }

  /// Throws UsageError, or LockError for files that are no certificates.
  [[nodiscard]] sublock::ConnectionOptions connection() const {
    if (has_password(url_)) {
      throw UsageError(
          "--redis with a password would show it to everybody on this machine; put the URL into "
          "SUBLOCK_REDIS_URL, or the password into a file for --password-file");
    }
    sublock::ConnectionOptions options;
    for (const std::string& url :
         {url_, from_environment("SUBLOCK_REDIS_URL"), from_environment("REDIS_URL")}) {
      if (url.empty()) continue;
      options.url = url;
      break;
    }
    if (!password_file_.empty()) {
      options.password = first_line(password_file_);
    } else if (!has_password(options.url)) {
      options.password = from_environment("REDISCLI_AUTH");
    }
    options.sentinel_password = from_environment("SUBLOCK_SENTINEL_PASSWORD");
    if (options.url.starts_with("rediss")) encipher(options);
    return options;
  }

 private:
  void encipher([[maybe_unused]] sublock::ConnectionOptions& options) const {
#ifdef SUBLOCK_COMMAND_HAS_TLS
    options.tls = sublock::tls({.ca_file = ca_,
                                .certificate_file = certificate_,
                                .key_file = key_,
                                .server_name = name_,
                                .verify = !insecure_});
#else
    throw UsageError("this sublock was built without TLS; use redis://, perhaps by a local TLS tunnel");
#endif
  }

  static std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
  }

  static bool has_password(const std::string& url) {
    const auto start = url.find("://");
    if (start == std::string::npos) return url.find('@') != std::string::npos;
    const std::string authority = url.substr(start + 3, url.find('/', start + 3) - start - 3);
    const auto at = authority.rfind('@');
    return at != std::string::npos && authority.find(':') < at;
  }

  static std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) || line.empty())
      throw UsageError("there is no password in " + path + ", or it can't be read");
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  std::string url_;
  std::string password_file_;
  std::string ca_;
  std::string certificate_;
  std::string key_;
  std::string name_;
  bool insecure_ = false;
};

}  // namespace command
