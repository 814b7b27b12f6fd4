// SPDX-License-Identifier: MIT

// Two programs try without waiting, at the same instant. Whoever uses a lock expects exactly one winner.

#include <cases/cases.hpp>

#include <sublock/redis_lock.hpp>

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>

namespace support {
namespace {

class TryLock : public Cases {
 protected:
  using Lock = sublock::RedisLock;

  struct Try {
    bool got = false;
    double took = 0;
  };

  /// On fresh channels, connections warm, off a barrier: much closer together than processes start.
  void expect_one_winner(const std::vector<sublock::LockMode>& modes) {
    std::vector<std::shared_ptr<sublock::HiredisTransport>> connections;
    for (std::size_t i = 0; i < modes.size(); ++i) connections.push_back(sublock::connect(server.url()));
    for (int round = 0; round < 100; ++round) {
      const std::string channel = "tp-" + std::to_string(round);
      std::barrier start(static_cast<std::ptrdiff_t>(modes.size()));
      std::barrier all_tried(static_cast<std::ptrdiff_t>(modes.size()));
      std::vector<Try> tries(modes.size());
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < modes.size(); ++i) {
        threads.emplace_back([&, i] {
          Lock lock(connections[i], channel);
          start.arrive_and_wait();
          const double begun = now();
          const bool shared = modes[i] == sublock::LockMode::shared;
          tries[i].got = shared ? lock.try_lock_shared() : lock.try_lock();
          tries[i].took = now() - begun;
          all_tried.arrive_and_wait();
        });
      }
      threads.clear();
      const auto winners = std::ranges::count_if(tries, &Try::got);
      ASSERT_EQ(winners, 1) << "round " << round;
      for (const Try& one : tries) EXPECT_LE(one.took, 2 * U + 0.5);
    }
    EXPECT_EQ(server.kills(), 0);
  }

  /// The same with programs, which start about together.
  void expect_one_winner_of_drivers(const std::vector<std::string>& modes) {
    for (int round = 0; round < scaled(5, 100); ++round) {
      const std::string channel = "td-" + std::to_string(round);
      std::vector<std::unique_ptr<Process>> drivers;
      for (const std::string& mode : modes) {
        std::vector<std::string> words = {"try", "hold=60", "overlap=in:" + channel};
        if (!mode.empty()) words.push_back(mode);
        drivers.push_back(std::make_unique<Process>(argv(channel, words)));
      }
      std::size_t winners = 0;
      for (const auto& driver : drivers) {
        const double tried = stamp_of(driver->expect_line(" TRY$"));
        const auto line = driver->expect_line(" (GOT|FAILED busy)");
        EXPECT_LE(stamp_of(line) - tried, 2 * U + 0.5);
        winners += line.ends_with(" GOT") ? 1 : 0;
      }
      ASSERT_EQ(winners, 1u) << "round " << round;
      for (const auto& driver : drivers) {
        driver->signal(SIGTERM);
        driver->exit_status();
        EXPECT_EQ(count(*driver, "OVERLAP"), 0) << driver->transcript();
      }
    }
    EXPECT_EQ(server.kills(), 0);
  }

  std::vector<std::string> argv(const std::string& channel, const std::vector<std::string>& words) const {
    std::vector<std::string> all = {SUBLOCK_DRIVER, "lock", channel, "port=" + std::to_string(server.port())};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
};

constexpr auto writer = sublock::LockMode::exclusive;
constexpr auto reader = sublock::LockMode::shared;

TEST_F(TryLock, OfTwoWritersExactlyOneWins) { expect_one_winner({writer, writer}); }

TEST_F(TryLock, OfThreeWritersExactlyOneWins) { expect_one_winner({writer, writer, writer}); }

TEST_F(TryLock, OfEightWritersExactlyOneWins) { expect_one_winner(std::vector(8, writer)); }

TEST_F(TryLock, OfAWriterAndAReaderExactlyOneWins) { expect_one_winner({writer, reader}); }

TEST_F(TryLock, OfTwoProgramsExactlyOneWins) { expect_one_winner_of_drivers({"", ""}); }

TEST_F(TryLock, OfThreeProgramsExactlyOneWins) { expect_one_winner_of_drivers({"", "", ""}); }

TEST_F(TryLock, OfAWritingAndAReadingProgramExactlyOneWins) { expect_one_winner_of_drivers({"", "shared"}); }

}  // namespace
}  // namespace support
