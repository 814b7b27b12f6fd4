// SPDX-License-Identifier: MIT

// A program forks while it holds: the child inherits the sockets, not the thread that answers. Nothing it does
// with what it inherited reaches the wire, and no program it starts has a socket of ours.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

namespace support {
namespace {

class ForkedChild : public Cases {
 protected:
  Process fork_and(const std::string& what) { return help("forker", server, {"fk", what}); }
};

class ForkedChildThat : public ForkedChild, public ::testing::WithParamInterface<std::string> {};

TEST_P(ForkedChildThat, DoesAsItLikesIsNotHeardOf) {
  auto parent = fork_and(GetParam());
  parent.expect_line("^HELD$");
  EXPECT_EQ(parent.expect_line("^CHILD "), "CHILD 0") << parent.transcript();
  EXPECT_EQ(server.subscribers("fk"), 1);
  EXPECT_EQ(ask(server.port(), "fk").size(), 1u);
  auto rival = drive("fk", {"wait=1"});
  expect_after_try(rival, " FAILED busy ", 1, 1 + U + 0.5);
  parent.say("go on");
  EXPECT_EQ(parent.expect_line("^(RELEASED|LOST)$"), "RELEASED");
  EXPECT_EQ(parent.exit_status(), 0) << parent.transcript();
  EXPECT_EQ(server.subscribers("fk"), 0);
  EXPECT_EQ(server.kills(), 0);
}

INSTANTIATE_TEST_SUITE_P(AChild, ForkedChildThat,
                         ::testing::Values("exit", "release", "ask", "acquire", "anew", "exec", "spawn"),
                         [](const auto& child) { return child.param; });

TEST_F(ForkedChild, DoesNotHoldForAParentThatIsGone) {
  auto parent = fork_and("linger");
  parent.expect_line("^HELD$");
  auto waiter = drive("fk", {"wait=20"});
  waiter.expect_line(" TRY$");
  parent.signal(SIGKILL);
  const double killed = now();
  EXPECT_LE(stamp_of(waiter.expect_line(" GOT$")) - killed, U + 2 * C + 1);
  EXPECT_EQ(waiter.exit_status(), 0) << waiter.transcript();
}

TEST_F(ForkedChild, AHolderThatBecomesAnotherProgramHoldsNoMore) {
  auto holder = fork_and("become");
  holder.expect_line("^HELD$");
  holder.expect_line("^ANOTHER$");
  EXPECT_TRUE(eventually([&] { return server.subscribers("fk") == 0; }, std::chrono::milliseconds(500)));
  auto next = drive("fk", {"try"});
  EXPECT_EQ(next.exit_status(), 0) << next.transcript();
  holder.say("go on");
  EXPECT_EQ(holder.exit_status(), 0) << holder.transcript();
}

}  // namespace
}  // namespace support
