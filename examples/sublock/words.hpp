// SPDX-License-Identifier: MIT
#pragma once

// The words of a command line and what all verbs do with them: parsing by CLI11, help, version, and the way to
// the server. What a verb's own words mean is in the verb's room.

#include "status.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace command {

using Words = std::vector<std::string>;

/// The words make no sense; `what()` says which.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// CLI11's help, with a usage of our own: what stands behind the options is no option, and it knows only those.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override { return usage_ + '\n'; }
  std::string make_footer(const CLI::App* app) const override {
    return CLI::Formatter::make_footer(app) + '\n';
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : ' ' + type;
  }

 private:
  std::string usage_;
};

/// Parses, or says why not. A status where that was all there was to do.
[[nodiscard]] inline std::optional<Status> parse(CLI::App& app, const std::string& usage_text, Words words) {
  app.set_version_flag("-V,--version", "sublock " SUBLOCK_VERSION);
  app.formatter(std::make_shared<Help>(usage_text));
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : usage;
  }
  return std::nullopt;
}

/// Which server, and the password for it. A password never comes as a word, which everybody on this machine
/// could read: only by the environment or from a file.
class Server {
 public:
  void add_to(CLI::App& app) {
    app.add_option("--redis", url_, "the server; else SUBLOCK_REDIS_URL, else REDIS_URL, else this machine")
        ->type_name("URL");
    app.add_option("--password-file", password_file_, "its first line is the password; else REDISCLI_AUTH")
        ->type_name("FILE");
  }

  /// Throws UsageError.
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
    return options;
  }

 private:
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
};

}  // namespace command
