// SPDX-License-Identifier: MIT

// Answers are published from inside the reader. A ping can name a lock channel as the place to answer, and
// anybody can send, and answer, as many as he likes: nothing may go round in circles, block or pile up.

#include <cases/cases.hpp>
#include <support/fake_peer.hpp>
#include <support/resp.hpp>
#include <support/sanitized.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string_view>
#include <thread>

namespace support {
namespace {

void append(std::string& bytes, const std::vector<std::string_view>& words) {
  bytes += '*' + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) (bytes += '$' + std::to_string(word.size()) + "\r\n").append(word) += "\r\n";
}

/// Sends many commands at once and takes in an answer of one line to each. False if the connection ends.
bool pipeline(const PlainConnection& connection, std::string_view bytes, std::size_t answers) {
  std::size_t heard = 0;
  while (heard < answers) {
    pollfd poll{connection.fd(), static_cast<short>(bytes.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    if (::poll(&poll, 1, 10'000) <= 0) return false;
    if ((poll.revents & POLLOUT) != 0) {
      const auto sent = ::send(connection.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    if ((poll.revents & POLLIN) == 0) continue;
    char chunk[65536];
    const auto got = ::recv(connection.fd(), chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    heard += static_cast<std::size_t>(std::count(chunk, chunk + got, '\n'));
  }
  return true;
}

class Flood : public Cases {
 protected:
  static constexpr long megabyte = 1L << 20;

  static std::string ping(const std::string& response_channel) {
    return R"({"message":"ping","response_channel":")" + response_channel + "\"}";
  }

  /// What is published on a channel, while it is looked at.
  class Spy {
   public:
    Spy(int port, const std::string& channel) : ear_(port) { ear_.command({"SUBSCRIBE", channel}); }
    std::size_t heard() {
      pollfd poll{ear_.fd(), POLLIN, 0};
      while (::poll(&poll, 1, 0) > 0 && ear_.read(messages_)) {
      }
      return messages_.size();
    }

   private:
    PlainConnection ear_;
    std::vector<PlainConnection::Message> messages_;
  };

  /// Messages come to rest, and are no more than that.
  void expect_few(Spy& spy, std::size_t most) {
    EXPECT_TRUE(eventually([&] { return spy.heard() > 0; }));
    EXPECT_TRUE(throughout(span(scaled(1.0, 2.0)), [&] { return spy.heard() <= most; })) << spy.heard();
    const std::size_t heard = spy.heard();
    EXPECT_TRUE(throughout(span(scaled(0.5, 2.0)), [&] { return spy.heard() == heard; })) << spy.heard();
  }

  std::vector<std::unique_ptr<Process>> readers(int number) {
    std::vector<std::unique_ptr<Process>> all;
    for (int i = 0; i < number; ++i) {
      all.push_back(std::make_unique<Process>(std::vector<std::string>{
          SUBLOCK_DRIVER, "lock", "sp", "shared", "hold=60", "port=" + std::to_string(server.port())}));
    }
    for (const auto& reader : all) reader->expect_line(" GOT$");
    return all;
  }
};

TEST_F(Flood, APingThatWantsItsAnswersOnTheLockChannelIsNoLoop) {
  const auto all = readers(8);
  Spy spy(server.port(), "sp");
  server.command({"PUBLISH", "sp", ping("sp")});
  expect_few(spy, 1 + 8);
  for (const auto& reader : all) expect_kept(*reader);
}

TEST_F(Flood, APingThatWantsItsAnswersOnAnothersChannelIsNoLoopEither) {
  const auto all = readers(8);
  auto other = drive("sp2", {"hold=60"});
  other.expect_line(" GOT$");
  Spy spy(server.port(), "sp");
  server.command({"PUBLISH", "sp2", ping("sp")});
  expect_few(spy, 1 + 8);
  for (const auto& reader : all) expect_kept(*reader);
  expect_kept(other);
}

TEST_F(Flood, TwentyThousandPingsAreAnsweredAndDoNotEndAHold) {
  auto holder = drive("sp3", {"hold=60"});
  holder.expect_line(" GOT$");
  const long before = memory(holder.pid(), "VmHWM");
  constexpr std::size_t number = 20'000;
  std::string bytes;
  for (std::size_t i = 0; i < number; ++i) {
    append(bytes, {"PUBLISH", "sp3", ping("sp3-" + std::to_string(i))});
  }
  const long published = server.calls("publish");
  ASSERT_TRUE(pipeline(PlainConnection(server.port()), bytes, number));
  const double wait = scaled(2.0, 6.0);
  auto contender = drive("sp3", {"wait=" + std::to_string(wait)});
  expect_after_try(contender, " FAILED busy ", wait, wait + U + 0.5);
  EXPECT_TRUE(eventually([&] { return server.calls("publish") >= published + 2 * static_cast<long>(number); },
                         span(within(10))));
  EXPECT_EQ(server.kills(), 0);
  if (!sanitized) {  // whose memory it would be
    EXPECT_LT(memory(holder.pid(), "VmHWM") - before, 64 * megabyte);
  }
  expect_kept(holder);
}

/// Answers every ping on a channel, which it hears by pattern, with a flood of readers that don't exist.
class Forger {
 public:
  static constexpr std::size_t flood = 20'000;

  Forger(int port, std::string channel) : channel_(std::move(channel)), ear_(port), mouth_(port) {
    ear_.command({"PSUBSCRIBE", channel_ + "*"});
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  [[nodiscard]] std::size_t floods() const { return floods_; }

 private:
  void run(const std::stop_token& stop) {
    std::string bytes;
    while (!stop.stop_requested()) {
      pollfd poll{ear_.fd(), POLLIN, 0};
      if (::poll(&poll, 1, 20) <= 0) continue;
      char chunk[65536];
      const auto got = ::recv(ear_.fd(), chunk, sizeof chunk, 0);
      if (got <= 0) return;
      bytes.append(chunk, static_cast<std::size_t>(got));
      while (const std::size_t size = resp_size(bytes)) {
        const std::string frame = bytes.substr(0, size);
        bytes.erase(0, size);
        const auto words = resp_words(frame);
        if (words.size() != 4 || words[2] != channel_) continue;
        if (const auto to = response_channel_of(std::string(words[3]))) answer(*to);
      }
    }
  }

  void answer(const std::string& to) {
    std::string bytes;
    for (std::size_t i = 0; i < flood; ++i) {
      std::string id = std::to_string(++invented_);
      id.insert(0, 32 - id.size(), '0');
      append(bytes, {"PUBLISH", to, answer_record(id, "shared")});
    }
    ++floods_;
    static_cast<void>(pipeline(mouth_, bytes, flood));
  }

  std::string channel_;
  PlainConnection ear_;
  PlainConnection mouth_;
  std::size_t invented_ = 0;
  std::atomic<std::size_t> floods_ = 0;
  std::jthread thread_;
};

TEST_F(Flood, AnswersOfMoreThanAreSubscribedAreWorthNothing) {
  auto holder = drive("sp4", {"hold=60"});
  holder.expect_line(" GOT$");
  const Forger forger(server.port(), "sp4");
  const double wait = within(scaled(2.0, 4.0));
  for (const char* mode : {"label=writer", "shared"}) {
    auto contender = drive("sp4", {"wait=" + std::to_string(wait), "hold=60", mode});
    const double tried = stamp_of(contender.expect_line(" TRY$"));
    const long before = memory(contender.pid(), "VmHWM");
    long most = before;
    EXPECT_TRUE(eventually(
        [&] {
          if (contender.lines().size() < 2) most = std::max(most, memory(contender.pid(), "VmHWM"));
          return contender.lines().size() > 1;
        },
        span(wait + 20)));
    const auto line = contender.expect_line(" (FAILED busy|GOT)");
    EXPECT_NE(line.find(" FAILED busy "), std::string::npos) << line;
    EXPECT_LE(stamp_of(line) - tried, wait + within(U + 0.5)) << line;
    if (!sanitized) {  // whose memory it would be
      EXPECT_LT(most - before, 64 * megabyte);
    }
  }
  EXPECT_GE(forger.floods(), 2u);
  EXPECT_EQ(server.kills(), 0);
  expect_kept(holder);
}

}  // namespace
}  // namespace support
