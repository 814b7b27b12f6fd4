// SPDX-License-Identifier: MIT

// Whatever README shows as code is code: C++ is compiled and run, what it says does not compile does not, and what
// goes into a shell, to Python or to Redis goes there.

#include <gtest/gtest.h>

#include <pages/page.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/lock_all.hpp>
#include <sublock/redis_cluster_lock.hpp>
#include <sublock/redis_getlock.hpp>
#include <sublock/redis_lock.hpp>
#include <sublock/redis_majority_lock.hpp>
#include <sublock/redis_shared_ear_lock.hpp>
#include <sublock/transport/in_memory.hpp>
#include <sublock/transport/openssl.hpp>
#include <support/authority.hpp>
#include <support/eventually.hpp>
#include <support/live_redis.hpp>
#include <support/process.hpp>

#include <cassert>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace pages {
namespace {

using namespace std::chrono_literals;
using Connection = std::shared_ptr<sublock::HiredisTransport>;

struct CppBlock {
  int line;
  const char* heading;
  void (*run)(const Connection& connection);

  friend std::ostream& operator<<(std::ostream& out, const CppBlock& block) {
    return out << block.heading << ", line " << block.line;
  }
};

// --- what the blocks take for granted ------------------------------------------------------------

std::string url, tls_url, watched_url, ca_file;
std::string here() { return url; }
std::string tls_here() { return tls_url; }
std::string watched_here() { return watched_url; }
/// A cluster of one node, for whoever needs it.
std::string cluster_here() {
  const static std::unique_ptr<support::LiveRedis> node = [] {
    auto alone = std::make_unique<support::LiveRedis>(std::vector<std::string>{"--cluster-enabled", "yes"});
    alone->command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    EXPECT_TRUE(support::eventually([&] {
      return alone->command({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    }));
    return alone;
  }();
  return "redis+cluster" + node->url().substr(node->url().find(':'));
}
Connection first, second, third;
std::stop_source stopping;
int rows = 0;
int imports = 0;

void import_everything(const std::stop_token& lost) { imports += lost.stop_requested() ? 0 : 1; }
void move_money(const std::stop_token& lost) { EXPECT_FALSE(lost.stop_requested()); }
bool rows_are_left() { return rows > 0; }
void write_a_row() { --rows; }
std::int64_t last_token = 0;
void write_with_token(std::int64_t token) {
  EXPECT_GT(token, last_token);
  last_token = token;
}

#include <readme_cpp_blocks.inc>

// --- C++ -----------------------------------------------------------------------------------------

class Readme : public ::testing::Test {
 protected:
  support::LiveRedis server;
};

class ReadmeCpp : public Readme, public ::testing::WithParamInterface<CppBlock> {};

TEST_P(ReadmeCpp, RunsOnARealServer) {
  const support::LiveRedis others[2];
  support::Authority authority;
  authority.issue("server", "IP:127.0.0.1");
  url = server.url();
  tls_url = support::encipher(server, authority, "server");
  ca_file = authority.certificate();
  const support::LiveRedis sentinel(
      {"--sentinel"}, "sentinel monitor mymaster 127.0.0.1 " + std::to_string(server.port()) + " 1\n");
  watched_url = "redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/mymaster";
  first = sublock::connect(url);
  second = sublock::connect(others[0].url());
  third = sublock::connect(others[1].url());
  rows = 3;
  imports = 0;
  GetParam().run(sublock::connect(url));
  EXPECT_EQ(server.subscribers("report"), 0) << "nothing is left behind";
}

INSTANTIATE_TEST_SUITE_P(Blocks, ReadmeCpp, ::testing::ValuesIn(cpp_blocks),
                         [](const auto& block) { return "AtLine" + std::to_string(block.param.line); });

/// Runs it in a folder of its own, where `files` are, with the server's address in its environment.
support::Process in_folder(const std::filesystem::path& folder, const std::string& server,
                           std::vector<std::string> argv) {
  std::vector<std::string> all = {"env", "-C", folder.string(), "REDIS_URL=" + server,
                                  "PATH=" + std::filesystem::path(SUBLOCK_COMMAND).parent_path().string() +
                                      ':' + std::string(std::getenv("PATH"))};
  all.insert(all.end(), argv.begin(), argv.end());
  return support::Process(std::move(all));
}

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "sublock-pages-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
    path = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }

  std::filesystem::path path;
};

TEST_F(Readme, WhatItSaysDoesNotCompileDoesNot) {
  const std::regex pattern(R"((.*?)\s*// ❌.*"(.*)\".*)");
  int tried = 0;
  for (const Block& block : blocks_of("README.md", "cpp")) {
    for (const std::string& line : block.lines) {
      std::smatch found;
      if (!std::regex_match(line, found, pattern)) {
        EXPECT_EQ(line.find("❌"), std::string::npos) << "no reason in quotes: " << line;
        continue;
      }
      const Scratch scratch;
      scratch.write("no.cpp",
                    "#include <sublock/basic_redis_lock.hpp>\nvoid no() { " + found.str(1) + " }\n");
      support::Process compiler({SUBLOCK_CXX, "-std=c++20", "-fsyntax-only",
                                 "-I" SUBLOCK_SOURCE_DIR "/include", (scratch.path / "no.cpp").string()});
      EXPECT_NE(compiler.exit_status(60s), 0) << line;
      EXPECT_NE(compiler.transcript().find(found.str(2)), std::string::npos) << compiler.transcript();
      ++tried;
    }
  }
  EXPECT_GE(tried, 1);
}

// --- everything else -------------------------------------------------------------------------------

TEST_F(Readme, EveryBlockIsOfAKindThatIsTried) {
  const std::set<std::string> tried{"cpp", "sh", "cmake", "python", "redis"};
  for (const Block& block : blocks_of("README.md")) EXPECT_TRUE(tried.contains(block.kind)) << block;
}

/// Scripts of this repository are there and parse: `tests/run` runs this very test, so it can't run here.
TEST_F(Readme, WhatGoesIntoAShellRuns) {
  const Scratch scratch;
  scratch.write("import", "#!/bin/sh\necho \"imported $*\"\n");
  std::filesystem::permissions(scratch.path / "import", std::filesystem::perms::owner_all);
  for (const Block& block : blocks_of("README.md", "sh")) {
    for (const std::string& line : block.lines) {
      std::smatch script;
      if (std::regex_match(line, script, std::regex("(?:[A-Z_]+=[^ ]* )?bash ([^ ]+).*"))) {
        support::Process parse({"bash", "-n", SUBLOCK_SOURCE_DIR "/" + script.str(1)});
        EXPECT_EQ(parse.exit_status(), 0) << line;
      } else if (line.starts_with("sublock watch ")) {  // it goes on until somebody has seen enough
        auto holder = in_folder(scratch.path, server.url(), {"sublock", "run", "nightly-import"});
        holder.expect_line("nightly-import");
        auto watch = in_folder(scratch.path, server.url(), {"bash", "-c", "exec " + line});
        watch.expect_line("holds");
        watch.signal(SIGINT);
        EXPECT_EQ(watch.exit_status(), 128 + SIGINT) << watch.transcript();
      } else if (line.starts_with("sublock ")) {
        auto shell = in_folder(scratch.path, server.url(), {"bash", "-c", line});
        EXPECT_LE(shell.exit_status(30s), 1) << line << '\n' << shell.transcript();  // 1: nobody holds it
      } else if (std::regex_match(line, script,
                                  std::regex("(?:[A-Z_]+=[^ ]* )*build/tests/sublock_(\\w+)_tests.*"))) {
        EXPECT_TRUE(std::filesystem::is_directory(SUBLOCK_SOURCE_DIR "/tests/" + script.str(1))) << line;
      } else {
        ADD_FAILURE() << "nobody knows how to try this: " << line;
      }
    }
  }
}

/// In somebody else's project, with what is installed from here.
TEST_F(Readme, WhatIsCMakeConfigures) {
  const Scratch scratch;
  const std::string prefix = (scratch.path / "prefix").string();
  support::Process install({"cmake", "--install", SUBLOCK_BUILD_DIR, "--prefix", prefix});
  ASSERT_EQ(install.exit_status(30s), 0) << install.transcript();
  scratch.write("app.cpp", "int main() {}\n");
  for (const Block& block : blocks_of("README.md", "cmake")) {
    scratch.write("CMakeLists.txt",
                  "cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\nadd_executable(app app.cpp)\n" +
                      block.text());
    support::Process configure({"cmake", "-S", scratch.path.string(), "-B", (scratch.path / "build").string(),
                                "-DCMAKE_PREFIX_PATH=" + prefix});
    EXPECT_EQ(configure.exit_status(60s), 0) << configure.transcript();
  }
}

TEST_F(Readme, WhatIsPythonRuns) {
  for (const Block& block : blocks_of("README.md", "python")) {
    const Scratch scratch;
    scratch.write("block.py", block.text());
    auto python = in_folder(scratch.path, server.url(), {"/usr/bin/python3", "block.py"});
    EXPECT_EQ(python.exit_status(30s), 0) << python.transcript();
  }
}

}  // namespace
}  // namespace pages
