// SPDX-License-Identifier: MIT
//
// Readers and a writer: a configuration of two files that must fit together. Many read at the same time; while one
// rebuilds it, they wait, and nobody ever sees the one file new and the other old.
//
//   readers_and_writer             in a folder of its own
//   readers_and_writer FOLDER      in that one, which others may be using as well: start several

#include "support/server.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <vector>

namespace {

struct Configuration {
  int hosts = 0;  ///< the version of each file, which is all that is in it
  int routes = 0;
};

int read_file(const std::filesystem::path& path) {
  int version = 0;
  std::ifstream(path) >> version;
  return version;
}

void write_file(const std::filesystem::path& path, int version) {
  if (!(std::ofstream(path) << version << std::endl))
    throw std::runtime_error("can't write " + path.string());
}

template <class Lock>
Configuration read(Lock& lock, const std::filesystem::path& folder) {
  const std::shared_lock held(lock);
  const Configuration read{read_file(folder / "hosts"), read_file(folder / "routes")};
  lock.ensure_held();  // before it is used: whoever had lost the lock may have read the half of something new
  return read;
}

/// Whoever waits here keeps new readers out, so that they can't starve it.
template <class Lock>
void rebuild(Lock& lock, const std::filesystem::path& folder) {
  const std::unique_lock held(lock);
  const int version = read_file(folder / "hosts") + 1;
  write_file(folder / "hosts", version);
  lock.ensure_held();  // somebody else may be rebuilding it otherwise
  write_file(folder / "routes", version);
}

bool serve(auto& server, const std::filesystem::path& folder, const std::string& channel) {
  using Lock = typename std::remove_reference_t<decltype(server)>::Lock;
  constexpr int readers = 3;
  constexpr int rebuilds = 10;
  std::atomic<int> reads = 0;
  std::stop_source rebuilt;
  std::vector<std::future<int>> results;
  for (int reader = 0; reader < readers; ++reader) {
    results.push_back(std::async(std::launch::async, [&] {
      Lock lock(server.connect(), channel, {.label = "reader"});
      int torn = 0;
      while (!rebuilt.stop_requested()) {
        const Configuration seen = read(lock, folder);
        ++reads;
        if (seen.hosts != seen.routes) ++torn;
      }
      return torn;
    }));
  }
  auto writer = std::async(std::launch::async, [&] {
    Lock lock(server.connect(), channel, {.label = "writer"});
    for (int time = 0; time < rebuilds; ++time) rebuild(lock, folder);
  });
  writer.wait();
  rebuilt.request_stop();
  writer.get();  // throws what has been thrown there
  int all_torn = 0;
  for (auto& result : results) all_torn += result.get();
  std::cout << readers << " readers read it " << reads << " times while it was rebuilt " << rebuilds
            << " times; " << all_torn << " times its files didn't fit together\n";
  return all_torn == 0 && reads > 0 && read_file(folder / "routes") >= rebuilds;
}

}  // namespace

int main(int count, char** words) {
  return examples::on_a_server([&](auto& server) {
    if (count > 1) return serve(server, words[1], "configuration");
    const std::string channel = examples::channel_of_our_own("configuration");
    const auto folder = std::filesystem::temp_directory_path() / channel;
    std::filesystem::create_directory(folder);
    const bool right = serve(server, folder, channel);
    std::filesystem::remove_all(folder);
    return right;
  });
}
