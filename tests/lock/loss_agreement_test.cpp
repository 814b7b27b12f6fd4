// SPDX-License-Identifier: MIT

// One law over all the ways to lose a lock: held(), lost(), ensure_held(), the stop_token and on_lost agree,
// before, at once after, and for good.

#include <gtest/gtest.h>
#include <lock/in_memory_worlds.hpp>
#include <lock/lock_fixture.hpp>
#include <support/recorder.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

namespace sublock::testing {
namespace {

class Loss;

struct Way {
  std::string name;
  std::string why;  ///< what the error says of it
  void (*lose)(Loss&);

  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
};

class Loss : public LockFixture<VirtualWorld>, public ::testing::WithParamInterface<Way> {
 public:
  void pass(Duration span) { bystander.wait(span); }

  std::int64_t ear() {
    for (const auto& client : world.redis->connections()) {
      if (client.name == lock->client_name()) return client.id;
    }
    return 0;
  }

  using LockFixture::world;
  std::shared_ptr<InMemoryTransport> process = world.connect();
  std::unique_ptr<Lock> lock;
  Caller<InMemoryTransport> bystander{world.connect()};  // time passes, and news arrive, while it waits

 protected:
  Loss() {
    Options options = this->options();
    options.self_check_interval = 3s;
    options.on_lost = [this](const LockLost& error) {
      const std::lock_guard guard(mutex_);
      told_.emplace_back(error.what());
    };
    lock = std::make_unique<Lock>(process, channel, options);
  }

  /// What on_lost has been told, each time.
  std::vector<std::string> told() {
    const std::lock_guard guard(mutex_);
    return told_;
  }

  void expect_held(const std::stop_token& token) {
    EXPECT_TRUE(lock->held());
    EXPECT_FALSE(lock->lost());
    EXPECT_NO_THROW(lock->ensure_held());
    EXPECT_FALSE(token.stop_requested());
  }

  void expect_lost(const std::stop_token& token) {
    EXPECT_FALSE(lock->held());
    EXPECT_TRUE(lock->lost());
    std::string text;
    try {
      lock->ensure_held();
    } catch (const LockLost& error) {
      text = error.what();
      EXPECT_EQ(error.code(), Errc::lost);
      EXPECT_EQ(error.code(), std::errc::owner_dead);
    }
    EXPECT_NE(text.find(channel), std::string::npos) << text;
    EXPECT_NE(text.find(lock->holder_id()), std::string::npos) << text;
    EXPECT_NE(text.find(GetParam().why), std::string::npos) << text;
    EXPECT_TRUE(world.eventually([&] { return token.stop_requested(); }));
    EXPECT_TRUE(world.eventually([&] { return !told().empty() && told().back() == text; }));
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
};

const Way ways[] = {
    {"Kill", "closed the connection", [](Loss& loss) { loss.world.redis->kill(loss.ear()); }},
    {"Drop", "closed the connection", [](Loss& loss) { loss.world.redis->drop(*loss.process); }},
    {"Restart", "closed the connection", [](Loss& loss) { loss.world.redis->restart(); }},
    {"ServerThatStops", "closed the connection", [](Loss& loss) { loss.world.redis->stop(); }},
    {"ForgottenByTheServer", "a check of its own channel did not come back",
     [](Loss& loss) { loss.world.redis->forget(loss.ear()); }},
    {"Partition", "a check of its own channel did not come back",
     [](Loss& loss) { loss.world.redis->partition(*loss.process); }},
    {"NoPublish", "a check of its own channel did not come back",
     [](Loss& loss) { loss.world.redis->refuse("PUBLISH", "NOPERM"); }},
    {"FrozenAndFollowed", "closed the connection",
     [](Loss& loss) {
       loss.world.redis->wedge(*loss.process);
       VirtualWorld& world = loss.world;
       BasicRedisLock<InMemoryTransport, LowestIdElection, ClientListReaper, ManualClock> other(
           world.connect(), loss.lock->channel(), {.connection = world.reach(), .clock = world.clock()});
       other.acquire();
       other.release();
       world.redis->resume(*loss.process);
     }},
    {"ReleaseThatNobodyConfirms", "the server did not confirm the release",
     [](Loss& loss) {
       loss.world.redis->partition(*loss.process);
       EXPECT_FALSE(loss.lock->release());
     }},
    {"ReleaseThatMeetsTheEnd", "the server did not confirm the release",
     [](Loss& loss) {
       loss.world.redis->hold(*loss.process);  // the news waits
       loss.world.redis->kill(loss.ear());
       const auto later = loss.world.after(10ms, [&] { loss.world.redis->release(*loss.process); });
       EXPECT_FALSE(loss.lock->release());
     }},
};

INSTANTIATE_TEST_SUITE_P(By, Loss, ::testing::ValuesIn(ways), [](const auto& way) { return way.param.name; });

TEST_P(Loss, IsToldToEverybodyOnceAndForGood) {
  ASSERT_FALSE(lock->lost());
  lock->acquire();
  const std::stop_token token = lock->stop_token();
  pass(10s);
  expect_held(token);
  EXPECT_TRUE(told().empty());

  GetParam().lose(*this);
  pass(4s);  // as long as the slowest way takes
  expect_lost(token);
  EXPECT_EQ(lock->stop_token(), token);

  // It stays so, whatever happens.
  EXPECT_FALSE(lock->release());
  world.redis->heal(*process);
  world.redis->allow("PUBLISH");
  world.redis->start();
  pass(10s);
  expect_lost(token);
  EXPECT_FALSE(lock->release());
  EXPECT_EQ(world.subscribers(channel), 0u) << "and nothing of it is left";

  // Until it is taken again, which is another hold.
  lock->acquire();
  const std::stop_token next = lock->stop_token();
  EXPECT_NE(next, token);
  pass(10s);
  expect_held(next);
  EXPECT_TRUE(token.stop_requested());
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->lost());
  EXPECT_FALSE(next.stop_requested());
  EXPECT_EQ(told().size(), 1u);
}

TEST_P(Loss, OfAReaderToo) {
  lock->lock_shared();
  const std::stop_token token = lock->stop_token();
  GetParam().lose(*this);
  pass(4s);
  expect_lost(token);
  EXPECT_FALSE(lock->release());
  EXPECT_EQ(told().size(), 1u);
}

TEST_P(Loss, MakesWithThrow) {
  EXPECT_THROW(lock->with([&](std::stop_token token) {
    GetParam().lose(*this);
    pass(4s);
    EXPECT_TRUE(world.eventually([&] { return token.stop_requested(); }));
  }),
               LockLost);
  EXPECT_EQ(told().size(), 1u);
}

}  // namespace
}  // namespace sublock::testing
