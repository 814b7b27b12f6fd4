// SPDX-License-Identifier: MIT

// How a lock goes from hand to hand (R10): the owner who says who comes next and hands it over, and the writer
// who stands ready and takes it, or doesn't.

#include "conversation.hpp"

#include <gtest/gtest.h>

namespace sublock::core {
namespace {

using namespace testing_ids;
using namespace std::chrono_literals;

const std::string python_ping = R"({"message":"ping","response_channel":"L-python"})";

// --- the owner -------------------------------------------------------------------------------------

class Owner : public testing::Test {
 protected:
  Owner() {
    Request request = until_10_seconds();
    request.self_check_interval = 5s;
    talk.holds_alone(request);
  }

  static Holder self(bool next) {
    Holder self = holding(from(second, HolderMode::exclusive));
    self.held_for = 0ms;
    self.next = next;
    return self;
  }
  /// Whether the answer to that ping says that its sender comes next.
  bool names(const std::string& ping) {
    const Said said = talk.hears_ping(ping);
    EXPECT_FALSE(said.empty());
    return !said.empty() && decode_reply(std::get<action::Publish>(said.front()).payload).next;
  }
  static Action grant(const std::string& to, const std::string& nonce, std::vector<std::string> queue = {}) {
    return action::Ping{"L", nonce, encode(Grant{to, nonce, std::move(queue)})};
  }
  static action::Note hint(HintKind kind, const std::string& to, std::vector<std::string> queue = {}) {
    return {"L-" + to, encode(Hint{kind, std::move(queue)})};
  }
  static Action publish(const action::Note& note) { return action::Publish{note.channel, note.payload}; }

  Conversation<> talk;
};

TEST_F(Owner, TellsOneWriterThatHeComesNext) {
  EXPECT_EQ(talk.hears_ping(standing_ping_of(third, "L-a")), Said{talk.answer("L-a", self(true))});
  EXPECT_EQ(talk.hears_ping(standing_ping_of(first, "L-b")), Said{talk.answer("L-b", self(false))});
  EXPECT_TRUE(names(standing_ping_of(third, "L-c")));
}

TEST_F(Owner, TellsNobodyWhoCouldNotTakeIt) {
  EXPECT_FALSE(names(standing_ping_of(third, "L-a", HolderMode::shared))) << "a reader";
  EXPECT_FALSE(names(ping_of(third, "L-a"))) << "one who won't wait";
  EXPECT_FALSE(names(python_ping)) << "one who does not know grants";
  EXPECT_FALSE(names(standing_ping_of(second, "L-a"))) << "one who takes the owner's name";
  EXPECT_FALSE(names(waiting_ping_of(third, "L-" + third))) << "one who is not there";
  EXPECT_EQ(
      talk.release(),
      (Said{action::Leave{{{"L", encode(Grant{third, "L-" + third, {}})}, hint(HintKind::wake, third)}}}));
}

TEST_F(Owner, AsksTheFirstWhoWaitsToComeIn) {
  EXPECT_EQ(talk.hears_ping(waiting_ping_of(third, "L-" + third)),
            (Said{talk.answer("L-" + third, self(false)), publish(hint(HintKind::next, third))}));
  EXPECT_EQ(talk.hears_ping(waiting_ping_of(first, "L-" + first)),
            Said{talk.answer("L-" + first, self(false))})
      << "one at a time";
  EXPECT_FALSE(names(standing_ping_of(first, "L-a")));
  EXPECT_TRUE(names(standing_ping_of(third, "L-b")));
}

TEST_F(Owner, HandsItOverInAnswerToTheLatestQuestion) {
  names(standing_ping_of(third, "L-a"));
  names(standing_ping_of(third, "L-b"));
  names(waiting_ping_of(first, "L-" + first));
  names(waiting_ping_of(fourth, "L-" + fourth, HolderMode::shared));
  EXPECT_EQ(talk.release(), Said{grant(third, "L-b", {'w' + first, 'r' + fourth})});
  EXPECT_EQ(talk.phase(), Phase::granting);
  EXPECT_FALSE(talk.participant().holds());
  EXPECT_FALSE(talk.participant().is_trying());
  EXPECT_EQ(talk.hears(event::Pinged{"L-a", 1, 1}), nothing) << "that was about something else";
  EXPECT_EQ(talk.hears(event::Pinged{"L-b", 2, 2}), leave) << "he has it, and tells those who wait";
  EXPECT_EQ(talk.hears(event::Left{}), nothing);
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::released);
  EXPECT_TRUE(talk.participant().had_company());
}

TEST_F(Owner, WakesWhoeverWaitsIfTheOneWhoStoodReadyHasGone) {
  names(standing_ping_of(third, "L-a"));
  names(waiting_ping_of(first, "L-" + first));
  names(waiting_ping_of(fourth, "L-" + fourth));
  talk.release();
  EXPECT_EQ(talk.hears(event::Pinged{"L-a", 1, 1}),
            (Said{action::Leave{{hint(HintKind::wake, first, {'w' + fourth})}}}));
}

TEST_F(Owner, LeavesWithoutHandingItToOneWhoIsLongSilent) {
  names(standing_ping_of(third, "L-a"));
  talk.after(1250ms);
  Conversation patient = talk;
  EXPECT_EQ(patient.release(), Said{grant(third, "L-a")}) << "five check intervals are not long";
  talk.after(1ns);
  EXPECT_EQ(talk.release(), leave);
  EXPECT_FALSE(talk.participant().had_company());
}

TEST_F(Owner, LeavesAlsoWhenTheGrantIsRefused) {
  names(standing_ping_of(third, "L-a"));
  talk.release();
  EXPECT_EQ(talk.hears(event::Refused{Verb::ping, gone}), leave);
  talk.hears(event::Left{});
  EXPECT_EQ(talk.result(), Result::released);
}

TEST_F(Owner, SaysThatItIsLeavingOnceItHasHandedItOver) {
  names(standing_ping_of(third, "L-a"));
  talk.release();
  EXPECT_EQ(talk.hears_ping(standing_ping_of(first, "L-b")), Said{talk.answer("L-b", leaving(second))});
  EXPECT_EQ(talk.hears_ping(standing_ping_of(third, "L-c")), Said{talk.answer("L-c", leaving(second))});
  talk.hears(event::Pinged{"L-a", 3, 3});
  EXPECT_EQ(talk.hears_ping(standing_ping_of(third, "L-d")), Said{talk.answer("L-d", leaving(second))});
  talk.hears(event::Left{});
  EXPECT_EQ(talk.hears_ping(standing_ping_of(third, "L-e")), nothing);
}

TEST_F(Owner, HasNothingToCancelOrToWaitForWhileItHandsItOver) {
  names(standing_ping_of(third, "L-a"));
  talk.release();
  EXPECT_EQ(talk.participant().next_due(), std::nullopt) << "not even a check of itself";
  EXPECT_EQ(talk.cancel(), nothing);
  EXPECT_EQ(talk.after(20s), nothing);
  EXPECT_EQ(talk.hears(event::Doubted{"the process stood still"}), nothing);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.release(), nothing);
  EXPECT_EQ(talk.phase(), Phase::granting);
}

TEST_F(Owner, WhoseConnectionIsLostMeanwhileMayHaveLostTheLock) {
  names(standing_ping_of(third, "L-a"));
  talk.release();
  Conversation dropped = talk;
  talk.hears(event::Lost{gone});
  EXPECT_EQ(talk.phase(), Phase::idle);
  EXPECT_EQ(talk.result(), Result::lost);
  dropped.hears(event::Pinged{"L-a", 2, 2});
  dropped.hears(event::Lost{gone});
  EXPECT_EQ(dropped.result(), Result::lost);
}

// --- the writer who comes next -----------------------------------------------------------------------

class Writer : public Conversation<> {
 public:
  /// Has asked beside an owner, who tells him that he comes next, and some others.
  void stands_ready(std::initializer_list<Holder> others = {}) {
    joins_beside(1 + others.size());
    reached(2 + others.size());
    hears_answer(naming_us_next(third));
    for (const Holder& other : others) hears_answer(other);
    EXPECT_EQ(concludes(), nothing);
    EXPECT_EQ(phase(), Phase::resting);
  }
  Said is_handed_it(const std::string& nonce, std::vector<std::string> queue = {}) {
    return hears_ping(encode(Grant{second, nonce, std::move(queue)}));
  }
  Said is_handed_it() { return is_handed_it(channel()); }
  [[nodiscard]] bool holds() const { return participant().holds(); }
};

class Next : public testing::Test {
 protected:
  Writer talk;
};

TEST_F(Next, StaysAndLooksWhetherTheOwnerIsStillThere) {
  talk.stands_ready();
  EXPECT_FALSE(talk.participant().elected());
  ASSERT_EQ(talk.participant().blockers().size(), 1U);
  EXPECT_EQ(talk.participant().blockers().front().holder_id, third);
  EXPECT_EQ(talk.hears_ping(ping_of(first, "L-a")),
            Said{talk.answer("L-a", from(second, HolderMode::pending))});
  EXPECT_EQ(talk.after(10ms - 1ns), nothing);
  EXPECT_EQ(talk.after(1ns), look_at_count);
  EXPECT_EQ(talk.hears(event::Counted{2}), nothing);
  EXPECT_EQ(talk.after(10200us - 1ns), nothing) << "a little less often each time";
  EXPECT_EQ(talk.after(1ns), look_at_count);
  int looks = 2;
  Said said;
  while ((said = talk.after_next_timer()) == look_at_count) ++looks;
  EXPECT_EQ(said, Said{talk.listen()});
  EXPECT_EQ(talk.elapsed(), 250ms) << "all are asked once in a check interval";
  EXPECT_EQ(looks, 20);
}

TEST_F(Next, LooksLessOftenTheLongerTheLockHasBeenHeld) {
  for (const auto held : {10s, 3600s}) {
    Conversation other;
    other.joins_beside(1);
    other.reached(2);
    Holder owner = naming_us_next(third);
    owner.held_for = held;
    other.hears_answer(owner);
    other.concludes();
    EXPECT_EQ(other.after(200ms - 1ns), nothing);
    EXPECT_EQ(other.after(1ns), held == 10s ? look_at_count : nothing);
    EXPECT_EQ(other.after(50ms - 1ns), nothing);
    EXPECT_NE(other.after(1ns), nothing) << "but once in a check interval";
  }
}

TEST_F(Next, AsksAtOnceWhenNobodyElseIsLeft) {
  talk.stands_ready();
  EXPECT_EQ(talk.hears(event::Counted{1}), Said{talk.listen()});
  talk.asks_again();
  EXPECT_FALSE(talk.holds()) << "a count is no proof";
  talk.reached(1);
  talk.concludes();
  EXPECT_TRUE(talk.holds());
}

TEST_F(Next, TakesWhatItIsHandedAtOnce) {
  talk.stands_ready();
  EXPECT_EQ(talk.is_handed_it(talk.channel(), {'w' + fourth}),
            (Said{action::Publish{"L-" + fourth, encode(Hint{HintKind::next, {}})}}))
      << "and asks in whoever is first in line";
  EXPECT_TRUE(talk.holds()) << "before any ping can be answered";
  EXPECT_EQ(talk.result(), Result::acquired);
}

TEST_F(Next, TakesItOnlyInItsOwnNameAndInAnswerToItsLatestQuestion) {
  talk.stands_ready();
  const std::string before = talk.channel();
  EXPECT_EQ(talk.hears_ping(encode(Grant{fourth, before, {}})), nothing);
  EXPECT_FALSE(talk.holds());
  talk.after(250ms);
  EXPECT_EQ(talk.is_handed_it(before), nothing);
  talk.asks_again();
  EXPECT_EQ(talk.is_handed_it(before), nothing);
  talk.reached(2);
  talk.hears_answer(naming_us_next(third));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_EQ(talk.is_handed_it(before), nothing);
  EXPECT_FALSE(talk.holds());
  talk.is_handed_it();
  EXPECT_TRUE(talk.holds());
}

TEST_F(Next, TakesItOnlyOnceEverybodyHasAnswered) {
  talk.joins_beside(2);
  talk.hears_answer(naming_us_next(third));
  EXPECT_EQ(talk.is_handed_it(), nothing);
  EXPECT_EQ(talk.concludes(), nothing) << "whom has the question reached?";
  talk.hears(event::Pinged{talk.channel(), 3, 3});
  EXPECT_EQ(talk.concludes(), nothing) << "is it there at all?";
  talk.hears_ping(talk.own_ping());
  EXPECT_EQ(talk.concludes(), nothing) << "who is the third?";
  EXPECT_FALSE(talk.holds());
  talk.hears_answer(leaving(first));
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.holds());
}

TEST_F(Next, TakesNothingWhileItRestsForAnotherReason) {
  talk.joins_beside(1);
  talk.hears(event::Refused{Verb::ping, gone});
  ASSERT_EQ(talk.phase(), Phase::resting);
  EXPECT_EQ(talk.is_handed_it(), Said{talk.listen()}) << "its question has got through, but who is there?";
  EXPECT_FALSE(talk.holds());
}

TEST_F(Next, TakesItOnlyFromOneWhoHasNamedIt) {
  talk.joins_beside(1);
  talk.reached(2);
  talk.is_handed_it();
  talk.hears_answer(from(third, HolderMode::exclusive));
  EXPECT_EQ(talk.concludes(), leave);
}

TEST_F(Next, IsNotNamedByOneWhoOwnsNothing) {
  Holder reader = from(third, HolderMode::shared);
  reader.next = true;
  talk.joins_beside(1);
  talk.reached(2);
  talk.hears_answer(reader);
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_TRUE(talk.participant().elected()) << "it stands, as it would have anyway";
}

TEST_F(Next, LetsThoseGoFirstWhoMayHaveFoundOutThatItIsFree) {
  for (const std::string& ping :
       {ping_of(first, "L-a"), standing_ping_of(first, "L-a"), python_ping, ping_of(second, "L-twin")}) {
    Writer other;
    other.stands_ready();
    other.hears_ping(ping);
    EXPECT_EQ(other.is_handed_it(), Said{other.listen()}) << ping;
    other.asks_again();
    other.reached(1);
    other.concludes();
    EXPECT_TRUE(other.holds()) << "once they are not there";
  }
}

TEST_F(Next, DoesNotMindWhoElseAsks) {
  talk.stands_ready();
  talk.hears_ping(ping_of(fourth, "L-a"));
  talk.hears_ping(ping_of(first, "L-b", HolderMode::shared));
  talk.hears_ping(waiting_ping_of(first, "L-" + first));
  talk.is_handed_it();
  EXPECT_TRUE(talk.holds());
}

TEST_F(Next, DoesNotStandReadyBehindOneWhoMayComeBeforeIt) {
  const std::string old_reply = R"({"holder_id":")" + fourth + R"(","mode":"pending","protocol":1})";
  for (const std::string& answer :
       {encode_reply(from(first, HolderMode::pending)), encode_reply(from(fourth, HolderMode::pending, true)),
        encode_reply(from(fourth, HolderMode::exclusive)), old_reply}) {
    Writer other;
    other.joins_beside(2);
    other.reached(3);
    other.hears_answer(naming_us_next(third));
    other.hears_answer_as_written(answer);
    EXPECT_EQ(other.concludes(), nothing) << answer;
    EXPECT_EQ(other.phase(), Phase::resting) << answer;
    Writer handed = other;
    EXPECT_EQ(other.after(20ms), Said{other.listen()}) << answer;
    EXPECT_EQ(handed.is_handed_it(), Said{handed.listen()}) << answer;
    EXPECT_FALSE(handed.holds());
  }
}

TEST_F(Next, StandsReadyBesideThoseWhoComeLaterOrLeave) {
  talk.stands_ready({from(fourth, HolderMode::pending), leaving(first)});
  talk.is_handed_it();
  EXPECT_TRUE(talk.holds());
}

TEST_F(Next, LooksAgainWhereSomebodyWhoListensByPatternCouldHaveForgedIt) {
  talk.joins_beside(1);
  talk.reached(2, 3);
  talk.hears_answer(naming_us_next(third));
  talk.is_handed_it();
  EXPECT_EQ(talk.concludes(), nothing);
  EXPECT_FALSE(talk.holds());
  Writer forged = talk;
  forged.hears_answer(leaving(fourth));
  EXPECT_EQ(forged.concludes(), leave);
  talk.after(10ms);
  EXPECT_EQ(talk.concludes(), Said{talk.listen()});
  EXPECT_FALSE(talk.holds());
}

TEST_F(Next, IsNobodyWhoWillNotWaitAndNoReader) {
  Request once, fails, reads;
  once.once = fails.fail_when_locked = true;
  reads.mode = LockMode::shared;
  for (const Request& request : {once, fails, reads}) {
    Writer other;
    other.acquire(request);
    other.hears(event::Opened{});
    const auto mode = request.mode == LockMode::shared ? HolderMode::shared : HolderMode::pending;
    EXPECT_EQ(other.hears(event::Joined{2}), Said{other.ping(mode)}) << "and those who won't wait say so";
    other.reached(2);
    other.hears_answer(naming_us_next(third));
    EXPECT_EQ(other.is_handed_it(), nothing);
    EXPECT_EQ(other.concludes(), leave);
  }
}

}  // namespace
}  // namespace sublock::core
