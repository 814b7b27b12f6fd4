// SPDX-License-Identifier: MIT

// Runs the rows through Google Benchmark and prints one table. Within a row the entries take turns in
// random order, many times, so that a machine with other work to do slows all of them alike; figures are
// medians.

#include "helper.hpp"
#include "plain.hpp"
#include "row.hpp"

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr const char* figure = "figure";

/// Collects the figures of each entry, by its name.
class Figures final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration)
        all_[run.run_name.function_name].push_back(run.counters.at(figure).value);
    }
  }
  [[nodiscard]] double median_of(const Entry& entry) const { return median(all_.at(entry.name)); }

 private:
  std::map<std::string, std::vector<double>> all_;
};

/// "18.3 us", with as many digits as it deserves.
std::string shown(double value, const std::string& unit) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(value < 100 ? 2 : 0) << value << ' ' << unit;
  return text.str();
}

void print_line(const std::string& what, const std::string& floor, const std::string& ours,
                const std::string& ratio, const std::string& goal) {
  std::cout << std::left << std::setw(52) << what << std::right << std::setw(13) << floor << std::setw(13)
            << ours << std::setw(8) << ratio << (goal.empty() ? "" : "  ") << goal << std::endl;
}

void print(const Row& row, const std::string& what, double floor, double ours, bool judged) {
  const double ratio = ours / floor;
  std::string goal;
  if (judged && row.goal.kind != Goal::Kind::none) {
    goal = (row.goal.kind == Goal::Kind::at_most ? "at most " : "at least ") + shown(row.goal.ratio, "") +
           (row.goal.met(ratio) ? " met" : " NOT MET");
  }
  print_line(what, shown(floor, row.unit), shown(ours, row.unit), shown(ratio, ""), goal);
}

/// Runs one row; `repeats_max` bounds how often.
void measure(const Row& row, int repeats_max) {
  const std::vector<Entry> entries = row.entries();
  for (const Entry& entry : entries) {
    const auto once = [&entry](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) {
        const double value = entry.run();
        state.counters[figure] = value;
        state.SetIterationTime(1e-6 * std::max(value, 1e-3));
      }
    };
    benchmark::RegisterBenchmark(entry.name.c_str(), once)
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(std::min(row.repeats, repeats_max));
  }
  Figures figures;
  benchmark::RunSpecifiedBenchmarks(&figures, ".");
  benchmark::ClearRegisteredBenchmarks();
  const double floor = figures.median_of(entries.front());
  for (std::size_t at = 1; at < entries.size(); ++at) {
    const bool ours = at + 1 == entries.size();
    print(row, ours ? row.what : "    " + entries[at].name, floor, figures.median_of(entries[at]), ours);
  }
}

int measure_all(const Server& server, const std::regex& wanted, int repeats_max) {
  std::vector<Row> rows = core_step();
  for (const auto& subject : {uncontended, hand_over, presence, many_locks}) {
    for (Row& row : subject(server)) rows.push_back(std::move(row));
  }
  for (const auto& subject : {cluster, majority}) {
    for (Row& row : subject()) rows.push_back(std::move(row));
  }
  print_line("what", "floor", "ours", "ratio ", "goal");
  for (const Row& row : rows) {
    if (std::regex_search(row.what, wanted)) measure(row, repeats_max);
  }
  print_costs();
  return 0;
}

int play(const std::string& role, const Server& server, const std::vector<std::string>& words) {
  roles().at(role)(Talk(STDIN_FILENO), server, words);
  return 0;
}

/// A thousand connections are more than what a process may have unasked.
void allow_many_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr const char* usage =
    "usage: sublock-benchmarks PORT [--rows REGEX] [--repeats-max N]\n"
    "Measures against the Redis at 127.0.0.1:PORT, which must have nothing "
    "else to do.\n";

int run(const std::vector<std::string>& words) {
  allow_many_descriptors();
  Server server;
  if (words.size() > 2 && words[0] == "--role") {
    server.port = std::stoi(words[2]);
    return play(words[1], server, {words.begin() + 3, words.end()});
  }
  if (words.size() % 2 != 1) throw std::invalid_argument(usage);
  server.port = std::stoi(words[0]);
  std::string rows = ".";
  int repeats_max = 1'000'000;
  for (std::size_t at = 1; at < words.size(); at += 2) {
    if (words[at] == "--rows") {
      rows = words[at + 1];
    } else if (words[at] == "--repeats-max") {
      repeats_max = std::stoi(words[at + 1]);
    } else {
      throw std::invalid_argument(usage);
    }
  }
  std::string flags[] = {"sublock-benchmarks", "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> argv{flags[0].data(), flags[1].data()};
  int argc = 2;
  benchmark::Initialize(&argc, argv.data());
  return measure_all(server, std::regex(rows), repeats_max);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
