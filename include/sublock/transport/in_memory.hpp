// SPDX-License-Identifier: MIT
#pragma once

// A Redis in memory and connections to it, for tests: yours and ours. It does what Redis does as far as
// a lock can see, takes faults by name, and runs in real time or in virtual time. The one transport that
// knows a clock: `clock/manual.hpp`, since only it knows when time may jump.

#include <sublock/transport/in_memory/desk.hpp>
#include <sublock/transport/in_memory/line.hpp>
#include <sublock/transport/in_memory/world.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sublock {

class InMemoryTransport;

/// The server, the network around it, and the hand of the test in both.
///
/// Any thread may call any member; none may be called by a listener, since all take the world's mutex.
/// What lives in the world is shared with its transports, which may outlive this object.
///
/// Nothing is ever delivered inside a verb: deliveries happen in `wait` of any line in this world, and
/// in pump(). A holder answers pings only then, since there is no thread in here.
class InMemoryRedis {
 public:
  /// Waits in real time.
  InMemoryRedis() : InMemoryRedis(std::make_shared<in_memory::RealPacing>()) {}

  /// Waits in virtual time: a wait delivers what is due, else `clock` jumps to whatever is next, and no
  /// real time passes. A world in which several threads wait needs a seat() for each of them.
  explicit InMemoryRedis(ManualClock clock)
      : InMemoryRedis(std::make_shared<in_memory::ManualPacing>(std::move(clock))) {}

  /// Waits as `pacing` has it.
  explicit InMemoryRedis(std::shared_ptr<in_memory::Pacing> pacing)
      : world_(std::make_shared<in_memory::World>(std::move(pacing))) {}

  InMemoryRedis(const InMemoryRedis&) = delete;
  InMemoryRedis& operator=(const InMemoryRedis&) = delete;

  /// A process of its own, not connected yet.
  [[nodiscard]] std::shared_ptr<InMemoryTransport> connect();

  /// Delivers all that is due, without waiting; returns how many events reached a listener.
  std::size_t pump() {
    const std::lock_guard lock(world_->mutex);
    return world_->pump();
  }

  /// A thread's place in a world in virtual time: while any are taken, time moves only when as many
  /// threads wait as there are seats. Take one for each thread before the first of them waits, move it
  /// into the thread, and let it end there. Of no effect in real time.
  class Seat {
   public:
    /// Moves the place into the thread that is to wait there.
    Seat(Seat&& other) noexcept : world_(std::exchange(other.world_, nullptr)) {}
    Seat& operator=(Seat&&) = delete;
    ~Seat() {
      if (world_) change(-1);
    }

   private:
    friend InMemoryRedis;
    explicit Seat(std::shared_ptr<in_memory::World> world) : world_(std::move(world)) { change(1); }

    void change(int by) {
      const std::lock_guard lock(world_->mutex);
      world_->pacing().seats(by);
    }

    std::shared_ptr<in_memory::World> world_;
  };
  /// Takes a place for one thread.
  [[nodiscard]] Seat seat() { return Seat(world_); }

  // Faults of one process and of its network.

  /// No byte gets through either way, nor does a closed connection; the server goes on counting it.
  void partition(InMemoryTransport& process);
  /// What is sent to the process queues up; what it sends arrives.
  void hold(InMemoryTransport& process);
  /// Ends hold().
  void release(InMemoryTransport& process);
  /// As after SIGSTOP, the process neither reads nor writes; what it wrote before still arrives. Its
  /// waits end at their bounds, lest a test hang that forgets to resume it.
  void wedge(InMemoryTransport& process);
  /// Ends wedge().
  void resume(InMemoryTransport& process);
  /// Every packet from or to the process travels so much longer: a round trip takes twice `one_way`.
  void delay(InMemoryTransport& process, Duration one_way);
  /// Ends partition, hold, wedge and delay: what was held back arrives, in its order.
  void heal(InMemoryTransport& process);
  /// The server closes every connection of the process; its lines hear Lost and may open again.
  void drop(InMemoryTransport& process);
  /// The process dies: its kernel closes every connection, and its listeners hear nothing ever again.
  void crash(InMemoryTransport& process);

  // Faults of the server.

  /// Every connection closes; new ones are welcome at once.
  void restart() {
    change([](in_memory::World& world) { world.server.close_all(); });
  }

  /// Every connection closes, and new ones are refused until start().
  void stop() {
    change([](in_memory::World& world) {
      world.server.stopped = true;
      world.server.close_all();
    });
  }

  /// Lets a stopped server accept connections again.
  void start() {
    change([](in_memory::World& world) { world.server.stopped = false; });
  }

  /// Whatever needs `command`, spelled as in "CLIENT KILL" or "PUBLISH", is refused with `text`; a
  /// transaction is refused as a whole. Leaving can't be refused.
  void refuse(const std::string& command, const std::string& text, Errc code = Errc::permission) {
    change([&](in_memory::World& world) { world.server.refusals[command] = {code, text}; });
  }

  /// Ends refuse().
  void allow(const std::string& command) {
    change([&](in_memory::World& world) { world.server.refusals.erase(command); });
  }

  /// Whether SUBSCRIBE may stand in a transaction; where it may not, Joined carries no count.
  void subscribe_in_multi(bool allowed) {
    change([&](in_memory::World& world) { world.server.subscribe_in_multi = allowed; });
  }

  // A raw client for the test: executed at once, no fault touches it, and no counter but the messages'.

  /// Returns how many are sent a copy; they hear it once somebody waits or pumps.
  std::size_t publish(const std::string& channel, const std::string& payload) {
    return change([&](in_memory::World& world) { return world.server.publish(channel, payload); });
  }

  /// SET, as by hand; without `expire` the key stays.
  void set(const std::string& key, const std::string& value, std::optional<Duration> expire = {}) {
    change([&](in_memory::World& world) { world.server.keys.set(key, value, expire); });
  }

  /// DEL; whether there was such a key. Nobody who waits for it is told.
  bool erase(const std::string& key) {
    return change([&](in_memory::World& world) { return world.server.keys.erase(key); });
  }

  /// TYPE, GET and PTTL.
  [[nodiscard]] core::event::Looked look(const std::string& key) {
    return change([&](in_memory::World& world) { return world.server.keys.look(key); });
  }

  /// FLUSHALL, as after a restart of a server that saves nothing.
  void flush_all() {
    change([](in_memory::World& world) { world.server.keys.clear(); });
  }

  /// PUBSUB NUMSUB, by a raw client that is not counted.
  [[nodiscard]] std::size_t subscribers(std::string_view channel) const {
    const std::lock_guard lock(world_->mutex);
    return world_->server.subscribers(channel);
  }

  /// Somebody who ran SUBSCRIBE by hand: counted, and never answers. Returns its client id, for kill().
  std::int64_t subscribe_stranger(const std::string& channel, const std::string& name = {}) {
    return change([&](in_memory::World& world) {
      in_memory::Socket& stranger = world.connect_raw();
      stranger.name = name;
      world.server.subscribe(stranger, channel);
      return stranger.id;
    });
  }

  /// Somebody who ran PSUBSCRIBE *: receives every PUBLISH, and NUMSUB does not count it.
  std::int64_t subscribe_to_everything() {
    return change([&](in_memory::World& world) {
      in_memory::Socket& stranger = world.connect_raw();
      stranger.everything = true;
      return stranger.id;
    });
  }

  /// Closes a connection by client id; returns whether there was one.
  bool kill(std::int64_t id) {
    return change([&](in_memory::World& world) {
      const in_memory::Counts before = world.server.counts;
      const bool killed = world.server.kill(id, nullptr);
      world.server.counts = before;
      return killed;
    });
  }

  /// The server forgets, without a word, what a connection subscribes to; it stays open, and its client
  /// believes what it did. As behind a proxy whose server was replaced. Returns whether there was one.
  bool forget(std::int64_t id) {
    return change([&](in_memory::World& world) {
      const auto& clients = world.server.clients();
      const auto found = std::ranges::find(clients, id, &in_memory::Socket::id);
      if (found == clients.end()) return false;
      world.server.unsubscribe_all(**found);
      return true;
    });
  }

  /// A connection as the server sees it.
  struct Client {
    std::int64_t id = 0;                ///< never used twice, over restarts too
    std::string name;                   ///< by CLIENT SETNAME
    std::vector<std::string> channels;  ///< what it subscribes to, in the order in which it did
  };

  /// Every connection the server has, mouths and idle ears included, oldest first.
  [[nodiscard]] std::vector<Client> connections() const {
    const std::lock_guard lock(world_->mutex);
    std::vector<Client> clients;
    for (const in_memory::Socket* client : world_->server.clients()) {
      clients.push_back({client->id, client->name, client->channels});
    }
    return clients;
  }

  /// What the server has executed since it was made.
  [[nodiscard]] in_memory::Counts counts() const {
    const std::lock_guard lock(world_->mutex);
    return world_->server.counts;
  }

 private:
  friend InMemoryTransport;

  /// Changes the world under its mutex, then lets everybody look again.
  template <class Change>
  std::invoke_result_t<Change, in_memory::World&> change(Change act) {
    const std::lock_guard lock(world_->mutex);
    struct Flush {
      in_memory::World& world;
      ~Flush() { world.flush(); }
    } const flush{*world_};
    return act(*world_);
  }

  std::shared_ptr<in_memory::World> world_;
};

/// One process of an in-memory world: what a lock takes for its connection.
class InMemoryTransport {
 public:
  /// What RedisLock plays on.
  using Line = in_memory::Line;
  /// What RedisGetlock plays on.
  using Desk = in_memory::Desk;

  /// How `make` is told where to connect.
  struct Options {
    InMemoryRedis* server = nullptr;  ///< which world; must be alive when `make` is called, no longer
  };

  /// Throws LockError with Errc::usage where `options.server` is null.
  [[nodiscard]] static std::shared_ptr<InMemoryTransport> make(const Options& options) {
    if (options.server == nullptr) {
      throw LockError({Errc::usage,
                       "an InMemoryTransport needs to know its server: set `connection = {.server = "
                       "&redis}` in the options, with an `InMemoryRedis redis`"});
    }
    return options.server->connect();
  }

  /// For InMemoryRedis::connect().
  explicit InMemoryTransport(std::shared_ptr<in_memory::World> world) : world_(std::move(world)) {}
  InMemoryTransport(const InMemoryTransport&) = delete;
  InMemoryTransport& operator=(const InMemoryTransport&) = delete;

  /// Closes the process's connections, once its last line is gone too. Takes the mutex.
  ~InMemoryTransport() {
    const std::lock_guard lock(world_->mutex);
    process_->orphaned = true;
    if (process_->lines == 0) world_->end(*process_);
  }

  /// One mutex for the whole world.
  [[nodiscard]] std::mutex& mutex() noexcept { return world_->mutex; }

  /// Time is the test's here: a process stands still when the test says so, by wedge().
  [[nodiscard]] static bool stalled() noexcept { return false; }

  /// A forked child has a copy of the whole world, in which no lock means anything.
  [[nodiscard]] bool foreign() const noexcept { return ::getpid() != pid_; }

 private:
  friend InMemoryRedis;
  friend class in_memory::Place;

  const std::shared_ptr<in_memory::World> world_;
  const std::shared_ptr<in_memory::Process> process_ = std::make_shared<in_memory::Process>();
  const pid_t pid_ = ::getpid();
};

/// @cond declared_above

inline in_memory::Place::Place(const std::shared_ptr<InMemoryTransport>& transport, core::Listener& listener,
                               bool deaf)
    : world_(transport->world_), process_(transport->process_) {
  state_->listener = &listener;
  state_->deaf = deaf;
  ++process_->lines;
}

inline std::shared_ptr<InMemoryTransport> InMemoryRedis::connect() {
  return std::make_shared<InMemoryTransport>(world_);
}

inline void InMemoryRedis::partition(InMemoryTransport& process) {
  change([&](in_memory::World&) { process.process_->partitioned = true; });
}

inline void InMemoryRedis::hold(InMemoryTransport& process) {
  change([&](in_memory::World&) { process.process_->held = true; });
}

inline void InMemoryRedis::release(InMemoryTransport& process) {
  change([&](in_memory::World&) { process.process_->held = false; });
}

inline void InMemoryRedis::wedge(InMemoryTransport& process) {
  change([&](in_memory::World&) { process.process_->wedged = true; });
}

inline void InMemoryRedis::resume(InMemoryTransport& process) {
  change([&](in_memory::World& world) { world.unwedge(*process.process_); });
}

inline void InMemoryRedis::delay(InMemoryTransport& process, Duration one_way) {
  change([&](in_memory::World&) { process.process_->delay = one_way; });
}

inline void InMemoryRedis::heal(InMemoryTransport& process) {
  change([&](in_memory::World& world) {
    process.process_->partitioned = false;
    process.process_->held = false;
    process.process_->delay = Duration::zero();
    world.unwedge(*process.process_);
  });
}

inline void InMemoryRedis::drop(InMemoryTransport& process) {
  change([&](in_memory::World& world) { world.drop(*process.process_); });
}

inline void InMemoryRedis::crash(InMemoryTransport& process) {
  change([&](in_memory::World& world) {
    process.process_->crashed = true;
    world.end(*process.process_);
  });
}

/// @endcond

static_assert(LeaseTransportPolicy<InMemoryTransport>);

}  // namespace sublock
