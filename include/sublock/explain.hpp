// SPDX-License-Identifier: MIT
#pragma once

// The sentences of errors: what happened, to which channel, and what to do. Nothing is decided here.

#include <sublock/core/census.hpp>
#include <sublock/core/printable.hpp>
#include <sublock/core/request.hpp>
#include <sublock/error.hpp>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace sublock {

namespace detail {

/// Channels may be 64 KiB long, sentences should not.
[[nodiscard]] inline std::string quoted(std::string_view channel) {
  static constexpr std::size_t shown_max = 80;
  const bool fits = channel.size() <= shown_max;
  std::string text = "'";  // appended to: where it optimizes, g++ 12 sees an overflow in "'" + std::string
  text += core::printable(channel.substr(0, shown_max));
  return text += fits ? "'" : "…'";
}

/// How errors call what `transport` leads to.
template <class Transport>
[[nodiscard]] std::string server_of(const Transport& transport) {
  if constexpr (requires { std::string(transport.server()); }) {
    return transport.server();
  } else {
    return "the server";
  }
}

}  // namespace detail

/// Whom a sentence is about.
[[nodiscard]] inline std::string about(std::string_view channel) {
  return "channel " + detail::quoted(channel);
}

/// What every sentence about a lock begins with.
[[nodiscard]] inline std::string about(std::string_view channel, const std::string& what) {
  return about(channel) + ": " + what;
}

/// "the lock on channel 'x' was lost by holder 3f…: the connection broke; others may hold it now"
[[nodiscard]] inline std::string explain_loss(const core::Identity& self, const std::string& why) {
  return "the lock on channel '" + core::printable(self.channel) + "' was lost by holder " + self.holder_id +
         ": " + why + "; others may hold it now";
}

/// "the lock on channel 'x' is held: exclusive 3f… (host web-3, pid 812, label "importer", for 4200 ms)"
[[nodiscard]] inline std::string explain_busy(std::string_view channel, const std::vector<Holder>& blockers,
                                              const std::string& trouble, const std::string& strangers) {
  static constexpr std::size_t named_max = 8;
  std::ostringstream text;
  text << "the lock on channel " << detail::quoted(channel) << " could not be had in time";
  std::size_t named = 0;
  for (const Holder& holder : blockers) {
    if (named == named_max) {
      text << " and " << blockers.size() - named << " more";
      break;
    }
    text << (named++ == 0 ? "; on the channel: " : ", ") << holder;
  }
  if (!trouble.empty()) text << "; " << trouble;
  if (!strangers.empty()) text << "; " << strangers;
  if (blockers.empty() && trouble.empty() && strangers.empty()) text << ": others were quicker; wait longer";
  return text.str();
}

[[nodiscard]] inline Failure explain_silence(std::string_view channel, const core::Census& census,
                                             const std::string& server) {
  std::ostringstream text;
  text << "nobody can tell who is on channel " << detail::quoted(channel) << ": ";
  if (census.reached()) {
    text << census.missing() << " of " << *census.reached() << " subscribers did not answer in time";
  } else {
    text << server << " did not answer in time";
  }
  return {census.reached() ? Errc::busy : Errc::connect, text.str()};
}

[[nodiscard]] inline Failure explain_failure(std::string_view channel, const Failure& failure) {
  return {failure.code, "no lock on channel " + detail::quoted(channel) + ": " + failure.text};
}

}  // namespace sublock
