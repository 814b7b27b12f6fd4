// SPDX-License-Identifier: MIT

// Each rule of a lease, broken: the search must find what the rule is there for. And kept, in the very same
// circumstances, it must find nothing, or it would only have found a fault of its own.

#include "searches.hpp"

#include <gtest/gtest.h>

namespace sublock::lease_sim {
namespace {

constexpr std::string_view two_owners = "two owners";

Findings search_broken(Circumstances how, Rule rule) {
  how.broken = rule;
  return search(how);
}

/// What takes long, with the rule kept, stands among the large searches.
enum class Keeping { searched_here, searched_elsewhere };

/// Whether what was found begins with `fault`.
void expect_caught(std::string_view what, Rule rule, std::string_view fault, Circumstances how,
                   Keeping keeping = Keeping::searched_here) {
  if (fault == two_owners) how.key_is_his = false;
  if (keeping == Keeping::searched_here) {
    const Findings kept = search(how);
    EXPECT_EQ(kept.fault, "") << "though the rule is kept";
    EXPECT_TRUE(kept.complete);
  }
  const Findings broken = search_broken(how, rule);
  print(std::string(what) + ", caught", broken);
  EXPECT_EQ(broken.fault.substr(0, fault.size()), fault) << what << ":\n" << broken.fault;

  if (keeping == Keeping::searched_elsewhere) return;
  how.lean = how.symmetric = false;
  how.exact = true;
  const Findings all = search_broken(how, rule);
  EXPECT_EQ(all.fault.substr(0, fault.size()), fault) << what << ", without shortcuts:\n" << all.fault;
}

/// Some rules are not about owners at all.
void expect_harmless(std::string_view what, Rule rule, const Circumstances& how) {
  const Findings found = search_broken(how, rule);
  print(std::string(what) + ", harmless", found);
  EXPECT_EQ(found.fault, "");
  EXPECT_TRUE(found.complete);
}

constexpr Circumstances calm{.cancels = false};
constexpr Circumstances doubting{.cancels = false, .doubts = 1};
constexpr Circumstances breaking{.cancels = false, .breaks = 1};
constexpr Circumstances sleeping{.cancels = false, .sleeps = 1};
constexpr Circumstances fenced{.fencing = true, .cancels = false};

// --- the leaseholder -----------------------------------------------------------------------------------

TEST(Mutants, ConfirmationsThatCountFromTheAnswer) {
  expect_caught("counted from the answer", Rule::count_from_sending, two_owners, calm);
}

TEST(Mutants, OwnersWhoDoNotLookAtTheClock) {
  expect_caught("claimed after its time", Rule::mind_the_expiry, two_owners, calm);
}

TEST(Mutants, AnswersToOlderExtensionsThatConfirm) {
  expect_caught("an older extension", Rule::latest_extension_only, two_owners, doubting);
}

TEST(Mutants, RefusedExtensionsThatConfirm) {
  expect_caught("a refused extension", Rule::believe_refusals, two_owners, doubting);
}

TEST(Mutants, TakesThatShareAMark) {
  expect_caught("one mark for all takes", Rule::fresh_mark, "an owner without the key", breaking);
}

TEST(Mutants, KeysThatAreFoundAndNotProven) {
  expect_caught("found and not proven", Rule::prove_what_is_found, two_owners, breaking);
}

TEST(Mutants, OwnersWhoDoNotDoubt) {
  expect_caught("no doubt while it holds", Rule::doubt_while_holding, two_owners, sleeping);
  expect_caught("no doubt while it takes", Rule::doubt_while_taking, two_owners, sleeping);
}

TEST(Mutants, ProofsOfBeforeADoubt) {
  Circumstances how = fenced;
  how.players = 1;
  how.sleeps = 1;
  expect_caught("a proof of before", Rule::doubt_while_proving, "an owner without the key", how);
}

TEST(Mutants, TokensWithoutProof) {
  Circumstances how = fenced;
  how.players = 1;
  how.sleeps = 1;
  expect_caught("a token without proof", Rule::prove_the_token, "an owner without the key", how);
}

TEST(Mutants, TokensOfAnEarlierProof) {
  Circumstances how = fenced;
  how.refusals = 1;
  expect_caught("an earlier token", Rule::token_of_this_proof, "a token that is not higher", how,
                Keeping::searched_elsewhere);
}

// --- its server, and its transport ---------------------------------------------------------------------

TEST(Mutants, ExtensionsThatDoNotCompare) {
  expect_caught("extended without a look", Rule::compare_in_extend, two_owners, calm);
}

TEST(Mutants, DropsThatDoNotCompare) {
  expect_caught("dropped without a look", Rule::compare_in_drop, two_owners, calm);
}

TEST(Mutants, KeysThatGetTheirExpiryLater) {
  expect_caught("no expiry", Rule::expire_in_take, "a key that never expires", calm);
}

TEST(Mutants, DoubtsThatComeTooLate) {
  expect_caught("believed after its sleep", Rule::doubt_first, two_owners, sleeping);
}

// --- and what nobody's safety depends on ----------------------------------------------------------------

/// The time that was confirmed before bounds what is claimed, and the key was ours until then: unless somebody
/// deletes it who has no part in this.
TEST(Mutants, WhoIgnoresARefusedExtensionIsStoppedByTheClock) {
  expect_harmless("a refused extension ignored", Rule::lose_at_refusal, breaking);
}

/// He stands in his own way then, for as long as a lease lasts.
TEST(Mutants, WhoTakesAnewWithoutALookHarmsHimself) {
  expect_harmless("no look after a lost take", Rule::look_after_lost_take, breaking);
}

/// As long as clocks go alike: the order proves a token even where they don't.
TEST(Mutants, TokensThatAreDrawnLastAreProvenByTheClock) {
  expect_harmless("a token drawn last", Rule::token_before_extension, fenced);
}

}  // namespace
}  // namespace sublock::lease_sim
