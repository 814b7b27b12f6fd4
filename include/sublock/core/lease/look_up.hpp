// SPDX-License-Identifier: MIT
#pragma once

// Asking what there is under a key without wanting it. As pure as the leaseholder.

#include <sublock/core/event.hpp>
#include <sublock/core/lease/action.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sublock::core::lease {

class LookUp {
 public:
  using Actions = std::vector<Action>;

  explicit LookUp(std::string key) : key_(std::move(key)) {}

  static void start(Actions& out) { out.emplace_back(action::Open{}); }

  void on(const Event& event, Actions& out) {
    if (std::holds_alternative<event::Opened>(event)) out.emplace_back(action::Look{key_});
    if (const auto* found = std::get_if<event::Looked>(&event)) found_ = *found;
    if (const auto* refused = std::get_if<event::Refused>(&event)) failure_ = refused->failure;
    if (const auto* lost = std::get_if<event::Lost>(&event)) failure_ = lost->failure;
  }

  [[nodiscard]] const std::optional<event::Looked>& found() const { return found_; }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  std::string key_;
  std::optional<event::Looked> found_;
  std::optional<Failure> failure_;
};

}  // namespace sublock::core::lease
