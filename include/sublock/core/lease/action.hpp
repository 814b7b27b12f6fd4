// SPDX-License-Identifier: MIT
#pragma once

// What a leaseholder may ask for: plain values, each answered by an event of core/event.hpp.

#include <sublock/core/event.hpp>

#include <string>
#include <variant>

namespace sublock::core::lease {

namespace action {

using core::action::Close;
using core::action::Increment;
using core::action::Open;
using core::action::Publish;
using core::action::Warn;

/// Store the owner's value unless there is something, to expire after `expire`. Answered by Keyed.
struct Take {
  std::string key;
  std::string mark;
  Duration expire{};

  friend bool operator==(const Take&, const Take&) = default;
};

/// Store it anew where what is stored begins with `mark`, compared and done as one. Answered by Keyed.
struct Extend {
  std::string key;
  std::string mark;
  Duration expire{};

  friend bool operator==(const Extend&, const Extend&) = default;
};

/// Delete the key where what is stored begins with `mark`, compared and done as one. Answered by Keyed.
struct Drop {
  std::string key;
  std::string mark;

  friend bool operator==(const Drop&, const Drop&) = default;
};

/// What is there? Answered by Looked.
struct Look {
  std::string key;

  friend bool operator==(const Look&, const Look&) = default;
};

/// Be told when the key is given back: as Messages, once Listening has come. Where that is refused, one can
/// still look from time to time.
struct Hear {
  std::string key;

  friend bool operator==(const Hear&, const Hear&) = default;
};

/// No more need to hear anything.
struct Deafen {
  friend bool operator==(const Deafen&, const Deafen&) = default;
};

}  // namespace action

using Action =
    std::variant<action::Open, action::Close, action::Take, action::Extend, action::Drop, action::Look,
                 action::Hear, action::Deafen, action::Increment, action::Publish, action::Warn>;

}  // namespace sublock::core::lease
