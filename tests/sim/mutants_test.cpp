// SPDX-License-Identifier: MIT

// Each rule of the protocol, broken: the search must find what the rule is there for. And kept, in the very
// same circumstances, it must find nothing, or it would only have found a fault of its own.
//
// R1 to R7 are about two owners, and so are R9 and R10; R8 is a courtesy; R11 and R12 are about loss and
// killing, and have expectations of their own.

#include "searches.hpp"

#include <gtest/gtest.h>

namespace sublock::sim {
namespace {

using core::Rules;

/// Whether what was found begins with `fault`.
void expect_caught(std::string_view how, const Findings& found, std::string_view fault) {
  print(std::string(how) + ", caught", found);
  EXPECT_EQ(found.fault.substr(0, fault.size()), fault) << how << ":\n" << found.fault;
}

void expect_nothing(std::string_view mix, const Circumstances& circumstances,
                    const Expectations& expectations = {}) {
  const Findings found = search(mix, circumstances, expectations);
  EXPECT_EQ(found.fault, "") << "though the rule is kept";
  EXPECT_TRUE(found.complete);
}

template <Rules broken>
void expect_caught(std::string_view how, std::string_view fault, std::string_view mix,
                   const Circumstances& circumstances, const Expectations& expectations = {}) {
  expect_nothing(mix, circumstances, expectations);
  // What a lean search leaves out makes no difference only while the rules are kept.
  Circumstances all = circumstances;
  all.lean = false;
  expect_caught(how, search<broken>(mix, all, expectations), fault);
}

constexpr Circumstances calm{.timeouts = 0, .recounts = false, .cancels = false};

TEST(Mutants, R1JoinsThatAreCountedAfterwards) {
  expect_caught<Rules{.count_in_join = false}>("R1 broken by the participant", "two owners", "WW", calm);
}

TEST(Mutants, R1JoinsThatAreCountedBefore) {
  Circumstances how = calm;
  expect_nothing("WW", how, {});
  how.join_in_two_steps = true;
  expect_caught("R1 broken by the transport", search("WW", how), "two owners");
}

TEST(Mutants, R1ReadersThatAreCountedBefore) {
  Circumstances how = calm;
  expect_nothing("WR", how, {});
  how.join_in_two_steps = true;
  expect_caught("R1 broken by the transport, for readers", search("WR", how), "an owner beside a reader");
}

TEST(Mutants, R2HoldersThatAnswerPending) {
  expect_caught<Rules{.hold_before_answering = false}>("R2 broken", "two owners", "WW", calm);
}

TEST(Mutants, R3ReachTakenFromTheJoin) {
  expect_caught<Rules{.count_in_ping = false}>("R3 broken by the participant", "two owners", "WWW", calm);
}

TEST(Mutants, R3ReachCountedAfterwards) {
  Circumstances how = calm;
  expect_nothing("WWW", how, {});
  how.ping_in_two_steps = true;
  expect_caught("R3 broken by the transport", search("WWW", how), "two owners");
}

TEST(Mutants, R4SilenceTakenForConsent) {
  Circumstances how = calm;
  how.timeouts = 1;
  expect_caught<Rules{.complete_answers_only = false}>("R4 broken", "two owners", "WW", how);
}

TEST(Mutants, R5OneResponseChannelForAllProbes) {
  // An answer from before, in a mouth that broke, comes after what its sender has said since.
  Circumstances how = calm;
  how.tries = 2;
  how.breaks = 1;
  how.recounts = true;
  expect_caught<Rules{.fresh_response_channel = false}>("R5 broken", "two owners", "WW", how);
}

TEST(Mutants, R6PingersForgotten) {
  Circumstances how = calm;
  how.tries = 2;
  expect_caught<Rules{.pinger_is_candidate = false}>("R6 broken", "two owners", "WW", how);
}

TEST(Mutants, R6PingersForgottenWhereJoinsDontCount) {
  Circumstances how = calm;
  how.join_counts = false;
  expect_caught<Rules{.pinger_is_candidate = false}>("R6 broken, no count in joins", "two owners", "WW", how);
}

TEST(Mutants, R6PingersForgottenWhereJoinsComeInPieces) {
  Circumstances how = calm;
  how.join_in_pieces = true;
  expect_caught<Rules{.pinger_is_candidate = false}>("R6 broken, joins in pieces", "two owners", "WW", how);
}

TEST(Mutants, R1JoinsInPiecesThatAreTakenForTheFirst) {
  Circumstances how = calm;
  how.join_in_pieces = true;
  expect_nothing("WW", how, {});
  expect_nothing("WR", how, {});
  how.join_guesses = true;
  expect_caught("R1 broken by a transport that can't count", search("WW", how), "two owners");
  expect_caught("R1 broken by it, for readers", search("WR", how), "an owner beside a reader");
}

TEST(Mutants, R7AnybodyClaims) {
  Circumstances how = calm;
  how.tries = 2;
  expect_caught<Rules{.first_in_order_claims = false}>("R7 broken", "two owners", "WW", how);
}

TEST(Mutants, R8SilentWhileLeaving) {
  expect_caught<Rules{.answer_while_leaving = false}>("R8 broken", "all has been said", "WW", calm,
                                                      {.quiet_means_done = true});
}

TEST(Mutants, R9ReadersThatSayPendingLetAWriterIn) {
  // Where joins count, a reader among readers has it before anybody can ask him.
  Circumstances how = calm;
  how.join_counts = false;
  expect_caught<Rules{.readers_are_shared = false}>("R9 broken, two readers and a writer",
                                                    "an owner beside a reader", "WRR", how);
}

TEST(Mutants, R9ReadersThatSayPendingTurnReadersAway) {
  Circumstances how = calm;
  how.join_counts = false;
  expect_caught<Rules{.readers_are_shared = false}>("R9 broken, two readers", "a reader makes way", "RR", how,
                                                    {.readers_agree = true});
}

TEST(Mutants, R10GrantsAreTakenWhoeverComesFirst) {
  expect_caught<Rules{.grant_yields = false}>("R10 broken", "two owners", "WWW", calm);
}

TEST(Mutants, R10GrantsThatComeLate) {
  // From a mouth that broke, after its owner has given up and somebody else has taken the lock.
  Circumstances how = calm;
  how.tries = 2;
  how.breaks = 1;
  expect_caught<Rules{.grant_yields = false}>("R10 broken by a mouth", "two owners", "WW", how);
}

TEST(Mutants, TokensDrawnByOneWhoHasLostTheLock) {
  Circumstances how = calm;
  how.kills = 1;
  how.fencing = true;
  expect_caught<Rules{.token_needs_proof = false}>("tokens without proof", "a fencing token was drawn", "WW",
                                                   how);
}

TEST(Mutants, R11HoldersThatGoOnWithoutAnEar) {
  Circumstances how = calm;
  how.kills = 1;
  expect_caught<Rules{.loss_is_final = false}>("R11 broken", "somebody holds the lock who knows", "WW", how);
}

TEST(Mutants, R12KilledAfterOneSilence) {
  Circumstances how = calm;
  how.timeouts = Circumstances::endless;
  how.count_questions = true;
  expect_caught<Rules{.kill_only_asked_twice = false}>(
      "R12 broken", "somebody is killed who was asked but once", "WW", how, {.asked_twice = true});
}

TEST(Mutants, R12SharedEarsTakenForStrangers) {
  Circumstances how = calm;
  how.timeouts = 1;
  expect_caught<Rules{.shared_ears_count = false}>("shared ears not looked for", "two owners", "wW", how);
  expect_caught<Rules{.shared_ears_count = false}>("the same by one who shares one", "two owners", "ww", how);
  expect_caught<Rules{.shared_ears_count = false}>("the same by a reader", "an owner beside a reader", "wR",
                                                   how);
}

TEST(Mutants, R12SharedEarsKilledAfterOneSilence) {
  Circumstances how = calm;
  how.timeouts = Circumstances::endless;
  how.count_questions = true;
  expect_caught<Rules{.kill_only_asked_twice = false}>("R12 broken, shared ears",
                                                       "somebody is killed who was asked but once", "wW", how,
                                                       {.asked_twice = true});
}

TEST(Mutants, R12SharedEarsThatAreMarkedTooLate) {
  Circumstances how = calm;
  how.timeouts = 1;
  expect_nothing("wW", how, {});
  how.marks_come_late = true;
  expect_caught("R12 broken by the transport, shared ears", search("wW", how), "two owners");
}

TEST(Mutants, TwoOfOneChannelOnOneEar) {
  Circumstances how = calm;
  expect_nothing("ww", how, {});
  how.one_ear_for_all = true;
  expect_caught("one ear for two of one channel", search("ww", how), "two owners");
}

TEST(Mutants, TheSearchStopsAtTheShortestWay) {
  // Both join at a count of one: three events for each, and two steps of the server.
  Circumstances how = calm;
  how.join_in_two_steps = true;
  how.reduced = false;
  const Findings found = search("WW", how);
  EXPECT_NE(found.fault.find("after 10 steps"), std::string::npos) << found.fault;
}

}  // namespace
}  // namespace sublock::sim
