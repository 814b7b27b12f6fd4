// SPDX-License-Identifier: MIT
//
// A lock handed between C++ and Python: we hold it while worker.py waits for it with portalocker, it has it
// next, and we go on when it is done. Needs a real server, REDIS_URL's.
//
//   with_python worker.py

#include "../support/server.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

/// The script, and what it says.
class Worker {
 public:
  explicit Worker(const std::string& command) : pipe_(::popen(command.c_str(), "r")) {
    if (pipe_ == nullptr) throw std::runtime_error("can't start " + command);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { end(); }

  /// False if it says something else, or ends.
  bool says(const std::string& word) {
    std::array<char, 80> line{};
    return std::fgets(line.data(), line.size(), pipe_) != nullptr && line.data() == word + "\n";
  }

  /// Waits for its end; true if all went well.
  bool end() {
    std::FILE* const pipe = std::exchange(pipe_, nullptr);
    return pipe != nullptr && ::pclose(pipe) == 0;
  }

 private:
  std::FILE* pipe_;
};

void work(const std::filesystem::path& journal) {
  std::ofstream(journal, std::ios::app) << "C++ begins\nC++ ends\n";
}

bool there_and_back(const std::string& script) {
  const std::string channel = examples::channel_of_our_own("with-python");
  const auto journal = std::filesystem::temp_directory_path() / channel;
  const examples::LiveServer server;
  sublock::RedisLock lock(server.connect(), channel, {.timeout = 30s, .label = "C++"});

  lock.acquire();
  Worker python(script + " " + channel + " " + journal.string());
  if (!python.says("waiting")) return false;
  std::cout << "we hold, Python waits\n";
  work(journal);
  lock.release();
  if (!python.says("working")) return false;
  std::cout << "Python holds, we wait\n";
  lock.acquire();
  std::cout << "we hold again\n";
  work(journal);
  lock.release();

  const bool ended_well = python.end();
  std::ifstream in(journal);
  const std::string read(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(journal);
  return ended_well && read == "C++ begins\nC++ ends\nPython begins\nPython ends\nC++ begins\nC++ ends\n";
}

}  // namespace

int main(int count, char** words) {
  return examples::exit_status([&] { return there_and_back(count > 1 ? words[1] : "./worker.py"); });
}
