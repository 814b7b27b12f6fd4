// SPDX-License-Identifier: MIT

// A user who may not do everything: managed services and ACL users lack some commands or channels, and new
// users have no channel at all.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

namespace support {
namespace {

/// What a user may do, and how a lock that needs more must say so.
struct Rights {
  std::vector<std::string> rules;
  std::string missing;  ///< in the error's text, as a regular expression
};

const std::string everything = "+@all";

class Acl : public Cases {
 protected:
  void create_user(const std::vector<std::string>& rules) {
    std::vector<std::string> words = {"ACL", "SETUSER", "worker", "reset", "on", ">secret", "~*"};
    words.insert(words.end(), rules.begin(), rules.end());
    ASSERT_EQ(server.command(words), "OK");
  }

  Process drive_as_user(std::vector<std::string> words) {
    words.insert(words.end(), {"user=worker", "password=secret"});
    return drive("acl", words);
  }

  /// Refused at the first acquire, whether the lock is free, held, or held by somebody frozen.
  void expect_refused(const Rights& rights) {
    const std::string refusal = " FAILED permission .*" + rights.missing;
    create_user(rights.rules);
    auto free = drive_as_user({"wait=3"});
    expect_after_try(free, refusal, 0, 3 + U + 1);
    EXPECT_EQ(free.exit_status(), 1);
    EXPECT_EQ(server.subscribers("acl"), 0);

    auto holder = drive("acl", {"hold=60"});
    holder.expect_line(" GOT$");
    auto contender = drive_as_user({"wait=3"});
    expect_after_try(contender, refusal, 0, 3 + U + 1);
    EXPECT_EQ(server.subscribers("acl"), 1);
    holder.signal(SIGSTOP);
    auto successor = drive_as_user({"wait=3"});
    expect_after_try(successor, refusal, 0, 3 + U + 1);
    EXPECT_EQ(server.subscribers("acl"), 1);
    holder.signal(SIGCONT);
    expect_kept(holder);

    auto object = drive_as_user({"wait=3", "loop"});
    object.expect_line(refusal);
    create_user({"allchannels", everything});
    object.expect_line(" GOT$");
    EXPECT_EQ(server.kills(), 0);
  }

  /// Works as ever while nobody is frozen; whoever is can't be followed, and the error says why.
  void expect_refused_to_reap(const Rights& rights) {
    create_user(rights.rules);
    auto holder = drive_as_user({"hold=60"});
    holder.expect_line(" GOT$");
    auto contender = drive_as_user({"wait=0.5"});
    expect_after_try(contender, " FAILED busy ", 0.5, 0.5 + U + 0.5);
    expect_kept(holder);
    auto reader = drive_as_user({"shared", "hold=60"});
    reader.expect_line(" GOT$");
    reader.signal(SIGSTOP);
    auto object = drive_as_user({"wait=3", "loop"});
    const auto line = expect_after_try(object, " FAILED permission .*" + rights.missing, 3, 3 + U + 1);
    EXPECT_NE(line.find("1 of 2 subscribers did not answer"), std::string::npos) << line;
    EXPECT_EQ(server.kills(), 0);
    reader.signal(SIGCONT);
    expect_kept(reader);
    object.expect_line(" GOT$");
  }
};

TEST_F(Acl, WithoutClientKillOnlyTheFrozenAreSafe) {
  expect_refused_to_reap({{"&*", everything, "-client|kill"}, "CLIENT KILL"});
}

TEST_F(Acl, WithoutClientListOnlyTheFrozenAreSafe) {
  expect_refused_to_reap({{"&*", everything, "-client|list"}, "CLIENT LIST"});
}

TEST_F(Acl, WithoutClientThereIsNoLock) { expect_refused({{"&*", everything, "-client"}, "CLIENT SETNAME"}); }

TEST_F(Acl, WithoutPubsubThereIsNoLock) { expect_refused({{"&*", everything, "-pubsub"}, "PUBSUB NUMSUB"}); }

TEST_F(Acl, WhoMayNotPublishCouldNotAnswer) { expect_refused({{"&*", everything, "-publish"}, "PUBLISH"}); }

TEST_F(Acl, WithoutAnyChannelBothPatternsAreNamed) {
  expect_refused({{"resetchannels", everything}, "acl and acl-\\*"});
}

TEST_F(Acl, WithoutResponseChannelsTheirPatternIsNamed) {
  expect_refused({{"resetchannels", "&acl", everything}, "channel acl-\\*"});
}

TEST_F(Acl, AnAnswerThatIsForbiddenDoesNotEndAHold) {
  create_user({"resetchannels", "&acl", "&acl-*", everything});
  auto holder = drive_as_user({"hold=60"});
  holder.expect_line(" GOT$");
  EXPECT_EQ(server.command({"PUBLISH", "acl", R"({"message":"ping","response_channel":"forbidden"})"}), "1");
  EXPECT_EQ(ask(server.port(), "acl").size(), 1u);
  auto contender = drive("acl", {"wait=0.5"});
  expect_after_try(contender, " FAILED busy ", 0.5, 0.5 + U + 0.5);
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

TEST_F(Acl, TwoChannelPatternsAreAllThatIsNeeded) {
  create_user({"resetchannels", "&acl", "&acl-*", everything});
  auto frozen = drive_as_user({"hold=60"});
  frozen.expect_line(" GOT$");
  frozen.signal(SIGSTOP);
  auto successor = drive_as_user({"wait=20"});
  expect_after_try(successor, " GOT$", 2 * U, U + 2 * C + 1);
  EXPECT_EQ(successor.exit_status(), 0) << successor.transcript();
  EXPECT_EQ(server.kills(), 1);
}

TEST_F(Acl, AServerWithoutClientCommandIsRefused) {
  LiveRedis managed({"--rename-command", "CLIENT", ""});
  auto driver = support::drive(managed, "acl", {"wait=3"});
  expect_after_try(driver, " FAILED permission .*CLIENT SETNAME", 0, 3 + U + 1);
  EXPECT_EQ(driver.exit_status(), 1);
  EXPECT_EQ(managed.subscribers("acl"), 0);
}

TEST_F(Acl, RightsThatAreTakenAwayAreALoss) {
  create_user({"resetchannels", "&acl", "&acl-*", everything});
  auto holder = drive_as_user({"hold=60"});
  holder.expect_line(" GOT$");
  const double taken = now();
  ASSERT_EQ(server.command({"ACL", "SETUSER", "worker", "resetchannels"}), "OK");
  EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - taken, 1.0);
  EXPECT_EQ(holder.exit_status(), 3) << holder.transcript();
  EXPECT_EQ(server.subscribers("acl"), 0);
}

class AclOfAKey : public Acl {
 protected:
  Process drive_key_as_user(std::vector<std::string> words) {
    words.insert(words.end(), {"user=worker", "password=secret"});
    return drive_key("acl", words);
  }
};

// Extended, given back, and told about: what README asks for is enough for all of it.
TEST_F(AclOfAKey, IsMetByWhatIsAskedFor) {
  create_user({"resetkeys", "~acl", "~acl-fence", "resetchannels", "&acl-*", "-@all", "+set", "+eval",
               "+getrange", "+del", "+type", "+pttl", "+publish", "+subscribe", "+unsubscribe", "+ping",
               "+incr"});
  auto owner = drive_key_as_user({"fencing", "interval=0.2", "hold=60"});
  owner.expect_line(" GOT token=1$");
  const auto stored = server.command({"GET", "acl"});
  EXPECT_TRUE(eventually([&] { return server.command({"GET", "acl"}) != stored; }));
  auto waiter = drive_key_as_user({"fencing"});
  ASSERT_TRUE(eventually([&] { return server.calls("subscribe") == 1; }));
  owner.signal(SIGTERM);
  const double released = stamp_of(owner.expect_line(" RELEASED$"));
  EXPECT_LE(stamp_of(waiter.expect_line(" GOT token=2$")) - released, 0.2);
  EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
}

TEST_F(AclOfAKey, ThatLacksSomethingNamesIt) {
  create_user({"allchannels", everything, "-set"});
  auto taking = drive_key_as_user({"wait=3"});
  expect_after_try(taking, " FAILED permission .* SET: NOPERM", 0, 1);
  create_user({"allchannels", everything, "-incr"});
  auto fencing = drive_key_as_user({"wait=3", "fencing"});
  expect_after_try(fencing, " FAILED permission .* INCR: NOPERM", 0, 1);
  EXPECT_EQ(server.command({"EXISTS", "acl"}), "0") << "what it had taken it has given back";
  create_user({"allchannels", everything, "-eval"});
  auto extending = drive_key_as_user({"hold=60"});
  extending.expect_line(" LOST .* EVAL: NOPERM");
  auto unlocking = drive_key_as_user({"wait=3", "hold=0"});
  unlocking.expect_line(" LOST .* EVAL: NOPERM");
  EXPECT_EQ(unlocking.exit_status(), 3);
}

}  // namespace
}  // namespace support
