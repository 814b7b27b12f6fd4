// SPDX-License-Identifier: MIT

// An exception in the critical section, perhaps while the server is gone: it is what the caller sees, and the
// loss is told beside it, never in its place.

#include <cases/cases.hpp>

#include <sublock/redis_lock.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <stop_token>

namespace support {
namespace {

using namespace std::chrono_literals;

struct Mishap {
  int number = 0;
};

/// The ways to hold a lock for as long as some code takes.
struct Scope {
  const char* name;
  std::function<void(sublock::RedisLock&, const std::function<void()>&)> around;
  friend std::ostream& operator<<(std::ostream& out, const Scope& scope) { return out << scope.name; }
};

class BodyThrows : public Cases, public ::testing::WithParamInterface<Scope> {
 protected:
  BodyThrows() : lock("bt", options()) {}

  sublock::RedisLock::Options options() {
    sublock::RedisLock::Options options;
    options.timeout = 10s;
    options.connection.url = server.url();
    options.on_lost = [this](const sublock::LockLost&) { ++losses; };
    return options;
  }

  /// The number of the mishap that comes out of the scope; 0 where none does.
  int thrown_out_of(const std::function<void()>& body) {
    try {
      GetParam().around(lock, body);
    } catch (const Mishap& mishap) {
      return mishap.number;
    }
    return 0;
  }

  void expect_next_gets_it() {
    auto next = drive("bt", {"wait=2"});
    expect_after_try(next, " GOT$", 0, 0.5);
    EXPECT_EQ(next.exit_status(), 0) << next.transcript();
  }

  std::atomic<int> losses = 0;
  sublock::RedisLock lock;
};

TEST_P(BodyThrows, AndTheNextGetsItAtOnce) {
  EXPECT_EQ(thrown_out_of([] { throw Mishap{1}; }), 1);
  EXPECT_FALSE(lock.held());
  expect_next_gets_it();
  EXPECT_EQ(losses, 0);
}

TEST_P(BodyThrows, WhileTheServerIsGone) {
  EXPECT_EQ(thrown_out_of([&] {
              server.stop();
              throw Mishap{2};
            }),
            2);
  EXPECT_TRUE(lock.lost());
  EXPECT_TRUE(eventually([&] { return losses == 1; }));
  server.restart();
  EXPECT_EQ(thrown_out_of([&] {
              EXPECT_TRUE(lock.held());
              EXPECT_FALSE(lock.lost());
            }),
            0);
  expect_next_gets_it();
  EXPECT_EQ(losses, 1);
}

TEST_P(BodyThrows, AfterTheLockWasLost) {
  EXPECT_EQ(thrown_out_of([&] {
              server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
              EXPECT_TRUE(eventually([&] { return lock.lost(); }, 1s));
              throw Mishap{3};
            }),
            3);
  EXPECT_TRUE(lock.lost());
  EXPECT_TRUE(eventually([&] { return losses == 1; }));
  expect_next_gets_it();
}

TEST_P(BodyThrows, WhileTheServerIsFrozen) {
  const double start = now();
  EXPECT_EQ(thrown_out_of([&] {
              server.pause();
              throw Mishap{4};
            }),
            4);
  EXPECT_LE(now() - start, 2);
  server.resume();
  EXPECT_TRUE(eventually([&] { return server.subscribers("bt") == 0; }));
}

INSTANTIATE_TEST_SUITE_P(
    In, BodyThrows,
    ::testing::Values(Scope{"AScopedLock",
                            [](sublock::RedisLock& lock, const std::function<void()>& body) {
                              const std::scoped_lock held(lock);
                              body();
                            }},
                      Scope{"ASharedLock",
                            [](sublock::RedisLock& lock, const std::function<void()>& body) {
                              const std::shared_lock held(lock);
                              body();
                            }},
                      Scope{"With",
                            [](sublock::RedisLock& lock, const std::function<void()>& body) {
                              lock.with([&](const std::stop_token&) { body(); });
                            }},
                      Scope{"WithAResult",
                            [](sublock::RedisLock& lock, const std::function<void()>& body) {
                              EXPECT_EQ(lock.with([&] {
                                body();
                                return 5;
                              }),
                                        5);
                            }}),
    [](const auto& test) { return test.param.name; });

class BodyOfALockThatIsBusy : public Cases {};

TEST_F(BodyOfALockThatIsBusy, NeverRuns) {
  auto holder = drive("bt", {"hold=60"});
  holder.expect_line(" GOT$");
  sublock::RedisLock::Options options;
  options.timeout = 300ms;
  options.connection.url = server.url();
  sublock::RedisLock lock("bt", options);
  bool ran = false;
  EXPECT_THROW(lock.with([&] { ran = true; }), sublock::AlreadyLocked);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(lock.with([&] { ran = true; }, {.stop = stop.get_token()}), sublock::LockError);
  {
    const std::unique_lock held(lock, 100ms);
    if (held) ran = true;
  }
  server.pause();
  EXPECT_THROW(lock.with([&] { ran = true; }), sublock::LockError);
  server.resume();
  EXPECT_FALSE(ran);
  expect_kept(holder);
}

}  // namespace
}  // namespace support
