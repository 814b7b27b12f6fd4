// SPDX-License-Identifier: MIT
#pragma once

// The words of a command line and what all verbs do with them: parsing by CLI11, help and version. What a verb's own
// words mean is in the verb's room.

#include "status.hpp"

#include <CLI/CLI.hpp>
#include <sublock/redis_lock.hpp>

#include <algorithm>
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
  app.set_version_flag("-V,--version", std::string("sublock ") + sublock::version);
  app.formatter(std::make_shared<Help>(usage_text));
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : usage;
  }
  return std::nullopt;
}

}  // namespace command
