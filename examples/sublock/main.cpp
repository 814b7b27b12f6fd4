// SPDX-License-Identifier: MIT
//
// sublock: flock(1) across machines. Only the choice of the verb is here, and what becomes of an error; each verb
// has a room of its own, and sublock.1 is the manual.

#include "bench.hpp"
#include "doctor.hpp"
#include "run.hpp"
#include "status.hpp"
#include "watch.hpp"
#include "who.hpp"
#include "words.hpp"

#include <array>
#include <exception>
#include <iostream>
#include <string_view>

namespace command {
namespace {

struct Verb {
  std::string_view name;
  const char* what_it_does;
  int (*start)(const Words&);
};

constexpr std::array verbs{
    Verb{"run", "run a command while holding a lock", run},
    Verb{"who", "say who has a lock and who waits for it, and since when", who},
    Verb{"watch", "the same, as it goes on", watch},
    Verb{"doctor", "look at a server, its settings and your rights, as locks depend on them", doctor},
    Verb{"bench", "measure what a lock costs against this server", bench},
};

void help(std::ostream& out) {
  out << "A lock that many machines share, held on a Redis server.\n\nUsage: sublock VERB ...\n\n";
  std::vector<Words> rows;
  for (const Verb& verb : verbs) rows.push_back({"  sublock " + std::string(verb.name), verb.what_it_does});
  for (const std::string& line : aligned(rows)) out << line << '\n';
  out << "\nsublock VERB --help says more, and sublock(1) says all." << std::endl;
}

int start(const Words& words) {
  const std::string_view first = words.empty() ? "" : std::string_view(words[0]);
  if (first == "-h" || first == "--help") {
    help(std::cout);
    return done;
  }
  if (first == "-V" || first == "--version") {
    std::cout << "sublock " << sublock::version << std::endl;
    return done;
  }
  for (const Verb& verb : verbs) {
    if (verb.name == first) return verb.start({words.begin() + 1, words.end()});
  }
  if (!first.empty()) say("there is no verb " + words[0]);
  help(std::cerr);
  return usage;
}

}  // namespace
}  // namespace command

int main(int argc, char** argv) {
  try {
    return command::start({argv + 1, argv + argc});
  } catch (const command::UsageError& error) {
    command::say(error.what());
    return command::usage;
  } catch (const sublock::LockError& error) {
    command::say(error.what());
    return command::status_of(error.kind());
  } catch (const std::exception& error) {
    command::say(error.what());
    return command::system_error;
  }
}
