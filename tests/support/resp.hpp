// SPDX-License-Identifier: MIT
#pragma once

// Where one RESP2 value ends and the next begins, and which request a reply belongs to. For test tools that
// stand between a client and a server; values are cut, not decoded.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace support {

/// Bytes of the first value, 0 while it is incomplete. What is no RESP is one value to the end of its line.
[[nodiscard]] inline std::size_t resp_size(std::string_view bytes) {
  std::size_t at = 0;
  for (std::size_t left = 1; left > 0; --left) {
    if (at >= bytes.size()) return 0;
    const std::size_t line_end = bytes.find('\n', at);
    if (line_end == std::string_view::npos) return 0;
    long long number = 0;
    std::from_chars(bytes.data() + at + 1, bytes.data() + line_end, number);
    const char kind = bytes[at];
    at = line_end + 1;
    if (number > 0 && kind == '*') left += static_cast<std::size_t>(number);
    if (number >= 0 && kind == '$') at += static_cast<std::size_t>(number) + 2;
  }
  return at <= bytes.size() ? at : 0;
}

/// The words of a request, or of a reply that is a flat list of strings.
[[nodiscard]] inline std::vector<std::string_view> resp_words(std::string_view value) {
  std::vector<std::string_view> words;
  if (!value.starts_with('*')) return words;
  value.remove_prefix(value.find('\n') + 1);
  while (!value.empty()) {
    const std::size_t size = resp_size(value);
    if (size == 0) break;
    const std::size_t head = value.find('\n') + 1;
    const bool is_bulk = value.front() == '$' && size > head;
    words.push_back(is_bulk ? value.substr(head, size - head - 2) : value.substr(1, head - 3));
    value.remove_prefix(size);
  }
  return words;
}

[[nodiscard]] inline bool is_word(std::string_view one, std::string_view other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// Something published, which answers no request.
[[nodiscard]] inline bool is_message(std::string_view value) {
  return value.starts_with("*3\r\n$7\r\nmessage\r\n") || value.starts_with("*4\r\n$8\r\npmessage\r\n");
}

/// Tells for each reply on one connection whether it is the answer to a marked request; one inside MULTI is
/// answered by the reply to EXEC.
class RespPairing {
 public:
  void request(std::string_view value, bool marked) {
    const auto words = resp_words(value);
    const std::string_view verb = words.empty() ? std::string_view() : words.front();
    if (is_word(verb, "MULTI")) in_transaction_ = true;
    const bool ends = is_word(verb, "EXEC") || is_word(verb, "DISCARD");
    if (in_transaction_ && !ends) {
      transaction_marked_ = transaction_marked_ || marked;
      requests_.push_back({});
      return;
    }
    Request request;
    request.marked = marked || (ends && transaction_marked_);
    const bool leaves = is_word(verb, "UNSUBSCRIBE") || is_word(verb, "PUNSUBSCRIBE");
    if (leaves || is_word(verb, "SUBSCRIBE") || is_word(verb, "PSUBSCRIBE"))
      request.confirmations = words.size() - 1;
    request.until_none_left = leaves && words.size() == 1;
    if (ends) in_transaction_ = transaction_marked_ = false;
    requests_.push_back(request);
  }

  /// Whether this reply answers a marked request. Not for messages.
  bool reply(std::string_view value) {
    const auto words = resp_words(value);
    if (requests_.empty()) return false;
    Request& request = requests_.front();
    const bool marked = request.marked;
    const bool more =
        request.until_none_left ? words.size() == 3 && words[2] != "0" : request.confirmations-- > 1;
    if (!more) requests_.pop_front();
    return marked;
  }

 private:
  struct Request {
    bool marked = false;
    std::size_t confirmations = 1;
    bool until_none_left = false;
  };

  std::deque<Request> requests_;
  bool in_transaction_ = false;
  bool transaction_marked_ = false;
};

}  // namespace support
