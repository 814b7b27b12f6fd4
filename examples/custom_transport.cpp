// SPDX-License-Identifier: MIT
//
// A transport of one's own, around another: it writes down every verb that a lock sends to the server.
// The lock neither knows nor cares.

#include <sublock/basic_redis_lock.hpp>
#include <sublock/clock/manual.hpp>
#include <sublock/transport/in_memory.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// Any transport, with every verb written to `journal()`.
template <sublock::TransportPolicy Inner>
class JournalTransport {
 public:
  struct Options {
    typename Inner::Options inner = {};
  };

  static std::shared_ptr<JournalTransport> make(const Options& options) {
    return std::make_shared<JournalTransport>(Inner::make(options.inner));
  }

  explicit JournalTransport(std::shared_ptr<Inner> inner) : inner_(std::move(inner)) {}

  std::mutex& mutex() { return inner_->mutex(); }
  [[nodiscard]] bool stalled() const noexcept { return inner_->stalled(); }
  [[nodiscard]] bool foreign() const noexcept { return inner_->foreign(); }
  [[nodiscard]] const std::vector<std::string>& journal() const { return journal_; }

  class Line {
   public:
    Line(const std::shared_ptr<JournalTransport>& outer, sublock::core::Listener& listener)
        : outer_(outer), inner_(outer->inner_, listener) {}

    void open(std::string_view channel) { note("open"), inner_.open(channel); }
    void close() { inner_.close(); }
    void join(const std::string& channel, const std::string& responses, const std::string& name,
              const sublock::core::action::Rosters& rosters) {
      note("join " + channel), inner_.join(channel, responses, name, rosters);
    }
    void listen(const std::string& channel) { note("listen"), inner_.listen(channel); }
    void leave(const std::vector<sublock::core::action::Note>& notes) { note("leave"), inner_.leave(notes); }
    void ping(const std::string& channel, const std::string& responses, const std::string& payload) {
      note("ping " + channel), inner_.ping(channel, responses, payload);
    }
    void ask(const std::string& channel, const std::string& responses, const std::string& payload) {
      note("ask " + channel), inner_.ask(channel, responses, payload);
    }
    void publish(const std::string& channel, const std::string& payload) {
      note("answer " + payload), inner_.publish(channel, payload);
    }
    void count(const std::string& channel) { note("count " + channel), inner_.count(channel); }
    void list() { note("list"), inner_.list(); }
    void kill(const std::vector<std::int64_t>& ids) { note("kill"), inner_.kill(ids); }
    void increment(const std::string& key) { note("increment " + key), inner_.increment(key); }
    void remind(sublock::Duration delay) { inner_.remind(delay); }
    void wait(std::unique_lock<std::mutex>& lock, sublock::Duration at_most, std::stop_token stop) {
      inner_.wait(lock, at_most, std::move(stop));
    }

   private:
    void note(std::string verb) { outer_->journal_.push_back(std::move(verb)); }

    std::shared_ptr<JournalTransport> outer_;
    typename Inner::Line inner_;
  };

 private:
  std::shared_ptr<Inner> inner_;
  std::vector<std::string> journal_;  // guarded by the mutex, as all verbs are
};

using Journal = JournalTransport<sublock::InMemoryTransport>;
static_assert(sublock::TransportPolicy<Journal>);

using JournalLock = sublock::BasicRedisLock<Journal, sublock::LowestIdElection, sublock::ClientListReaper,
                                            sublock::ManualClock>;

}  // namespace

int main() {
  const sublock::ManualClock clock;
  sublock::InMemoryRedis redis(clock);
  const auto ours = std::make_shared<Journal>(redis.connect());
  const auto theirs = std::make_shared<Journal>(redis.connect());

  JournalLock holder(ours, "x", {.label = "holder", .clock = clock});
  JournalLock other(theirs, "x", {.clock = clock});
  holder.acquire();
  const bool refused = !other.try_lock();
  holder.release();

  for (const std::string& verb : ours->journal()) std::cout << "holder: " << verb << '\n';
  for (const std::string& verb : theirs->journal()) std::cout << "other:  " << verb << '\n';
  return refused ? 0 : 1;
}
