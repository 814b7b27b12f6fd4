// SPDX-License-Identifier: MIT

// Reads every source file of the repository and holds it against the walls; and holds the walls against
// files that break them, one each.

#include "compile/rooms.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace rooms {
namespace {

std::vector<File> all_files() {
  const std::filesystem::path top = SUBLOCK_SOURCE_DIR;
  std::vector<File> files;
  for (const char* const folder : {"include", "tests", "benchmarks", "examples", "packaging"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".h") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files.push_back({entry.path().lexically_relative(top).generic_string(),
                       {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}});
    }
  return files;
}

TEST(Rooms, AreKept) {
  const std::vector<File> files = all_files();
  ASSERT_GT(files.size(), 10U) << "looked in " SUBLOCK_SOURCE_DIR;
  for (const File& file : files)
    for (const std::string& complaint : complaints(file)) ADD_FAILURE() << complaint;
}

File tidy(std::string path, const std::string& body) {
  return {std::move(path), "// SPDX-License-Identifier: MIT\n#pragma once\n\n// A room.\n\n" + body};
}

TEST(Rooms, HaveNothingAgainstATidyFile) {
  EXPECT_EQ(
      complaints(tidy("include/sublock/core/a.hpp", "#include <sublock/core/b.hpp>\n#include <string>\n")),
      Complaints{});
  EXPECT_EQ(complaints(tidy("include/sublock/redis_lock.hpp", "#include <sublock/transport/hiredis.hpp>\n")),
            Complaints{});
  EXPECT_EQ(complaints(tidy("include/sublock/clock/steady.hpp", "steady_clock::now();\n")), Complaints{});
  EXPECT_EQ(complaints(tidy("include/sublock/core/a.hpp", "// not steady_clock::now()\n")), Complaints{});
}

struct Fault {
  const char* path;
  const char* body;
};

class RoomFaults : public testing::TestWithParam<Fault> {};

TEST_P(RoomFaults, AreSeen) {
  EXPECT_EQ(complaints(tidy(GetParam().path, GetParam().body)).size(), 1U) << GetParam().path << '\n'
                                                                           << GetParam().body;
}

INSTANTIATE_TEST_SUITE_P(
    Planted, RoomFaults,
    testing::Values(
        Fault{"include/sublock/session.hpp", "#include <hiredis/hiredis.h>\n"},
        Fault{"include/sublock/session.hpp", "#include \"hiredis/hiredis.h\"\n"},
        Fault{"include/sublock/basic_redis_lock.hpp", "#include <sublock/transport/hiredis.hpp>\n"},
        Fault{"include/sublock/basic_redis_lock.hpp", "#include <sublock/transport/in_memory.hpp>\n"},
        Fault{"include/sublock/basic_redis_lock.hpp", "#include <sublock/redis_lock.hpp>\n"},
        Fault{"include/sublock/session.hpp", "  #  include <boost/hana.hpp>\n"},
        Fault{"include/sublock/session.hpp", "#include <random>\n"},
        Fault{"examples/tour.hpp", "#include <CLI/CLI.hpp>\n"},
        Fault{"examples/tour.cpp", "#include <sublock/core/holder.hpp>\n"},
        Fault{"examples/tour.cpp", "#include <sublock/transport/hiredis/dial.hpp>\n"},
        Fault{"examples/tour.cpp", "#include <sublock/transport/in_memory/world.hpp>\n"},
        Fault{"packaging/conan/a.cpp", "#include <sublock/core/holder.hpp>\n"},
        Fault{"packaging/conan/a.cpp", "#include <sublock/transport/openssl.hpp>\n"},
        Fault{"packaging/conan/a.cpp", "#include <hiredis/hiredis.h>\n"},
        Fault{"examples/sublock/a.hpp", "#include <sublock/core/holder.hpp>\n"},
        Fault{"examples/sublock/a.hpp", "#include <sublock/transport/hiredis/dial.hpp>\n"},
        Fault{"include/sublock/core/a.hpp", "#include <mutex>\n"},
        Fault{"include/sublock/core/a.hpp", "#include <unistd.h>\n"},
        Fault{"include/sublock/core/a.hpp", "#include <sys/socket.h>\n"},
        Fault{"include/sublock/core/a.hpp", "#include <sublock/session.hpp>\n"},
        Fault{"include/sublock/core/a.hpp", "#include <sublock/clock/steady.hpp>\n"},
        Fault{"include/sublock/reaper/a.hpp", "#include <sublock/election/b.hpp>\n"},
        Fault{"include/sublock/transport/hiredis/a.hpp", "#include <sublock/reaper/never.hpp>\n"},
        Fault{"include/sublock/session.hpp", "auto t = std::chrono::steady_clock::now();\n"},
        Fault{"include/sublock/core/a.hpp", "auto t = std::chrono::system_clock::now();\n"},
        Fault{"include/sublock/session.hpp",
              "std::random_"
              "device d;\n"},
        Fault{"include/sublock/session.hpp",
              "std::this_thread::sleep_"
              "for(1s);\n"},
        Fault{"tests/live/a_test.cpp",
              "std::this_thread::sleep_"
              "until(t);\n"},
        Fault{"tests/live/a_test.cpp",
              "::usle"
              "ep(1);\n"},
        Fault{"include/sublock/session.hpp", "::poll(&p, 1, 0);\n"},
        Fault{"include/sublock/session.hpp", "using namespace sublock;\n"}));

TEST(Rooms, SeeABadShape) {
  EXPECT_EQ(shape_complaints({"tests/a.hpp", ""}).size(), 3U);
  EXPECT_EQ(
      shape_complaints({"tests/a.cpp", "// SPDX-License-Identifier: MIT\n\n#include <string>\n"}).size(), 1U);
  EXPECT_EQ(shape_complaints({"tests/a.hpp", "// SPDX-License-Identifier: MIT\n\n// A room.\n"}).size(), 1U);
  EXPECT_EQ(shape_complaints(tidy("tests/a.hpp", std::string(395, '\n'))).size(), 0U);
  EXPECT_EQ(shape_complaints(tidy("tests/a.hpp", std::string(396, '\n'))).size(), 1U);
}

}  // namespace
}  // namespace rooms
