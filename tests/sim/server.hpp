// SPDX-License-Identifier: MIT
#pragma once

// Redis, as far as this protocol can see it: one command at a time, each a whole.

#include "scene.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace sublock::sim {

template <class Participant>
class Server : protected Scene<Participant> {
 protected:
  using Scene<Participant>::cast_;
  using Scene<Participant>::how_;
  using Scene<Participant>::world_;
  using Scene<Participant>::player;
  using Scene<Participant>::facts;
  using Scene<Participant>::put;
  using Scene<Participant>::Scene;
  using Scene<Participant>::refusal;
  using Scene<Participant>::worth_hearing;

  [[nodiscard]] unsigned subscribers() const {
    unsigned count = how_.stranger ? 1 : 0;
    for (const Player& one : world_->players)
      count += (one.ear.counted ? 1U : 0U) + (one.ghost.counted ? 1U : 0U);
    return how_.one_ear_for_all ? std::min(count, 1U) : count;
  }

  /// Of the mark that is kept with the shared ear of `who`.
  [[nodiscard]] unsigned subscribers_of_mark(unsigned who) const {
    const auto marks = [](const Ear& ear) { return ear.counted && !ear.unmarked ? 1U : 0U; };
    const Player& one = world_->players[who];
    return marks(one.ear) + marks(one.ghost);
  }

  /// Of those, who is on the roster of that kind. Shared ears are on none.
  [[nodiscard]] unsigned subscribers(LockMode kind) const {
    unsigned count = 0;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      if (cast_.request(who).mode != kind || cast_.script().shares(who)) continue;
      const Player& one = world_->players[who];
      count += (one.ear.counted ? 1U : 0U) + (one.ghost.counted ? 1U : 0U);
    }
    return count;
  }

  /// What the server counts where `who` joins. Rosters make no difference to a writer.
  [[nodiscard]] unsigned count_with(unsigned who, unsigned newcomers) const {
    if (cast_.request(who).mode == LockMode::exclusive) return of_joined(subscribers() + newcomers);
    return of_joined(subscribers() + newcomers, subscribers(LockMode::shared) + newcomers,
                     subscribers(LockMode::exclusive));
  }

  void serve(unsigned who, Ear& ear, Queue<8>* news) {
    const Code command = ear.in.front();
    ear.in.pop();
    const auto tell = [&](Code code) {
      if (news != nullptr) put(*news, code);
    };
    const auto hears = command.number() == present ? Ear::Hears::present_channel : Ear::Hears::past_channel;
    switch (command.kind()) {
      case Kind::join:
        if (how_.join_in_pieces) return join_a_piece(ear, command, hears, news);
        if (how_.join_in_two_steps) return put_first(ear.in, {Kind::tally, count_with(who, 1)});
        if (how_.marks_come_late && cast_.script().shares(who)) {
          if (std::exchange(ear.unmarked, !command.marked())) return;
          put_first(ear.in, command.with_mark());
        }
        ear.counted = true;
        ear.hears = hears;
        return tell({Kind::joined, counts(who) ? count_with(who, 0) : 0});
      case Kind::tally:
        ear.counted = true;
        ear.hears = Ear::Hears::present_channel;
        return tell({Kind::joined, command.number()});
      case Kind::listen: ear.hears = hears; return tell({Kind::listening, command.number()});
      case Kind::leave:
        ear.counted = ear.unmarked = false;
        ear.hears = Ear::Hears::nothing;
        return tell(Kind::left);
      default: throw std::logic_error("an ear does not say that");
    }
  }

  /// The lock's channel is the first piece. What is heard before the second has been confirmed is told after
  /// that, so the place of `joined` in the order is here, and it can't be told yet: it is marked.
  void join_a_piece(Ear& ear, Code command, Ear::Hears hears, Queue<8>* news) {
    const Code joined(Kind::joined, how_.join_guesses ? of_joined(1, 1) : 0);
    if (!command.marked()) {
      ear.counted = true;
      put_first(ear.in, command.with_mark());
      if (news != nullptr) put(*news, joined.with_mark());
      return;
    }
    ear.hears = hears;
    if (news == nullptr) return;
    news->rewrite([joined](Code& code) {
      if (code == joined.with_mark()) code = joined;
      return true;
    });
  }

  [[nodiscard]] bool counts(unsigned who) const { return how_.join_counts && !cast_.script().shares(who); }

  void put_first(auto& queue, Code code) {
    auto rest = queue;
    queue.clear();
    put(queue, code);
    for (const Code later : rest) put(queue, later);
  }

  void serve(unsigned who, auto& mouth) {
    Player& one = player(who);
    const Code command = mouth.front();
    mouth.pop();
    const auto answer = [&](Code code) {
      if (!command.marked()) put(one.mouth_news, code);
    };
    switch (command.kind()) {
      case Kind::ping: {
        const Code heard(Kind::heard, command.number());
        for (unsigned other = 0; other < cast_.size(); ++other) {
          if (player(other).ear.counted && worth_hearing(other, heard)) put(player(other).ear_news, heard);
        }
        if (ping_age(command) == past || command.marked()) return;
        if (how_.ping_in_two_steps) return put_first(mouth, {Kind::tally});
        return answer({Kind::pinged, subscribers()});
      }
      case Kind::tally: return answer({Kind::pinged, subscribers()});
      case Kind::grant: {
        Player& heir = player(grant_to(command));
        if (heir.ear.counted && grant_age(command) == present) put(heir.ear_news, Kind::granted);
        return answer({Kind::delivered, subscribers()});
      }
      case Kind::check:
        if (one.ear.counted) put(one.ear_news, Kind::checked);
        return;
      case Kind::publish: {
        Player& other = player(reply_to(command));
        if (other.ear.hears == Ear::Hears::present_channel) {
          put(other.ear_news, {Kind::answered, reply_payload(command)});
        }
        return;
      }
      case Kind::count:
        if (command.number() != whole_channel)
          return answer({Kind::counted, subscribers_of_mark(marked_by(command))});
        if (how_.lean && !somebody_left(one)) return;
        return answer({Kind::counted, subscribers()});
      case Kind::increment: return answer({Kind::incremented, one.ear.counted ? present : past});
      case Kind::list:
        if (!how_.may_look) return answer(refusal(command));
        return answer({Kind::listed, connections()});
      case Kind::kill: return serve_kill(command, answer);
      default: throw std::logic_error("a mouth does not say that");
    }
  }

  /// Whether a count could make a difference: not unless it is less than the last ping reached, of which he
  /// will know by then, or he rests and nobody else is left. One that makes none leaves all as if he had not
  /// asked.
  [[nodiscard]] bool somebody_left(const Player& one) const {
    if (facts(one).phase == core::Phase::resting) return subscribers() == 1;
    const bool asking =
        facts(one).phase == core::Phase::probing || facts(one).phase == core::Phase::examining;
    unsigned reached = asking ? facts(one).reached : 0;
    for (const Code news : one.mouth_news) {
      if (news.kind() == Kind::pinged) reached = std::max(reached, news.number());
    }
    return subscribers() < reached;
  }

  [[nodiscard]] unsigned connections() const {
    unsigned set = how_.stranger ? stranger : 0;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      for (const Ear* ear : {&world_->players[who].ear, &world_->players[who].ghost}) {
        if (ear->counted) set |= connection_bit(who, ear->generation, cast_.size());
      }
    }
    return set;
  }

  void serve_kill(Code command, const auto& answer) {
    unsigned count = 0;
    for (unsigned who = 0; who < cast_.size(); ++who) {
      Player& one = player(who);
      const auto named = [&](const Ear& ear) {
        return ear.up && (connection_bit(who, ear.generation, cast_.size()) & command.number()) != 0;
      };
      if (named(one.ear)) kill(one), ++count;
      if (named(one.ghost)) one.ghost = {}, ++count;
    }
    answer({Kind::killed, count});
  }

  void kill(Player& one) {
    one.ear = {};
    // What came before a join was complete is never told.
    bool complete = true;
    one.ear_news.rewrite([&complete](Code& code) { return complete = complete && !is_untold(code); });
    if (facts(one).phase != core::Phase::idle) put(one.ear_news, Kind::lost);
  }
};

}  // namespace sublock::sim
