// SPDX-License-Identifier: MIT

// Streams of readers while a writer waits, streams of writers while readers wait: everybody gets his turns.

#include <cases/cases.hpp>

#include <iostream>
#include <map>
#include <memory>

namespace support {
namespace {

class Starvation : public Cases {
 protected:
  struct Contender {
    std::vector<std::string> words;
    long turns = 0;        ///< that it must get at least
    double patience = 10;  ///< that it may need at most for one of them
  };

  /// All of them in a loop, at once, for `seconds`.
  void contend(const std::map<std::string, std::pair<int, Contender>>& kinds, double seconds) {
    std::vector<std::pair<std::unique_ptr<Process>, const Contender*>> drivers;
    for (const auto& [name, kind] : kinds) {
      for (int i = 0; i < kind.first; ++i) {
        std::vector<std::string> argv = {
            SUBLOCK_DRIVER, "lock", "st", "loop", "port=" + std::to_string(server.port()), "label=" + name};
        argv.insert(argv.end(), kind.second.words.begin(), kind.second.words.end());
        drivers.emplace_back(std::make_unique<Process>(std::move(argv)), &kind.second);
      }
    }
    const auto calm = [&] {
      return std::ranges::none_of(drivers, [](const auto& driver) {
        return count(*driver.first, "LOST") + count(*driver.first, "OVERLAP") > 0;
      });
    };
    EXPECT_TRUE(throughout(span(seconds), calm));
    for (const auto& [driver, kind] : drivers) driver->signal(SIGTERM);
    for (const auto& [driver, kind] : drivers) {
      EXPECT_EQ(driver->exit_status(), 0) << driver->transcript().substr(0, 2000);
      EXPECT_GE(count(*driver, "GOT"), kind->turns) << driver->transcript().substr(0, 2000);
      const double longest = longest_wait(*driver);
      EXPECT_LE(longest, kind->patience) << driver->transcript().substr(0, 2000);
      std::cout << "GOT " << count(*driver, "GOT") << ", longest wait " << longest << " s, FAILED "
                << count(*driver, "FAILED") - 1 << '\n';
    }
    EXPECT_TRUE(calm());
    EXPECT_EQ(server.kills(), 0);
    EXPECT_EQ(server.subscribers("st"), 0);
  }

  /// From the first TRY after a hold to the next GOT, however many tries lie between.
  static double longest_wait(Process& driver) {
    double longest = 0;
    double since = 0;
    for (const std::string& line : driver.lines()) {
      if (line.ends_with(" TRY") && since == 0) since = stamp_of(line);
      if (!line.ends_with(" GOT")) continue;
      longest = std::max(longest, stamp_of(line) - since);
      since = 0;
    }
    return longest;
  }
};

TEST_F(Starvation, AWriterGetsInBetweenReadersThatComeAndGo) {
  contend({{"reader", {6, {{"shared", "hold=0.3", "wait=30"}, 0, 60}}},
           {"writer", {1, {{"wait=10", "hold=0.05", "overlap=in:st"}, 3, 10}}}},
          scaled(8.0, 30.0));
}

TEST_F(Starvation, ReadersGetInBetweenWritersThatComeAndGo) {
  contend({{"reader", {2, {{"shared", "hold=0.002", "wait=30"}, 3, 60}}},
           {"writer", {4, {{"hold=0.002", "wait=30", "overlap=in:st"}, 3, 60}}}},
          scaled(10.0, 30.0));
}

TEST_F(Starvation, ReadersDoNotKeepEachOtherOut) {
  contend({{"reader", {6, {{"shared", "hold=0.05", "wait=30"}, 20, 10}}}}, scaled(4.0, 30.0));
}

TEST_F(Starvation, WritersTakeTurns) {
  contend({{"writer", {3, {{"hold=0.002", "wait=30", "overlap=in:st"}, 20, 30}}}}, scaled(8.0, 30.0));
}

}  // namespace
}  // namespace support
