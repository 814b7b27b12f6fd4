// SPDX-License-Identifier: MIT
#pragma once

// The hand that makes faults and ends them again. Knows processes and the server, and no lock.

#include <seeded/player.hpp>
#include <seeded/swarm.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sublock::testing {

template <class Election>
class Storm {
 public:
  explicit Storm(Stage<Election>& stage) : stage_(stage), chance_(stage.chance.split()) {}

  /// Rages for its time, and ends whatever it has begun.
  void rage() {
    const Instant end = stage_.clock.now() + stage_.weather.storm;
    Instant next = next_fault();
    while (stage_.clock.now() < end && stage_.report.acquisitions < stage_.weather.enough) {
      const Instant look = stage_.clock.now() + stage_.weather.unavailable_timeout;
      const Instant ending = endings_.empty() ? end : endings_.begin()->first;
      stage_.pacing->sleep(std::max(std::min({end, next, ending, look}) - stage_.clock.now(), 0ns));
      end_faults(stage_.clock.now());
      if (stage_.clock.now() < next) continue;
      if (!stage_.weather.faults.empty()) begin(chance_.of(stage_.weather.faults));
      next = next_fault();
    }
    end_faults(Instant::max());
    stage_.say("calm");
  }

 private:
  using Connections = std::vector<std::shared_ptr<InMemoryTransport>>;

  Instant next_fault() {
    return stage_.clock.now() + chance_.between(1ns, 2 * stage_.weather.fault_interval);
  }

  void end_faults(Instant due) {
    while (!endings_.empty() && endings_.begin()->first <= due) endings_.extract(endings_.begin()).mapped()();
  }

  /// `undo` runs later, at the latest when the storm is over.
  void until_later(std::function<void()> undo) {
    endings_.emplace(stage_.clock.now() + chance_.between(1ns, stage_.weather.fault_length_max),
                     std::move(undo));
  }

  void begin(Fault fault) {
    ++stage_.report.faults;
    const std::size_t number = chance_.below(stage_.processes.size());
    Process<Election>& process = *stage_.processes[number];
    const auto name = [&](const std::string& what) {
      stage_.say(what + " of process " + std::to_string(number));
    };
    InMemoryRedis& redis = stage_.redis;
    switch (fault) {
      case Fault::partition:
        name("partition");
        return lasting(process, [&](auto& connection) { redis.partition(connection); });
      case Fault::deaf:
        name("deafness");
        return lasting(process, [&](auto& connection) { redis.hold(connection); });
      case Fault::slow: {
        name("slowness");
        const Duration delay = chance_.between(0ns, 2 * stage_.weather.unavailable_timeout);
        return lasting(process, [&](auto& connection) { redis.delay(connection, delay); });
      }
      case Fault::wedge: name("standstill"); return wedge(process);
      case Fault::drop:
        name("drop");
        for (const auto& connection : connections_of(process)) redis.drop(*connection);
        return;
      case Fault::crash: name("crash"); return crash(process);
      case Fault::kill: return kill_somebody();
      case Fault::restart: stage_.say("restart"); return redis.restart();
      case Fault::outage:
        if (std::exchange(is_out_, true)) return;
        stage_.say("outage");
        redis.stop();
        return until_later([this] {
          stage_.redis.start();
          is_out_ = false;
        });
      case Fault::no_kill: return refuse("CLIENT KILL");
      case Fault::no_list: return refuse("CLIENT LIST");
      case Fault::no_tokens: return refuse("INCR");
      case Fault::stranger: return stranger();
    }
  }

  static Connections connections_of(const Process<Election>& process) {
    Connections connections = {process.connection};
    for (const Player<Election>* player : process.players) {
      if (auto own = player->own_connection()) connections.push_back(std::move(own));
    }
    return connections;
  }

  void lasting(Process<Election>& process, const std::function<void(InMemoryTransport&)>& fault) {
    if (std::exchange(process.is_in_trouble, true)) return;
    const Connections connections = connections_of(process);
    for (const auto& connection : connections) fault(*connection);
    until_later([this, &process, connections] {
      for (const auto& connection : connections) stage_.redis.heal(*connection);
      process.is_in_trouble = false;
    });
  }

  void wedge(Process<Election>& process) {
    if (std::exchange(process.is_in_trouble, true)) return;
    const Connections connections = connections_of(process);
    for (const auto& connection : connections) stage_.redis.wedge(*connection);
    freeze(process, true);
    until_later([this, &process, connections, since = stage_.clock.now(), life = process.life] {
      process.is_in_trouble = false;
      for (const auto& connection : connections) stage_.redis.resume(*connection);
      if (process.life != life) return;
      process.stood_still_for += stage_.clock.now() - since;
      freeze(process, false);
    });
  }

  void freeze(Process<Election>& process, bool frozen) {
    for (const Player<Election>* player : process.players) stage_.pacing->freeze(player->number(), frozen);
  }

  void crash(Process<Election>& process) {
    ++process.life;
    for (const auto& connection : connections_of(process)) stage_.redis.crash(*connection);
    process.connection = stage_.redis.connect();
    for (Player<Election>* player : process.players) player->stop();
    freeze(process, false);
  }

  void kill_somebody() {
    const auto clients = stage_.redis.connections();
    if (clients.empty()) return;
    const std::int64_t id = chance_.of(clients).id;
    stage_.say("kill of connection " + std::to_string(id));
    stage_.redis.kill(id);
  }

  void refuse(const std::string& command) {
    stage_.say("no " + command);
    stage_.redis.refuse(command, "NOPERM this user has no permissions to run the command");
    until_later([this, command] { stage_.redis.allow(command); });
  }

  void stranger() {
    if (is_out_) return;
    const std::string channel = "lock-" + std::to_string(chance_.below(stage_.weather.channels));
    const std::string id = core::Dice({chance_.word(), chance_.word()}).fresh_id();
    stage_.say("stranger on " + channel);
    const std::int64_t client =
        chance_.percent(30)   ? stage_.redis.subscribe_to_everything()
        : chance_.percent(50) ? stage_.redis.subscribe_stranger(channel)
                              : stage_.redis.subscribe_stranger(channel, core::client_name(channel, id));
    until_later([this, client] { stage_.redis.kill(client); });
  }

  Stage<Election>& stage_;
  Chance chance_;
  std::multimap<Instant, std::function<void()>> endings_;
  bool is_out_ = false;
};

/// How long those who wait still may take once all faults have ended; virtual time.
inline constexpr Duration liveness_bound = 2min;

/// Runs one simulation from its seed to its end.
template <class Election = LowestIdElection>
[[nodiscard]] Report simulate(std::uint64_t seed, bool keeps_diary = false) {
  Stage<Election> stage(seed);
  stage.keeps_diary = keeps_diary;
  stage.say(describe(stage.weather));
  const Weather& weather = stage.weather;
  stage.redis.subscribe_in_multi(weather.counts_in_join);
  stage.pacing->journey = [&, chance = stage.chance.split()]() mutable {
    const bool is_long = !stage.is_calm && chance.percent(1);
    return chance.between(0ns, is_long ? weather.long_journey_max : weather.journey_max);
  };
  for (std::size_t i = 0; i < weather.processes; ++i) {
    stage.processes.push_back(std::make_unique<Process<Election>>());
    stage.processes.back()->connection = stage.redis.connect();
  }
  std::vector<std::unique_ptr<Player<Election>>> players;
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 0; i < weather.players; ++i) {
    // One each, and the rest where they fall.
    const std::size_t home = i < weather.processes ? i : stage.chance.below(weather.processes);
    Process<Election>& process = *stage.processes[home];
    players.push_back(std::make_unique<Player<Election>>(stage, process, i));
    process.players.push_back(players.back().get());
    bodies.emplace_back([player = players.back().get()] { player->play(); });
  }
  // Somebody always looks at what arrives, as the threads of real connections do.
  std::stop_source over;
  bodies.emplace_back([&] {
    struct : core::Listener {
      void on_event(const core::Event&) override {}
    } listener;
    const auto transport = stage.redis.connect();
    std::unique_lock lock(transport->mutex());
    InMemoryTransport::Line line(transport, listener);
    while (!over.stop_requested()) line.wait(lock, infinite, over.get_token());
  });
  bodies.emplace_back([&] {
    Storm(stage).rage();
    stage.is_calm = true;
    stage.calm_since = stage.clock.now();
    while (stage.done < players.size() && stage.clock.now() < stage.calm_since + liveness_bound) {
      stage.pacing->sleep(1s);
    }
    if (stage.done < players.size()) {
      stage.accuse(std::to_string(players.size() - stage.done) + " still wait though all faults have ended");
      for (const auto& player : players) player->stop();
      while (stage.done < players.size()) stage.pacing->sleep(1s);
    }
    stage.pacing->sleep(10s);  // for the last packets
    for (const auto& client : stage.redis.connections()) {
      if (!client.channels.empty()) stage.accuse("still subscribed: " + client.name);
    }
    over.request_stop();
  });
  stage.pacing->run(std::move(bodies));
  stage.report.kills = stage.redis.counts().kills;
  stage.report.trace = stage.pacing->trace();
  return stage.report;
}

}  // namespace sublock::testing
