// SPDX-License-Identifier: MIT
#pragma once

// Commands into bytes, replies out of them, and what a server's refusal means. Whose reply it is is not
// known here.

#include <sublock/error.hpp>

#include <hiredis/hiredis.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::hiredis {

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

struct FreeReader {
  void operator()(redisReader* reader) const noexcept { ::redisReaderFree(reader); }
};
using Reader = std::unique_ptr<redisReader, FreeReader>;

/// The reader of whoever reads just now, kept for the next one. Needs the transport's mutex.
class SpareReader {
 public:
  [[nodiscard]] Reader take() {
    Reader reader = spare_ ? std::move(spare_) : Reader(::redisReaderCreate());
    if (!reader) throw std::bad_alloc();
    return reader;
  }
  /// One that is not in the middle of anything.
  void give_back(Reader reader) { spare_ = std::move(reader); }

 private:
  Reader spare_;
};

/// Appends one command, byte for byte, whatever its words contain. By hand, since hiredis prints every length
/// with sprintf, which is a tenth of what taking a lock costs beside the round trip.
inline void append(std::string& out, std::span<const std::string_view> words) {
  const auto append_count = [&out](char kind, std::size_t count) {
    out += kind;
    out += std::to_string(count);
    out += "\r\n";
  };
  append_count('*', words.size());
  for (const std::string_view word : words) {
    append_count('$', word.size());
    out += word;
    out += "\r\n";
  }
}
inline void append(std::string& out, std::initializer_list<std::string_view> words) {
  append(out, std::span(words.begin(), words.size()));
}

[[nodiscard]] inline bool is_error(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }
[[nodiscard]] inline bool is_array(const redisReply& reply, std::size_t elements) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements == elements;
}

/// The text of a string, status or error; empty for anything else.
[[nodiscard]] inline std::string_view text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR: return {reply.str, reply.len};
    default: return {};
  }
}

[[nodiscard]] inline bool is_status(const redisReply& reply, std::string_view text) {
  return reply.type == REDIS_REPLY_STATUS && text_of(reply) == text;
}

/// A confirmation or message: an array whose first word is `kind`.
[[nodiscard]] inline bool is_push(const redisReply& reply, std::size_t elements, std::string_view kind) {
  return is_array(reply, elements) && reply.element[0]->type == REDIS_REPLY_STRING &&
         text_of(*reply.element[0]) == kind;
}

/// `PUBSUB NUMSUB` of so many channels: the name and the count of each. The count of the channel at `which`, or
/// -1 for anything else.
[[nodiscard]] inline long long subscribers_in(const redisReply& reply, std::size_t channels = 1,
                                              std::size_t which = 0) {
  const std::size_t at = 2 * which + 1;
  if (!is_array(reply, 2 * channels) || reply.element[at]->type != REDIS_REPLY_INTEGER) return -1;
  return reply.element[at]->integer;
}

/// For error texts: unprintable bytes escaped, long names cut.
[[nodiscard]] inline std::string shown(std::string_view name) {
  constexpr std::size_t shown_max = 200;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : name.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
    } else {
      text += c;
    }
  }
  return name.size() > shown_max ? text + "..." : text;
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

[[nodiscard]] inline bool is_unknown_command(std::string_view error) {
  return contains(error, "unknown command") || contains(error, "nknown subcommand");
}

/// NOPERM about a channel rather than a command; servers word it differently, all say "channel".
[[nodiscard]] inline bool is_channel_refusal(std::string_view error) {
  return error.starts_with("NOPERM") && contains(error, "channel");
}

/// The node of a cluster that says so does not serve the slot: another one does, or none does just now.
[[nodiscard]] inline bool is_elsewhere(std::string_view error) {
  return error.starts_with("MOVED ") || error.starts_with("ASK ") || error.starts_with("CLUSTERDOWN");
}

/// What CLUSTER INFO says is wrong, or that it can't be had; empty where all is well.
[[nodiscard]] inline std::string trouble_of_cluster(const redisReply& reply) {
  if (is_error(reply)) return "refuses CLUSTER INFO: " + shown(text_of(reply));
  if (contains(text_of(reply), "cluster_state:ok")) return {};
  return "says that the cluster is down";
}

/// What it means that the server at `where` answered `command` with `error`. `channel` is how to name
/// the channel that the command was about, empty where there is none.
[[nodiscard]] inline Failure refusal(const std::string& where, std::string_view command,
                                     std::string_view error, std::string_view channel = {}) {
  constexpr std::string_view abort = "EXECABORT Transaction discarded because of: ";
  if (error.starts_with(abort)) error.remove_prefix(abort.size());
  const std::string says = ": " + shown(error);
  const std::string_view word = error.substr(0, error.find(' '));
  const std::string at = "Redis at " + where;
  if (contains(error, "max number of clients")) {
    return {Errc::connect, at + " has no connection left for us" + says};
  }
  if (word == "WRONGPASS" || word == "NOAUTH" || command == "AUTH") {
    return {Errc::auth, at + (word == "NOAUTH" ? " wants a password" : " refuses the credentials") + says};
  }
  if (is_elsewhere(error)) {
    return {Errc::connect, at + " does not serve the channel's slot" + says};
  }
  if (word == "LOADING" || word == "BUSY" || word == "MASTERDOWN" || word == "TRYAGAIN") {
    return {Errc::busy, at + " can't serve " + std::string(command) + " just now" + says};
  }
  if (is_channel_refusal(error) && !channel.empty()) {
    return {Errc::permission, at + " refuses this user " + std::string(command) + " on the channel " +
                                  shown(channel) + "; grant it with ACL SETUSER" + says};
  }
  if (word == "NOPERM" || is_unknown_command(error)) {
    return {Errc::permission, at + " refuses this user the command " + std::string(command) + says};
  }
  if (word == "READONLY") {
    return {Errc::usage, at + " is a read-only replica; connect to its primary" + says};
  }
  if (command == "SELECT" && word == "ERR") {
    return {Errc::usage, at + " has no such database as the connection URL asks for" + says};
  }
  if (word == "DENIED") return {Errc::connect, at + " refuses connections from here" + says};
  return {Errc::protocol, at + " refuses " + std::string(command) + says};
}

}  // namespace sublock::hiredis
