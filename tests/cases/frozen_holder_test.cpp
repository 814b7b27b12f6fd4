// SPDX-License-Identifier: MIT

// A holder that is stopped, by a debugger or a laptop's lid, is followed, and resumes in the middle of its critical
// section: it must learn its loss at once and disturb nobody with its release.

#include <poll.h>

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>

#include <sublock/redis_lock.hpp>

#include <functional>
#include <thread>

namespace support {
namespace {

class FrozenHolder : public Cases {
 protected:
  /// A process that waits for a line on its stdin before it ends, and prints what it is told to.
  class Child {
   public:
    explicit Child(const std::function<void(int out)>& work) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
      pid_ = ::fork();
      if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(ends[0]);
        work(ends[1]);
        ::_exit(0);
      }
      ::close(ends[1]);
      out_ = ends[0];
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      ::close(out_);
    }
    [[nodiscard]] pid_t pid() const { return pid_; }

    struct Answer {
      double at = 0;
      double held = 0;
    };
    /// Nothing once the bound is over.
    [[nodiscard]] std::optional<Answer> next(std::chrono::milliseconds within = 5s) const {
      pollfd poll{out_, POLLIN, 0};
      Answer answer;
      if (::poll(&poll, 1, static_cast<int>(within.count())) != 1 ||
          ::read(out_, &answer, sizeof answer) != sizeof answer)
        return std::nullopt;
      return answer;
    }

   private:
    pid_t pid_ = -1;
    int out_ = -1;
  };

  static void freeze(Process& holder) {
    holder.expect_line(" GOT$");
    holder.signal(SIGSTOP);
  }
  static void expect_takeover(Process& follower) { expect_after_try(follower, " GOT$", 0, U + 2 * C + 1); }

  void expect_undisturbed(Process& follower) {
    EXPECT_TRUE(throughout(500ms, [&] { return server.subscribers("sc") == 1; }));
    expect_kept(follower);
    EXPECT_EQ(server.kills(), 1);
  }
};

TEST_F(FrozenHolder, IsFollowedAndLearnsItWhenItWakes) {
  auto holder = drive("sc", {"hold=60"});
  freeze(holder);
  auto follower = drive("sc", {"wait=8", "hold=60"});
  expect_takeover(follower);
  const double woken = now();
  holder.signal(SIGCONT);
  EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - woken, 1);
  EXPECT_EQ(holder.exit_status(2s), 3) << holder.transcript();
  expect_undisturbed(follower);
}

TEST_F(FrozenHolder, ThatWakesToReleaseDisturbsNobody) {
  auto holder = drive("sc", {"hold=60"});
  freeze(holder);
  auto follower = drive("sc", {"wait=8", "hold=60"});
  expect_takeover(follower);
  holder.signal(SIGTERM);
  holder.signal(SIGCONT);
  EXPECT_EQ(holder.exit_status(2s), 3) << holder.transcript();
  EXPECT_EQ(count(holder, "LOST"), 1) << holder.transcript();
  expect_undisturbed(follower);
}

// It asks every 50 ms whether it still holds, as a careful user would.
TEST_F(FrozenHolder, AnswersNoToEveryQuestionAfterItWoke) {
  const Child holder([url = server.url()](int out) {
    sublock::RedisLock lock("sc", {.connection = {.url = url}});
    lock.acquire();
    for (;;) {
      const Child::Answer answer{now(), lock.held() ? 1.0 : 0.0};
      if (::write(out, &answer, sizeof answer) != sizeof answer) return;
      ::poll(nullptr, 0, 50);  // until the next question
    }
  });
  const auto first = holder.next();
  ASSERT_TRUE(first && first->held == 1.0);
  ::kill(holder.pid(), SIGSTOP);
  auto follower = drive("sc", {"wait=8", "hold=60"});
  expect_takeover(follower);
  const double woken = now();
  ::kill(holder.pid(), SIGCONT);
  int asked = 0;
  while (asked < 20) {
    const auto answer = holder.next();
    ASSERT_TRUE(answer);
    if (answer->at <= woken + 0.1) continue;
    ++asked;
    EXPECT_EQ(answer->held, 0.0) << answer->at - woken << " s after it woke";
  }
  expect_undisturbed(follower);
}

// portalocker 2.2.1 does not tell its caller, but its release must not disturb us either.
TEST_F(FrozenHolder, OfPortalockerIsFollowedByUs) {
  auto holder = peer("portalocker_peer.py", server, "sc");
  freeze(holder);
  auto follower = drive("sc", {"wait=8", "hold=60"});
  expect_takeover(follower);
  holder.say("release");
  holder.signal(SIGCONT);
  holder.exit_status();
  expect_undisturbed(follower);
}

// A portalocker that has lost patience kills by name, and goes in.
TEST_F(FrozenHolder, IsFollowedByPortalockerAndLearnsIt) {
  auto holder = drive("sc", {"hold=60", "id=" + std::string(32, '9')});
  freeze(holder);
  const auto ear = server.client_id("sc-lock-" + std::string(32, '9'));
  ASSERT_EQ(server.command({"CLIENT", "KILL", "ID", std::to_string(ear)}), "1");
  auto theirs = peer("scripted_peer.py", server, "sc", {"mode=exclusive", "elected=true"});
  theirs.expect_line(" JOINED 1$");
  const double woken = now();
  holder.signal(SIGCONT);
  EXPECT_LE(stamp_of(holder.expect_line(" LOST ")) - woken, 1);
  EXPECT_EQ(holder.exit_status(2s), 3) << holder.transcript();
  EXPECT_TRUE(throughout(500ms, [&] { return server.subscribers("sc") == 1; }));
  EXPECT_TRUE(theirs.running());
}

}  // namespace
}  // namespace support
