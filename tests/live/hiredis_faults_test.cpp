// SPDX-License-Identifier: MIT

// The hiredis transport in bad weather: killed and idle mouths, restarted and silent servers, replies
// that nobody asked for, peers that hang up. The program must survive all of it, and in time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <live/caller.hpp>
#include <sublock/transport/hiredis.hpp>
#include <support/live_redis.hpp>
#include <support/relay.hpp>

#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sublock::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
namespace event = core::event;

/// Answers every message on "lock" through the mouth, from whichever thread hears it: a holder, in short.
class Answerer : public core::Listener {
 public:
  explicit Answerer(std::shared_ptr<HiredisTransport> transport) : transport_(std::move(transport)) {
    std::unique_lock lock(transport_->mutex());
    line_.emplace(transport_, *this);
    line_->open();
    while (!opened_) line_->wait(lock, 10s, {});
    line_->join("lock", response, "name");
    while (!joined_) line_->wait(lock, 10s, {});
  }
  ~Answerer() {
    const std::lock_guard lock(transport_->mutex());
    line_.reset();
  }
  bool lost() const {
    const std::lock_guard lock(transport_->mutex());
    return lost_;
  }
  void on_event(const core::Event& event) override {
    opened_ = opened_ || std::holds_alternative<event::Opened>(event);
    joined_ = joined_ || std::holds_alternative<event::Joined>(event);
    lost_ = lost_ || std::holds_alternative<event::Lost>(event);
    if (const auto* message = std::get_if<event::Message>(&event))
      line_->publish("answers", message->payload);
  }

 private:
  std::shared_ptr<HiredisTransport> transport_;
  std::optional<HiredisTransport::Line> line_;
  bool opened_ = false;
  bool joined_ = false;
  bool lost_ = false;
};

class HiredisFaults : public ::testing::Test {
 protected:
  ~HiredisFaults() override {
    struct sigaction action = {};
    EXPECT_EQ(::sigaction(SIGPIPE, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL);  // so that a SIGPIPE would have ended this program
  }

  static void open_and_join(Process& process) {
    ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
    ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("lock", response, "name"); }));
  }

  /// A second connection that hears answers; how long the holder took to give one.
  std::chrono::nanoseconds answer_takes(Process& asker) {
    const auto before = asker.all<Text>().size();
    const auto start = std::chrono::steady_clock::now();
    redis.command({"PUBLISH", "lock", "ping"});
    EXPECT_TRUE(asker.hears<Text>(before + 1));
    return std::chrono::steady_clock::now() - start;
  }
  std::unique_ptr<Process> asker() {
    auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
    EXPECT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
    EXPECT_TRUE(process->answered<event::Listening>([](auto& line) { line.listen("answers"); }));
    return process;
  }

  support::LiveRedis redis;
};

TEST_F(HiredisFaults, AHolderAnswersRightAfterItsMouthWasKilled) {
  Answerer holder(HiredisTransport::make({.url = redis.url()}));
  auto ear = asker();
  for (int i = 0; i < 10; ++i) {
    redis.command({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_LT(answer_takes(*ear), i == 0 ? 300ms : 1500ms);  // killed in a row, it comes back more slowly
  }
  EXPECT_FALSE(holder.lost());
}

TEST_F(HiredisFaults, AHolderAnswersAfterTheServerClosedItsIdleMouth) {
  redis.command({"CONFIG", "SET", "timeout", "1"});
  Answerer holder(HiredisTransport::make({.url = redis.url()}));
  auto ear = asker();
  const auto accepted = [&] {
    const std::string stats = redis.command({"INFO", "stats"});
    return std::stol(stats.substr(stats.find("total_connections_received:") + 27));
  };
  const long before = accepted();
  // Each look is a connection too, so what counts is that others came in between.
  long looks = 0;
  ASSERT_TRUE(support::eventually([&] { return accepted() - before > ++looks + 1; }, 20s));
  EXPECT_LT(answer_takes(*ear), 300ms);
  EXPECT_FALSE(holder.lost());
}

TEST_F(HiredisFaults, ARestartedServerIsALossAndThenAServer) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  open_and_join(process);
  redis.stop();
  ASSERT_TRUE(process.hears<event::Lost>());
  EXPECT_EQ(process.last<event::Lost>().failure.code, Errc::connect);
  ASSERT_TRUE(process.answered<event::Lost>([](auto& line) { line.open(); }));
  EXPECT_THAT(process.last<event::Lost>().failure.text, HasSubstr("refused"));
  redis.restart();
  open_and_join(process);
  ASSERT_TRUE(process.answered<event::Pinged>([](auto& line) { line.ping("lock", response, "ping"); }));
}

TEST_F(HiredisFaults, ALossIsToldWithoutAnybodyWaiting) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  open_and_join(process);
  redis.crash();
  EXPECT_TRUE(support::eventually([&] { return !process.all<event::Lost>().empty(); }, 1s));
}

TEST_F(HiredisFaults, ALossIsToldAtOnceToWhoeverWaits) {
  Process process(HiredisTransport::make({.url = redis.url()}));
  open_and_join(process);
  const std::jthread killer([&] {
    ASSERT_TRUE(support::eventually([&] { return redis.subscribers("lock") == 1; }));
    redis.command({"CLIENT", "KILL", "TYPE", "pubsub"});
  });
  const auto start = std::chrono::steady_clock::now();
  while (process.all<event::Lost>().empty()) process.wait(10s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST_F(HiredisFaults, ASilentNetworkIsNoticedWithinTheDocumentedBound) {
  support::Relay relay(redis.port());
  Process held(HiredisTransport::make(
      {.url = relay.url(), .health_check_interval = 200ms, .health_check_timeout = 150ms}));
  open_and_join(held);
  relay.swallow(true);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(support::eventually([&] { return !held.all<event::Lost>().empty(); }));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GT(took, 100ms);
  EXPECT_LT(took, 350ms + 150ms);
  EXPECT_EQ(held.last<event::Lost>().failure.code, Errc::connect);
  EXPECT_THAT(held.last<event::Lost>().failure.text, HasSubstr("health check"));
}

TEST_F(HiredisFaults, HealthChecksKeepAHealthyConnectionThroughAllItsStates) {
  Process process(HiredisTransport::make(
      {.url = redis.url(), .health_check_interval = 20ms, .health_check_timeout = 5s}));
  const auto pings = [&] { return redis.calls("ping"); };
  const auto rest = [&] {
    const long before = pings();
    ASSERT_TRUE(support::eventually([&] { return pings() >= before + 6; }));
  };
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  rest();
  ASSERT_TRUE(process.answered<event::Listening>([](auto& line) { line.listen(response + "0"); }));
  rest();
  ASSERT_TRUE(process.answered<event::Joined>([](auto& line) { line.join("lock", response, "name"); }));
  rest();
  ASSERT_TRUE(process.answered<event::Left>([](auto& line) { line.leave(); }));
  rest();
  process.say([](auto& line) { line.close(); });
  rest();
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  EXPECT_TRUE(process.all<event::Lost>().empty());
  EXPECT_THAT(redis.command({"INFO", "stats"}), HasSubstr("total_error_replies:0"));
}

TEST_F(HiredisFaults, AReplyThatNobodyAskedForEndsTheEar) {
  support::Relay relay(redis.port());
  Process process(HiredisTransport::make({.url = relay.url()}));
  open_and_join(process);
  relay.inject("+OK\r\n", true);
  ASSERT_TRUE(process.hears<event::Lost>());
  EXPECT_EQ(process.last<event::Lost>().failure.code, Errc::protocol);
}

TEST_F(HiredisFaults, AReplyThatNobodyAskedForOnTheMouthIsToldToTheNextWhoAsks) {
  support::Relay relay(redis.port());
  Process process(HiredisTransport::make({.url = relay.url()}));
  open_and_join(process);
  const auto before = relay.accepted();
  relay.inject("+OK\r\n", false);
  ASSERT_TRUE(process.eventually([&] { return relay.accepted() > before; }));
  ASSERT_TRUE(process.answered<event::Refused>([](auto& line) { line.ping("lock", response, "ping"); }));
  EXPECT_EQ(process.last<event::Refused>().failure.code, Errc::protocol);
  ASSERT_TRUE(process.answered<event::Pinged>([](auto& line) { line.ping("lock", response, "ping"); }));
  EXPECT_TRUE(process.all<event::Lost>().empty());
}

TEST_F(HiredisFaults, RubbishEndsTheEar) {
  for (const std::string rubbish :
       {"hello\r\n", "*-7\r\n$", "*3\r\n$7\r\nmessage\r\n:1\r\n*1\r\n+x\r\n*0\r\n",
        "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"}) {
    support::Relay relay(redis.port());
    Process process(HiredisTransport::make({.url = relay.url()}));
    open_and_join(process);
    relay.inject(rubbish, true);
    ASSERT_TRUE(process.hears<event::Lost>()) << rubbish;
    EXPECT_EQ(process.last<event::Lost>().failure.code, Errc::protocol) << rubbish;
  }
}

TEST_F(HiredisFaults, PeersThatHangUpWhileWeWriteDoNoHarm) {
  support::Relay relay(redis.port());
  for (int i = 0; i < 30; ++i) {
    Process process(HiredisTransport::make({.url = relay.url()}));
    ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
    const std::jthread hang_up([&] { relay.drop_all(); });
    process.say([](auto& line) {
      for (int said = 0; said < 200; ++said) line.publish("elsewhere", std::string(1000, 'x'));
      line.join("lock", response, "name");
      line.leave();
    });
    ASSERT_TRUE(process.hears<event::Lost>());
  }
}

TEST_F(HiredisFaults, DestructionIsQuickWhateverTheServerDoes) {
  auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
  open_and_join(*process);
  redis.pause();
  process->say([](auto& line) { line.publish("elsewhere", std::string(32 << 20, 'x')); });
  const auto start = std::chrono::steady_clock::now();
  process.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST_F(HiredisFaults, DestructionIsQuickWhateverTheKeeperDoes) {
  for (int i = 0; i < 300; ++i) {
    auto process = std::make_unique<Process>(HiredisTransport::make({.url = redis.url()}));
    ASSERT_TRUE(process->answered<event::Opened>([](auto& line) { line.open(); }));
    process->say([](auto& line) {
      line.count("lock");  // whose answer the keeper reads while it is told to end
      line.close();
      line.open();
    });
    const auto start = std::chrono::steady_clock::now();
    process.reset();
    ASSERT_LT(std::chrono::steady_clock::now() - start, 1s) << i;
  }
}

TEST_F(HiredisFaults, AServerThatTakesNoSubscribeInATransactionIsJoinedWithoutACount) {
  // A server that lets everything through but SUBSCRIBE between MULTI and EXEC.
  support::Relay odd([in_multi = false, subscribed = 0](std::string_view said) mutable {
    std::string answers;
    while (said.starts_with('*')) {
      const auto end = said.find("\r\n*", 1);
      const std::string_view command = said.substr(0, end);
      said.remove_prefix(end == std::string_view::npos ? said.size() : end + 2);
      const auto has = [&](std::string_view word) { return command.find(word) != std::string_view::npos; };
      if (has("HELLO")) {
        answers += "-ERR unknown command 'HELLO'\r\n";
      } else if (has("UNSUBSCRIBE")) {
        for (; subscribed > 0; --subscribed) {
          answers += "*3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:" + std::to_string(subscribed - 1) + "\r\n";
        }
      } else if (has("MULTI")) {
        in_multi = true;
        answers += "+OK\r\n";
      } else if (has("EXEC")) {
        in_multi = false;
        answers += "-EXECABORT Transaction discarded because of previous errors.\r\n";
      } else if (has("SUBSCRIBE")) {
        const std::string channel = has(response) ? response : "lock";
        answers += in_multi ? "-ERR Command not allowed inside a transaction\r\n"
                            : "*3\r\n$9\r\nsubscribe\r\n$" + std::to_string(channel.size()) + "\r\n" +
                                  channel + "\r\n:" + std::to_string(++subscribed) + "\r\n";
        // Somebody's ping, between the two confirmations.
        if (!in_multi && channel == "lock") answers += "*3\r\n$7\r\nmessage\r\n$4\r\nlock\r\n$5\r\nearly\r\n";
      } else if (in_multi) {
        answers += "+QUEUED\r\n";
      } else {
        answers += has("PUBLISH") ? ":0\r\n" : "+OK\r\n";
      }
    }
    return answers;
  });
  Process process(HiredisTransport::make({.url = odd.url()}));
  for (int i = 0; i < 2; ++i) {
    open_and_join(process);
    EXPECT_FALSE(process.last<event::Joined>().count);
    ASSERT_TRUE(process.hears<Text>(static_cast<std::size_t>(i) + 1));
    ASSERT_TRUE(process.answered<event::Left>([](auto& line) { line.leave(); }));
    process.say([](auto& line) { line.close(); });
  }
  ASSERT_TRUE(process.answered<event::Opened>([](auto& line) { line.open(); }));
  ASSERT_TRUE(process.answered<event::Refused>([](auto& line) { line.ask("lock", response, "hi"); }));
  ASSERT_TRUE(process.answered<event::Listening>([](auto& line) { line.listen(response); }));
  EXPECT_THAT(process.order(),
              ::testing::ElementsAre("Opened", "Joined", "Message early", "Left", "Opened", "Joined",
                                     "Message early", "Left", "Opened", "Refused 4", "Listening"));
}

}  // namespace
}  // namespace sublock::testing
