// SPDX-License-Identifier: MIT
//
// A log: one line of JSON for each thing that a lock tells its observer, with a level, to stderr.

#include "support/server.hpp"

#include <nlohmann/json.hpp>
#include <sublock/observation.hpp>

#include <chrono>
#include <ctime>
#include <future>
#include <iomanip>
#include <sstream>
#include <string>
#include <syncstream>
#include <type_traits>

namespace {

using namespace std::chrono_literals;
using Kind = sublock::Observation::Kind;

/// What somebody must be woken for is an error, what he should read in the morning a warning.
const char* level_of(const sublock::Observation& seen) {
  switch (seen.kind) {
    case Kind::lost: return "error";
    case Kind::not_got:
      return seen.code == sublock::Errc::busy || seen.code == sublock::Errc::cancelled ? "info" : "error";
    case Kind::reaped:
    case Kind::stranger:
    case Kind::warning: return "warning";
    case Kind::wait:
    case Kind::got:
    case Kind::released:
    case Kind::handed_over: return "info";
    case Kind::attempt:
    case Kind::probe: return "debug";
  }
  return "error";
}

/// The lock's clock tells how long ago it was, the system's what time that is.
std::string time_of(const sublock::Observation& seen) {
  using namespace std::chrono;
  const auto ago = duration_cast<system_clock::duration>(sublock::SteadyClock().now() - seen.at);
  const auto time = system_clock::now() - ago;
  const std::time_t whole = system_clock::to_time_t(time);
  std::tm utc{};
  ::gmtime_r(&whole, &utc);
  std::ostringstream text;
  text << std::put_time(&utc, "%FT%T") << '.' << std::setw(3) << std::setfill('0')
       << floor<milliseconds>(time.time_since_epoch()).count() % 1000 << 'Z';
  return text.str();
}

/// JSON, because what others on the channel call themselves can't break out of it: neither a line feed nor a quote.
std::string line_of(const sublock::Observation& seen) {
  nlohmann::ordered_json line;
  line["time"] = time_of(seen);
  line["level"] = level_of(seen);
  line["event"] = name_of(seen.kind);
  line["lock"] = seen.name;
  line["mode"] = name_of(seen.mode);
  line["holder"] = seen.holder_id;
  if (seen.took != seen.took.zero())
    line["ms"] = std::chrono::duration<double, std::milli>(seen.took).count();
  if (seen.by_grant) line["handed_to_us"] = true;
  if (seen.code != sublock::Errc{}) line["why"] = name_of(seen.code);
  if (!seen.text.empty()) line["text"] = seen.text;
  for (const sublock::Holder& other : seen.others) {
    line["others"].push_back({{"id", other.holder_id},
                              {"mode", name_of(other.mode)},
                              {"host", other.host},
                              {"pid", other.pid},
                              {"label", other.label}});
  }
  // A channel may be any bytes; those that are not UTF-8 come out as U+FFFD.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Several threads may be telling at once, so each line is written as a whole.
void write_down(const sublock::Observation& seen) { std::osyncstream(std::cerr) << line_of(seen) << '\n'; }

/// Takes a lock while another waits for it, hands it over, and breaks the connection of that one.
bool a_hand_over_and_a_loss(auto& server) {
  using Lock = typename std::remove_reference_t<decltype(server)>::Lock;
  const std::string channel = examples::channel_of_our_own("ledger");
  std::promise<void> waits;
  std::promise<std::string> last_line;
  Lock first(server.connect(), channel, {.label = "first", .observer = write_down});
  Lock second(server.connect(), channel,
              {.timeout = 30s, .label = "second", .observer = [&](const sublock::Observation& seen) {
                 write_down(seen);
                 if (seen.kind == Kind::wait) waits.set_value();
                 if (seen.kind == Kind::lost) last_line.set_value(line_of(seen));
               }});
  first.acquire();
  auto waiter = std::async(std::launch::async, [&] { second.acquire(); });
  if (waits.get_future().wait_for(30s) != std::future_status::ready) return false;
  first.release();
  waiter.get();
  server.cut(second);
  auto line = last_line.get_future();
  if (line.wait_for(30s) != std::future_status::ready) return false;
  const auto read = nlohmann::json::parse(line.get());
  return read.at("level") == "error" && read.at("event") == "lost" && read.at("lock") == channel &&
         read.at("ms") > 0;
}

}  // namespace

int main() {
  return examples::on_a_server([](auto& server) { return a_hand_over_and_a_loss(server); });
}
