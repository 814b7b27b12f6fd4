// SPDX-License-Identifier: MIT
#pragma once

// The laws of the lock: who gets it, who doesn't, and what the standard library's guards make of it. The
// world they need is described in lock_fixture.hpp.

#include <lock/lock_fixture.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sublock::testing {

template <class World>
class LockLaws : public LockFixture<World> {};

TYPED_TEST_SUITE_P(LockLaws);

TYPED_TEST_P(LockLaws, ItIsTakenAndGivenBack) {
  auto lock = this->lock();
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  lock->acquire();
  EXPECT_TRUE(lock->held());
  EXPECT_FALSE(lock->lost());
  EXPECT_NO_THROW(lock->ensure_held());
  EXPECT_EQ(lock->mode(), HolderMode::exclusive);
  EXPECT_TRUE(lock->writer_elected());
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_TRUE(lock->release());
  EXPECT_FALSE(lock->held());
  EXPECT_FALSE(lock->lost());
  EXPECT_EQ(lock->mode(), HolderMode::pending);
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
}

TYPED_TEST_P(LockLaws, OneObjectMayTakeItAgainAndAgain) {
  auto lock = this->lock();
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(lock->try_lock());
    ASSERT_TRUE(lock->release());
    ASSERT_TRUE(lock->try_lock_shared());
    ASSERT_TRUE(lock->release());
  }
}

TYPED_TEST_P(LockLaws, ASecondIsRefused) {
  auto first = this->held();
  auto second = this->lock();
  EXPECT_FALSE(second->try_lock());
  EXPECT_FALSE(second->try_lock_shared());
  EXPECT_FALSE(second->try_lock_for(30ms));
  EXPECT_FALSE(second->held());
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  EXPECT_TRUE(first->held());
  EXPECT_TRUE(first->release());
  EXPECT_TRUE(second->try_lock());
}

TYPED_TEST_P(LockLaws, TheRefusalNamesWhoHoldsIt) {
  auto options = this->options();
  options.label = "nightly import";
  auto first = this->lock(options);
  first->acquire();
  auto second = this->lock();
  try {
    second->acquire({.timeout = 50ms});
    FAIL() << "two have it";
  } catch (const AlreadyLocked& error) {
    EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
    ASSERT_EQ(error.holders().size(), 1u);
    const Holder& holder = error.holders().front();
    EXPECT_EQ(holder.holder_id, first->holder_id());
    EXPECT_EQ(holder.mode, HolderMode::exclusive);
    EXPECT_EQ(holder.host, host_name());
    EXPECT_EQ(holder.pid, ::getpid());
    EXPECT_EQ(holder.label, "nightly import");
    EXPECT_TRUE(holder.held_for);
    const std::string text = error.what();
    for (const std::string& part :
         {this->channel, first->holder_id(), host_name(), std::to_string(::getpid()),
          std::string("nightly import"), std::string("exclusive")}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
    }
  }
}

TYPED_TEST_P(LockLaws, FailWhenLockedDoesNotWait) {
  auto first = this->held();
  auto second = this->lock();
  const auto act = [&] { second->acquire({.timeout = 10min, .fail_when_locked = true}); };
  EXPECT_TRUE(this->is_about(this->time([&] { EXPECT_EQ(error_of(act), Errc::busy); }), 0ms));
  auto options = this->options();
  options.fail_when_locked = true;
  options.timeout = 10min;
  EXPECT_THROW(this->lock(options)->acquire(), AlreadyLocked);
  EXPECT_EQ(this->world.subscribers(this->channel), 1u);
}

TYPED_TEST_P(LockLaws, ReadersShareItAndKeepWritersOut) {
  auto first = this->held_by_reader();
  auto second = this->held_by_reader();
  EXPECT_EQ(first->mode(), HolderMode::shared);
  EXPECT_EQ(this->world.subscribers(this->channel), 2u);
  auto writer = this->lock();
  EXPECT_FALSE(writer->try_lock());
  EXPECT_FALSE(writer->try_lock_for(30ms));
  EXPECT_TRUE(first->release());
  EXPECT_FALSE(writer->try_lock());
  EXPECT_TRUE(second->release());
  EXPECT_TRUE(writer->try_lock());
  EXPECT_FALSE(first->try_lock_shared());
}

TYPED_TEST_P(LockLaws, AWriterWaitsForReadersToLeave) {
  auto first = this->held_by_reader();
  auto second = this->held_by_reader();
  auto writer = this->lock();
  std::atomic<int> gone = 0;
  const auto leaves = [&gone](auto& reader) {
    ++gone;  // before the server can know it, or the writer might be quicker than this thread
    reader->release();
  };
  const auto one = this->world.after(30ms, [&] { leaves(first); });
  const auto other = this->world.after(60ms, [&] { leaves(second); });
  writer->lock();
  EXPECT_EQ(gone, 2);
}

TYPED_TEST_P(LockLaws, AWriterThatWaitsForReadersKeepsNewOnesOut) {
  auto reader = this->held_by_reader();
  auto writer = this->lock();
  auto newcomer = this->lock(this->shared_options());
  std::atomic<bool> elected = false;
  std::atomic<bool> got_in = true;
  const auto later = this->world.after(40ms, [&] {
    elected = this->world.eventually([&] { return writer->writer_elected(); });
    got_in = newcomer->try_lock_shared();
    reader->release();
  });
  writer->acquire({.timeout = infinite});
  EXPECT_TRUE(writer->release());
  EXPECT_TRUE(elected);
  EXPECT_FALSE(got_in);
  EXPECT_TRUE(newcomer->try_lock_shared());
}

TYPED_TEST_P(LockLaws, AReaderWaitsForTheWriterToLeave) {
  auto writer = this->held();
  auto reader = this->lock(this->shared_options());
  std::atomic<bool> gone = false;
  const auto later = this->world.after(30ms, [&] {
    gone = true;  // before the server can know it, or the reader might be quicker than this thread
    writer->release();
  });
  reader->acquire({.timeout = infinite});
  EXPECT_TRUE(gone);
  EXPECT_EQ(reader->mode(), HolderMode::shared);
}

TYPED_TEST_P(LockLaws, FiftyReadersAndOneWriter) {
  std::vector<std::unique_ptr<typename TestFixture::Lock>> readers;
  for (int i = 0; i < 50; ++i) readers.push_back(this->held_by_reader());
  EXPECT_EQ(this->world.subscribers(this->channel), 50u);
  auto writer = this->lock();
  try {
    writer->acquire({.timeout = 700ms});
    FAIL() << "a writer among readers";
  } catch (const AlreadyLocked& error) {
    EXPECT_EQ(error.holders().size(), 50u);
    EXPECT_NE(std::string(error.what()).find("and 42 more"), std::string::npos) << error.what();
  }
  for (const auto& reader : readers) {
    ASSERT_FALSE(reader->lost());
    ASSERT_TRUE(reader->release());
  }
  EXPECT_TRUE(writer->try_lock());
}

TYPED_TEST_P(LockLaws, GuardsOfTheStandardLibraryWork) {
  auto lock = this->lock();
  auto witness = this->lock();
  const auto free = [&] {
    const bool got = witness->try_lock();
    if (got) witness->unlock();
    return got;
  };
  {
    const std::lock_guard guard(*lock);
    EXPECT_FALSE(free());
  }
  EXPECT_TRUE(free());
  {
    std::unique_lock guard(*lock, std::try_to_lock);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(free());
    guard.unlock();
    EXPECT_TRUE(free());
    EXPECT_TRUE(guard.try_lock_for(1s));
  }
  {
    const std::unique_lock guard(*lock, 1s);
    EXPECT_TRUE(guard.owns_lock());
  }
  {
    const std::shared_lock guard(*lock);
    EXPECT_EQ(lock->mode(), HolderMode::shared);
    EXPECT_FALSE(free());
    EXPECT_TRUE(witness->try_lock_shared());
    witness->unlock_shared();
  }
  {
    const std::shared_lock guard(*lock, 1s);
    EXPECT_TRUE(guard.owns_lock());
    const std::unique_lock refused(*witness, std::try_to_lock);
    EXPECT_FALSE(refused.owns_lock());
  }
  EXPECT_TRUE(free());
}

TYPED_TEST_P(LockLaws, TwoLocksAreTakenTogether) {
  auto one = this->lock();
  auto options = this->options();
  typename TestFixture::Lock other(this->world.connect(), this->channel + "-other", options);
  auto obstacle =
      std::make_unique<typename TestFixture::Lock>(this->world.connect(), this->channel + "-other", options);
  obstacle->acquire();
  const auto later = this->world.after(30ms, [&] { obstacle->release(); });
  {
    const std::scoped_lock guard(*one, other);
    EXPECT_TRUE(one->held());
    EXPECT_TRUE(other.held());
    EXPECT_FALSE(obstacle->held());
  }
  EXPECT_FALSE(one->held());
  EXPECT_FALSE(other.held());
}

TYPED_TEST_P(LockLaws, ADeadlineMayBeOfAnyClock) {
  auto holder = this->held();
  auto lock = this->lock();
  using Steady = std::chrono::steady_clock;
  const Instant now = this->world.clock().now();
  EXPECT_FALSE(lock->try_lock_until(now - 1h));
  EXPECT_FALSE(lock->try_lock_until(now + 30ms));
  EXPECT_FALSE(lock->try_lock_shared_until(now + 60ms));
  EXPECT_FALSE(lock->try_lock_until(Steady::time_point::min()));
  EXPECT_FALSE(lock->try_lock_until(std::chrono::system_clock::now() + 30ms));
  EXPECT_FALSE(lock->try_lock_shared_until(std::chrono::system_clock::now() - 1h));
  EXPECT_FALSE(lock->try_lock_for(std::chrono::duration<double>(0.01)));
  EXPECT_FALSE(lock->try_lock_for(-1h));
  EXPECT_FALSE(lock->try_lock_for(std::chrono::hours::min()));
  holder->release();
  EXPECT_TRUE(lock->try_lock_until(std::chrono::system_clock::now() + 1h));
  lock->unlock();
  EXPECT_TRUE(lock->try_lock_until(Steady::time_point::max()));
  lock->unlock();
  EXPECT_TRUE(lock->try_lock_for(std::chrono::hours::max()));
  lock->unlock();
  EXPECT_TRUE(lock->try_lock_shared_until(now - 1h));
  lock->unlock_shared();
}

TYPED_TEST_P(LockLaws, AnotherThreadMayGiveItBack) {
  auto lock = this->held();
  bool released = false;
  std::thread([&] { released = lock->release(); }).join();
  EXPECT_TRUE(released);
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  EXPECT_TRUE(lock->try_lock());
}

TYPED_TEST_P(LockLaws, OfTwoThreadsWithOneObjectOneGetsIt) {
  auto lock = this->lock();
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> winners = 0;
    std::atomic<int> refused = 0;
    std::barrier start(2);
    const auto contend = [&] {
      start.arrive_and_wait();
      const auto error = error_of([&] { lock->acquire({.timeout = 1s}); });
      (error ? refused : winners) += error.value_or(Errc::already_held) == Errc::already_held ? 1 : 10;
    };
    std::thread other(contend);
    contend();
    other.join();
    ASSERT_EQ(winners, 1);
    ASSERT_EQ(refused, 1);
    ASSERT_TRUE(lock->release());
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
}

TYPED_TEST_P(LockLaws, ChannelsAreToldApartToTheLastByte) {
  using namespace std::string_literals;
  const std::vector<std::string> names = {
      "a",     "a\0b"s, "a\0c"s,  "a b",       "a\tb",     "a\nb",        "a\r\nPING\r\n",
      "lock*", "lockX", "a*[b]?", "100%s%d%n", "100%%s%d", "a\"b\\c",     "z\xc3\xa1mek-\xe9\x94\x81",
      "!~",    "\x7f",  "-lock-", "~YQ",       "a-lock",   "a-lock-1234", std::string(10'000, 'x')};
  std::vector<std::unique_ptr<typename TestFixture::Lock>> locks;
  const auto connection = this->world.connect();
  const auto stranger = this->world.connect();
  for (const std::string& name : names) {
    const std::string full = this->channel + name;
    locks.push_back(std::make_unique<typename TestFixture::Lock>(connection, full, this->options()));
    ASSERT_TRUE(locks.back()->try_lock()) << name;
    EXPECT_EQ(this->world.subscribers(full), 1u) << name;
    typename TestFixture::Lock second(stranger, full, this->options());
    EXPECT_FALSE(second.try_lock()) << name;
    EXPECT_TRUE(this->world.is_connected(locks.back()->client_name())) << name;
    EXPECT_EQ(locks.back()->channel(), full);
  }
  for (const auto& lock : locks) EXPECT_TRUE(lock->release()) << lock->channel();
}

TYPED_TEST_P(LockLaws, AnIdOfOnesOwnIsHonoured) {
  auto options = this->options();
  options.holder_id = "00112233445566778899aabbccddeeff";
  auto lock = this->lock(options);
  EXPECT_EQ(lock->holder_id(), options.holder_id);
  EXPECT_EQ(lock->client_name(), this->channel + "-lock-" + options.holder_id);
  EXPECT_EQ(lock->legacy_client_name(), this->channel + "-lock");
  lock->acquire();
  EXPECT_TRUE(this->world.is_connected(lock->client_name()));
  const auto others = this->lock()->probe();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others.front().holder_id, options.holder_id);
  lock->release();
  EXPECT_FALSE(this->world.is_connected(lock->client_name()));
}

TYPED_TEST_P(LockLaws, IdsAreFreshAndStay) {
  auto lock = this->lock();
  const std::string id = lock->holder_id();
  EXPECT_NO_THROW(core::check_holder_id(id));
  lock->acquire();
  EXPECT_EQ(lock->holder_id(), id);
  lock->release();
  EXPECT_EQ(lock->holder_id(), id);
  std::set<std::string> ids = {id};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ids.insert(this->lock()->holder_id()).second);
}

TYPED_TEST_P(LockLaws, ItIsGivenBackWhenItsObjectEnds) {
  {
    auto lock = this->held();
    EXPECT_EQ(this->world.subscribers(this->channel), 1u);
  }
  EXPECT_EQ(this->world.subscribers(this->channel), 0u);
  {
    auto reader = this->held_by_reader();
    reader->release();
  }
  EXPECT_TRUE(this->lock()->try_lock());
}

REGISTER_TYPED_TEST_SUITE_P(LockLaws, ItIsTakenAndGivenBack, OneObjectMayTakeItAgainAndAgain,
                            ASecondIsRefused, TheRefusalNamesWhoHoldsIt, FailWhenLockedDoesNotWait,
                            ReadersShareItAndKeepWritersOut, AWriterWaitsForReadersToLeave,
                            AWriterThatWaitsForReadersKeepsNewOnesOut, AReaderWaitsForTheWriterToLeave,
                            FiftyReadersAndOneWriter, GuardsOfTheStandardLibraryWork,
                            TwoLocksAreTakenTogether, ADeadlineMayBeOfAnyClock, AnotherThreadMayGiveItBack,
                            OfTwoThreadsWithOneObjectOneGetsIt, ChannelsAreToldApartToTheLastByte,
                            AnIdOfOnesOwnIsHonoured, IdsAreFreshAndStay, ItIsGivenBackWhenItsObjectEnds);

}  // namespace sublock::testing
