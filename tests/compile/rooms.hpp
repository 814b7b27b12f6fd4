// SPDX-License-Identifier: MIT
#pragma once

// The walls between the rooms, as rules on text: who may include what, and which words may stand where.
// Pure functions of a path and its text, so that the rules themselves can be tested.

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rooms {

struct File {
  std::string path;  ///< from the top of the repository, with slashes
  std::string text;
};

using Complaints = std::vector<std::string>;

[[nodiscard]] inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

[[nodiscard]] inline bool below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder);
}

/// What a file includes, without brackets or quotes.
[[nodiscard]] inline std::vector<std::string> includes_of(const File& file) {
  static const std::regex directive(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"].*)");
  std::vector<std::string> result;
  std::smatch match;
  for (const std::string& line : lines_of(file.text))
    if (std::regex_match(line, match, directive)) result.push_back(match[1]);
  return result;
}

/// The code without its comments; strings stay.
[[nodiscard]] inline std::string code_of(const File& file) {
  std::string code;
  for (const std::string& line : lines_of(file.text)) code += line.substr(0, line.find("//")) + '\n';
  return code;
}

/// Only those whose path begins with one of `doors` may include what begins with `header`.
struct Wall {
  std::string_view header;
  std::vector<std::string_view> doors;
  std::string_view why;
};

[[nodiscard]] inline const std::vector<Wall>& walls() {
  static const std::vector<Wall> all{
      {"hiredis/", {"include/sublock/transport/hiredis", "tests/", "benchmarks/"}, "one room knows hiredis"},
      {"sublock/transport/hiredis",
       {"include/sublock/redis_lock.hpp", "include/sublock/redis_getlock.hpp",
        "include/sublock/redis_majority_lock.hpp", "include/sublock/transport/hiredis",
        "include/sublock/transport/cluster", "include/sublock/transport/shared_ear",
        "include/sublock/transport/openssl.hpp", "tests/", "benchmarks/", "examples/"},
       "three doors lead to hiredis"},
      {"sublock/transport/shared_ear",
       {"include/sublock/redis_shared_ear_lock.hpp", "include/sublock/transport/shared_ear", "tests/",
        "benchmarks/", "examples/"},
       "one door leads to shared ears"},
      {"sublock/transport/cluster",
       {"include/sublock/redis_cluster_lock.hpp", "include/sublock/transport/cluster", "tests/",
        "benchmarks/", "examples/"},
       "one door leads to the cluster"},
      {"openssl/", {"include/sublock/transport/openssl.hpp", "tests/"}, "one room knows OpenSSL"},
      {"sublock/transport/openssl", {"tests/", "examples/"}, "nobody needs TLS who does not ask for it"},
      {"sublock/redis_", {"tests/", "benchmarks/", "examples/", "packaging/"}, "the doors are for users"},
      // What users write stays outside the inner rooms; the command has a rule of its own, below.
      {"sublock/core/",
       {"include/", "tests/", "benchmarks/", "examples/support/server.cpp", "examples/sublock/"},
       "users don't know the core"},
      {"sublock/transport/hiredis/",
       {"include/", "tests/", "benchmarks/", "examples/sublock/"},
       "users don't know a transport's rooms"},
      {"sublock/transport/in_memory/",
       {"include/", "tests/", "benchmarks/"},
       "users don't know a transport's rooms"},
      {"sublock/transport/in_memory",
       {"include/sublock/transport/in_memory", "tests/", "benchmarks/", "examples/"},
       "no lock knows its transport"},
      {"boost/hana.hpp", {}, "the fine-grained headers cost a tenth of it"},
      {"CLI/", {"examples/sublock/"}, "only the command reads a command line with it"},
      {"random",
       {"include/sublock/entropy.hpp", "tests/", "benchmarks/"},
       "randomness comes in from outside"},
  };
  return all;
}

/// Siblings do not know each other. A transport waits, or lives in somebody's time, so it may know clocks.
[[nodiscard]] inline Complaints sibling_complaints(const File& file) {
  static const std::vector<std::string> rooms{"election", "reaper", "clock", "transport"};
  Complaints result;
  for (const std::string& room : rooms) {
    if (!below(file.path, "include/sublock/" + room + "/")) continue;
    for (const std::string& header : includes_of(file))
      for (const std::string& other : rooms) {
        const bool allowed =
            other == room || (below(file.path, "include/sublock/transport/") && other == "clock");
        if (!allowed && below(header, "sublock/" + other + "/"))
          result.push_back(file.path + " includes " + header + ": siblings do not know each other");
      }
  }
  return result;
}

/// The core is pure: itself, plain vocabulary, Hana, the JSON parser, and of the standard library
/// whatever neither waits nor does I/O.
[[nodiscard]] inline Complaints core_complaints(const File& file) {
  static const std::regex allowed(
      R"((sublock/(core/.*|error\.hpp|policies\.hpp)|boost/hana/.*|boost/locale/utf\.hpp|nlohmann/.*|[a-z_]+))");
  static const std::set<std::string> impure{"thread",     "mutex",    "shared_mutex", "condition_variable",
                                            "future",     "atomic",   "random",       "iostream",
                                            "fstream",    "cstdio",   "ctime",        "csignal",
                                            "filesystem", "semaphore"};
  Complaints result;
  if (!below(file.path, "include/sublock/core/")) return result;
  for (const std::string& header : includes_of(file))
    if (!std::regex_match(header, allowed) || impure.contains(header))
      result.push_back(file.path + " includes " + header + ": the core is pure");
  return result;
}

[[nodiscard]] inline Complaints include_complaints(const File& file) {
  Complaints result;
  for (const std::string& header : includes_of(file))
    for (const Wall& wall : walls()) {
      const bool whole = wall.header.find('/') == std::string_view::npos;
      if (whole ? header != wall.header : !below(header, wall.header)) continue;
      if (std::ranges::none_of(wall.doors, [&](std::string_view door) { return below(file.path, door); }))
        result.push_back(file.path + " includes " + header + ": " + std::string(wall.why));
    }
  return result;
}

/// The command comes in as any user of a real server does, but for the room in which it talks to the server itself.
[[nodiscard]] inline Complaints command_complaints(const File& file) {
  Complaints result;
  if (!below(file.path, "examples/sublock/")) return result;
  std::vector<std::string_view> doors{"sublock/redis_", "sublock/transport/openssl.hpp"};
  if (file.path == "examples/sublock/talk.hpp") doors.emplace_back("sublock/transport/hiredis/");
  for (const std::string& header : includes_of(file))
    if (below(header, "sublock/") &&
        std::ranges::none_of(doors, [&](std::string_view door) { return below(header, door); }))
      result.push_back(file.path + " includes " + header + ": the command uses the doors");
  return result;
}

/// Words that have one home in include/, or none anywhere.
[[nodiscard]] inline Complaints word_complaints(const File& file) {
  struct Word {
    std::regex word;
    std::string_view reach;
    std::vector<std::string_view> homes;
    std::string_view why;
  };
  static const std::vector<Word> words{
      {std::regex("(steady|system|high_resolution)_clock::now"),
       "include/",
       {"include/sublock/clock/steady.hpp"},
       "asks what time it is"},
      {std::regex("random_"
                  "device|mt19937"),
       "include/",
       {"include/sublock/entropy.hpp"},
       "draws random words"},
      {std::regex("sleep_"
                  "for|sleep_"
                  "until|::sle"
                  "ep\\(|usle"
                  "ep\\(|nanosle"
                  "ep"),
       "",
       {},
       "sleeps: wait for a condition"},
      {std::regex("::(socket|connect|recv|send|poll|epoll_wait)\\("),
       "include/",
       {"include/sublock/transport/"},
       "touches a socket"},
      {std::regex("using namespace (?!std::)"), "include/", {}, "opens a namespace for everybody"},
  };
  Complaints result;
  const std::string code = code_of(file);
  for (const Word& word : words) {
    const auto is_home = [&](std::string_view home) { return below(file.path, home); };
    if (below(file.path, word.reach) && std::ranges::none_of(word.homes, is_home) &&
        std::regex_search(code, word.word))
      result.push_back(file.path + " " + std::string(word.why));
  }
  return result;
}

/// SPDX line, `#pragma once` for a header, a room sign before the first include, at most 400 lines.
[[nodiscard]] inline Complaints shape_complaints(const File& file) {
  static constexpr std::size_t lines_max = 400;
  Complaints result;
  const std::vector<std::string> lines = lines_of(file.text);
  if (lines.empty() || lines[0] != "// SPDX-License-Identifier: MIT")
    result.push_back(file.path + " does not open with the SPDX line");
  const bool header = file.path.ends_with(".hpp") || file.path.ends_with(".h");
  const auto once = std::ranges::find(lines, "#pragma once");
  if (header && once == lines.end()) result.push_back(file.path + " has no #pragma once");
  const auto sign =
      std::find_if(lines.begin() + std::min<std::ptrdiff_t>(1, std::ssize(lines)), lines.end(),
                   [](const std::string& line) { return !line.empty() && line != "#pragma once"; });
  if (sign == lines.end() || !sign->starts_with("//"))
    result.push_back(file.path + " does not say what lives there");
  if (lines.size() > lines_max)
    result.push_back(file.path + " has " + std::to_string(lines.size()) + " lines");
  return result;
}

[[nodiscard]] inline Complaints complaints(const File& file) {
  Complaints result;
  for (const auto& rule : {include_complaints, core_complaints, sibling_complaints, command_complaints,
                           word_complaints, shape_complaints})
    std::ranges::move(rule(file), std::back_inserter(result));
  return result;
}

}  // namespace rooms
