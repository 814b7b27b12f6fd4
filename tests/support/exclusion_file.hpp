// SPDX-License-Identifier: MIT
#pragma once

// The outside checker of mutual exclusion: a file that can be created only once. Whoever holds the lock
// visits it; a visit that finds it there has met another owner. The lock is never asked.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace support {

/// A path for one contest, shared with the other processes in it. Thread-safe.
class ExclusionFile {
 public:
  ExclusionFile() {
    std::string folder = (std::filesystem::temp_directory_path() / "sublock-exclusion-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
  }
  ExclusionFile(const ExclusionFile&) = delete;
  ExclusionFile& operator=(const ExclusionFile&) = delete;
  ~ExclusionFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path() const { return folder_ + "/owner"; }

  /// Inside the critical section: make it after acquire, end it before release.
  class Visit {
   public:
    explicit Visit(const ExclusionFile& file) : path_(file.path()) {
      const int fd = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
      alone_ = fd >= 0;
      if (alone_) {
        ::close(fd);
      } else {
        std::fprintf(stderr, "OVERLAP: somebody else is in the critical section (%s: %s)\n", path_.c_str(),
                     std::strerror(errno));
      }
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() {
      if (alone_ && ::unlink(path_.c_str()) != 0) {
        std::fprintf(stderr, "OVERLAP: somebody else left the critical section for us (%s)\n", path_.c_str());
        std::abort();
      }
    }

    /// False where two owners met.
    [[nodiscard]] bool alone() const noexcept { return alone_; }

   private:
    std::string path_;
    bool alone_ = false;
  };

 private:
  std::string folder_;
};

}  // namespace support
