// SPDX-License-Identifier: MIT

// --help, the manual and the completion are written by hand, all three: here they are held against each other, and
// the completion is tried in bash. What CLI11 knows is what --help shows.

#include <command/command.hpp>

#include <map>
#include <regex>
#include <set>

namespace support {
namespace {

constexpr const char* verbs[] = {"run", "who", "watch", "doctor", "bench"};

using Options = std::set<std::string>;

std::string text_of(const std::string& name) {
  std::ifstream file(SUBLOCK_SOURCE_DIR "/examples/sublock/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ManualCommand : public Command {
 protected:
  /// "-x", "--exclusive": all that a verb takes.
  Options options_of(const std::string& verb) const {
    Options options;
    auto help = sublock(verb, {"--help"});
    EXPECT_EQ(help.exit_status(), 0) << help.transcript();
    for (const std::string& line : help.lines()) {
      std::smatch list;
      if (!std::regex_search(line, list, std::regex("^  (-[^ ]+)"))) continue;
      std::istringstream words(list[1].str());
      for (std::string word; std::getline(words, word, ',');) options.insert(word);
    }
    return options;
  }

  /// What the manual says of a verb, and of all.
  static std::string section_of(const std::string& verb) {
    const std::string manual = text_of("sublock.1");
    const auto from = [&manual](const std::string& title) {
      const auto start = manual.find("\n.Ss " + title + "\n");
      EXPECT_NE(start, std::string::npos) << title;
      return start == std::string::npos ? "" : manual.substr(start, manual.find("\n.S", start + 4) - start);
    };
    return from("sublock " + verb) + from("All of them");
  }

  /// The exit statuses that the manual has for a verb: those that are said to be of it, or of nobody in particular.
  static Options statuses_of(const std::string& verb) {
    const std::string manual = text_of("sublock.1");
    const auto start = manual.find("\n.Sh EXIT STATUS\n");
    std::istringstream lines(manual.substr(start, manual.find("\n.El\n", start) - start));
    std::map<std::string, Options> verbs_of;
    std::string status;
    std::string before;
    for (std::string line; std::getline(lines, line); before = line) {
      if (line.starts_with(".It ")) verbs_of[status = line.substr(4)];
      if (line.starts_with(".Cm ") && line.ends_with(" :") &&
          std::regex_search(before, std::regex("\\b[Oo]f$")))
        verbs_of[status].insert(line.substr(4, line.size() - 6));
    }
    Options statuses;
    for (const auto& [number, whose] : verbs_of)
      if (whose.empty() || whose.contains(verb)) statuses.insert(number);
    return statuses;
  }

  /// What bash would offer for the last of the words.
  static Options offers(const std::string& words) {
    Process bash(
        {"bash", "-c",
         "source " SUBLOCK_SOURCE_DIR "/examples/sublock/sublock.bash; COMP_WORDS=(" + words +
             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _sublock; printf '%s\\n' \"${COMPREPLY[@]}\""});
    EXPECT_EQ(bash.exit_status(), 0) << bash.transcript();
    EXPECT_EQ(bash.errors(), "");
    Options offered(bash.lines().begin(), bash.lines().end());
    offered.erase("");
    return offered;
  }
};

TEST_F(ManualCommand, ExplainsEveryOptionAndNoOther) {
  for (const std::string verb : verbs) {
    Options explained;
    std::istringstream lines(section_of(verb));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(".It Fl ")) continue;
      std::istringstream words(line.substr(7));
      for (std::string word; words >> word && word != "Ar";)
        if (word != ",") explained.insert("-" + word);
    }
    EXPECT_EQ(explained, options_of(verb)) << verb;
  }
}

TEST_F(ManualCommand, CompletesEveryOptionAndNoOther) {
  for (const std::string verb : verbs) EXPECT_EQ(offers("sublock " + verb + " -"), options_of(verb)) << verb;
}

TEST_F(ManualCommand, ExplainsEveryExitStatusAndNoOther) {
  for (const std::string verb : verbs) {
    Options statuses;
    auto help = sublock(verb, {"--help"});
    EXPECT_EQ(help.exit_status(), 0);
    for (const std::string& line : help.lines()) {
      std::smatch status;
      if (std::regex_search(line, status, std::regex("^  ([0-9]+) "))) statuses.insert(status[1].str());
    }
    EXPECT_EQ(statuses_of(verb), statuses) << verb;
  }
}

TEST_F(ManualCommand, HasEveryVerbEverywhere) {
  auto help = sublock_with({}, {"--help"});
  EXPECT_EQ(help.exit_status(), 0);
  Options known{"-h", "--help", "-V", "--version"};
  for (const std::string& line : help.lines()) {
    std::smatch verb;
    if (std::regex_search(line, verb, std::regex("^  sublock ([a-z]+) "))) known.insert(verb[1].str());
  }
  EXPECT_EQ(known.size(), 4 + std::size(verbs));
  EXPECT_EQ(offers("sublock ''"), known);
  const std::string manual = text_of("sublock.1");
  for (const std::string verb : verbs) {
    EXPECT_TRUE(known.contains(verb));
    EXPECT_NE(manual.find(".Nm\n.Cm " + verb + "\n"), std::string::npos) << "in the synopsis: " << verb;
  }
  EXPECT_EQ(sublock_with({}, {"--version"}).exit_status(), 0);
  EXPECT_EQ(sublock_with({}, {"run", "-V"}).exit_status(), 0);
  EXPECT_EQ(sublock_with({}, {}).exit_status(), 64);
  EXPECT_EQ(sublock_with({}, {"dance"}).exit_status(), 64);
}

// Every value that is offered is one that is taken.
TEST_F(ManualCommand, CompletesValuesChannelsAndCommands) {
  EXPECT_EQ(offers("sublock w"), (Options{"watch", "who"}));
  const Options ways = {"term", "kill", "warn"};
  EXPECT_EQ(offers("sublock run --on-loss ''"), ways);
  EXPECT_EQ(offers("sublock run --on-loss = ''"), ways);
  EXPECT_EQ(offers("sublock run --on-loss = k"), Options{"kill"});
  for (const std::string& way : ways) EXPECT_EQ(run({"--on-loss", way, "c", "true"}).exit_status(), 0);
  EXPECT_EQ(offers("sublock who --redis r"), (Options{"redis://", "rediss://", "redis+sentinel://"}));
  EXPECT_TRUE(offers("sublock who --password-file /etc/host").contains("/etc/hosts"));
  EXPECT_EQ(offers("sublock run -w ''"), Options{}) << "a number";
  EXPECT_EQ(offers("sublock run ''"), Options{}) << "a channel";
  for (const char* const before :
       {"c", "c --", "-- c", "-w 3 c", "--label = x c", "--redis redis : //h : 1 c", "a : b"})
    EXPECT_EQ(offers(std::string("sublock run ") + before + " setsi"), Options{"setsid"}) << before;
  EXPECT_TRUE(offers("sublock run c cat /etc/host").contains("/etc/hosts"));
}

}  // namespace
}  // namespace support
