// SPDX-License-Identifier: MIT

// At a terminal: the keys of `sublock run` reach the command without help, and `sublock watch` draws a page and
// leaves the terminal as it was.

#include <command/command.hpp>
#include <command/terminal.hpp>

#include <string>

namespace support {
namespace {

class TerminalCommand : public Command {};

TEST_F(TerminalCommand, HearsTheInterruptKeyOnce) {
  Terminal terminal({SUBLOCK_COMMAND, "run", "--redis", server.url(), "c", "sh", "-c",
                     "trap 'echo hit' INT; echo READY; read a; read b; read c; exit 6"});
  ASSERT_TRUE(terminal.shows("READY")) << terminal.screen();
  terminal.type("\x03");
  ASSERT_TRUE(terminal.shows("hit")) << terminal.screen();
  terminal.type("x\nx\nx\n");
  EXPECT_EQ(terminal.exit_status(), 6);
  const std::string& screen = terminal.screen();
  EXPECT_EQ(screen.find("hit", screen.find("hit") + 1), std::string::npos) << screen;
}

TEST_F(TerminalCommand, ShowsWhoHasALockUntilAKeyEndsIt) {
  auto holder = run({"--label", "the one", "c"});
  holder.expect_line("^held ");
  for (const char* const key : {"q", "\x03"}) {
    Terminal terminal(
        {"env", "TERM=xterm", SUBLOCK_COMMAND, "watch", "-i", "0.05", "--redis", server.url(), "c"},
        {.rows = 8, .columns = 40});
    ASSERT_TRUE(terminal.shows("1 holding, 0 waiting")) << terminal.screen();
    ASSERT_TRUE(terminal.shows("holding  exclusive")) << terminal.screen();
    auto waiter = run({"c", "true"});
    ASSERT_TRUE(terminal.shows("1 holding, 1 waiting")) << terminal.screen();
    terminal.type(key);
    EXPECT_EQ(terminal.exit_status(), 0) << terminal.screen();
    const std::string& screen = terminal.screen();
    EXPECT_TRUE(screen.ends_with("\x1b[?25h\x1b[?1049l")) << "the cursor, and the page that was there before";
    EXPECT_EQ(screen.find("everybody above"), std::string::npos) << "beyond the 40th column";
  }
}

TEST_F(TerminalCommand, ThatCannotBeDrawnOnGetsLines) {
  auto holder = run({"c"});
  holder.expect_line("^held ");
  Terminal terminal({"env", "TERM=dumb", SUBLOCK_COMMAND, "watch", "--redis", server.url(), "c"});
  EXPECT_TRUE(terminal.shows(" holds ")) << terminal.screen();
  EXPECT_EQ(terminal.screen().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace support
