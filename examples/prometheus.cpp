// SPDX-License-Identifier: MIT
//
// Metrics: turns what locks tell their observer into Prometheus' text format, for a server to return at /metrics or
// for a file that node_exporter collects. Here it is printed.

#include "support/server.hpp"

#include <sublock/observation.hpp>

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

/// Counts for any number of locks, of both kinds, which it must outlive. Thread-safe, as an observer has to be.
class LockMetrics {
 public:
  [[nodiscard]] sublock::Observer observer() {
    return [this](const sublock::Observation& seen) { count(seen); };
  }

  [[nodiscard]] std::string text() const {
    const std::lock_guard guard(mutex_);
    std::string out;
    write(out, "sublock_attempts_total", "counter", "Attempts that ended, by how they did.", attempts_);
    write(out, "sublock_waits_total", "counter", "Attempts that met somebody and waited.", waits_);
    write(out, "sublock_holds_total", "counter", "Holds that ended, by how they did.", holds_);
    write(out, "sublock_incidents_total", "counter", "What an operator should look at.", incidents_);
    write(out, "sublock_trying", "gauge", "Attempts under way.", trying_);
    write(out, "sublock_held", "gauge", "Locks that are held.", held_);
    write(out, "sublock_wait_seconds", "From the attempt until the lock was had, or given up.", wait_times_);
    write(out, "sublock_hold_seconds", "How long locks were held.", hold_times_);
    write(out, "sublock_probe_seconds", "How long the answer to `who has it?` took.", probe_times_);
    return out;
  }

 private:
  /// Series are found by their labels, as they are written.
  using Numbers = std::map<std::string, double>;
  struct Histogram {
    static constexpr std::array bounds{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0};

    void add(sublock::core::Duration took) {
      const double seconds = std::chrono::duration<double>(took).count();
      std::size_t bucket = 0;
      while (bucket < bounds.size() && seconds > bounds.at(bucket)) ++bucket;
      ++counts.at(bucket);
      sum += seconds;
    }

    std::array<std::uint64_t, bounds.size() + 1>
        counts{};  ///< each for itself; the last is beyond all bounds
    double sum = 0;
  };
  using Histograms = std::map<std::string, Histogram>;

  void count(const sublock::Observation& seen) {
    using enum sublock::Observation::Kind;
    const std::lock_guard guard(mutex_);
    const std::string lock = label("lock", name_within_reason(seen.name));
    const std::string labels = lock + "," + label("mode", name_of(seen.mode));
    const auto end_attempt = [&](std::string_view outcome) {
      --trying_[labels];
      ++attempts_[labels + "," + label("outcome", outcome)];
      wait_times_[labels].add(seen.took);
    };
    switch (seen.kind) {
      case attempt:
        ++trying_[labels];
        // A rate can only be taken of a series that was there before its first event.
        for (const auto end : {released, handed_over, lost})
          holds_[labels + "," + label("end", name_of(end))];
        return;
      case wait: ++waits_[labels]; return;
      case got: end_attempt("got"), ++held_[labels]; return;
      case not_got: return end_attempt(name_of(seen.code));
      case released:
      case handed_over:
      case lost:
        --held_[labels];
        ++holds_[labels + "," + label("end", name_of(seen.kind))];
        return hold_times_[labels].add(seen.took);
      case probe: return probe_times_[lock].add(seen.took);
      case reaped:
      case stranger:
      case warning: ++incidents_[lock + "," + label("kind", name_of(seen.kind))]; return;
    }
  }

  /// Each series costs Prometheus memory for as long as it keeps data. Where locks are named by customer or by file,
  /// label them by what they are for instead. A holder's id or pid is never a label.
  std::string_view name_within_reason(const std::string& name) {
    constexpr std::size_t names_max = 100;
    if (names_.size() < names_max || names_.contains(name)) return *names_.insert(name).first;
    return "(others)";
  }

  /// A channel may be any bytes and a value is UTF-8, so what is not plain ASCII is written as %NN.
  static std::string label(std::string_view name, std::string_view value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out(name);
    out += "=\"";
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte > 0x7e) {
        out.append(1, '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out += '"';
  }

  /// Whatever the locale.
  static std::string number(auto value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
  }

  static void write_head(std::string& out, const std::string& name, const std::string& type,
                         const std::string& help) {
    out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }

  static void write(std::string& out, const std::string& name, const std::string& type,
                    const std::string& help, const Numbers& numbers) {
    write_head(out, name, type, help);
    for (const auto& [labels, value] : numbers) out += name + "{" + labels + "} " + number(value) + "\n";
  }

  static void write(std::string& out, const std::string& name, const std::string& help,
                    const Histograms& histograms) {
    write_head(out, name, "histogram", help);
    for (const auto& [labels, histogram] : histograms) {
      std::uint64_t up_to_here = 0;
      for (std::size_t bucket = 0; bucket < histogram.counts.size(); ++bucket) {
        const bool last = bucket == Histogram::bounds.size();
        const std::string bound = last ? "+Inf" : number(Histogram::bounds.at(bucket));
        up_to_here += histogram.counts.at(bucket);
        out += name + "_bucket{" + labels + "," + label("le", bound) + "} " + number(up_to_here) + "\n";
      }
      out += name + "_sum{" + labels + "} " + number(histogram.sum) + "\n";
      out += name + "_count{" + labels + "} " + number(up_to_here) + "\n";
    }
  }

  mutable std::mutex mutex_;
  std::set<std::string> names_;
  Numbers attempts_, waits_, holds_, incidents_, trying_, held_;
  Histograms wait_times_, hold_times_, probe_times_;
};

/// Takes a lock, is refused it, and loses it.
bool three_things(auto& server) {
  using Lock = typename std::remove_reference_t<decltype(server)>::Lock;
  LockMetrics metrics;
  const std::string channel = examples::channel_of_our_own("the \"ledger\"");
  std::promise<void> told;
  Lock first(server.connect(), channel, {.observer = metrics.observer()});
  Lock second(
      server.connect(), channel,
      {.on_lost = [&](const sublock::LockLost&) { told.set_value(); }, .observer = metrics.observer()});
  first.acquire();
  if (second.try_lock()) return false;
  first.release();
  second.acquire();
  server.cut(second);
  if (told.get_future().wait_for(30s) != std::future_status::ready) return false;

  const std::string text = metrics.text();
  std::cout << text;
  const std::string lock = R"({lock="the \"ledger\"-)" + std::to_string(::getpid()) + R"(",mode="exclusive")";
  const auto says = [&](const std::string& name, const std::string& rest) {
    return text.find(name + lock + rest + "\n") != std::string::npos;
  };
  return says("sublock_attempts_total", R"(,outcome="got"} 2)") &&
         says("sublock_attempts_total", R"(,outcome="busy"} 1)") &&
         says("sublock_holds_total", R"(,end="lost"} 1)") && says("sublock_held", "} 0") &&
         says("sublock_hold_seconds_count", "} 2");
}

}  // namespace

int main() {
  return examples::on_a_server([](auto& server) { return three_things(server); });
}
