// SPDX-License-Identifier: MIT

// One who looks into the silence of another may find a third on the server's list, who is alive, was asked
// nothing or once, and goes his way before the second question. His connection serves another lock by the
// time the silent one is killed, and must not be killed with it.

#include <cases/cases.hpp>
#include <support/fault_proxy.hpp>

#include <sublock/redis_lock.hpp>

#include <chrono>
#include <stop_token>
#include <thread>

namespace support {
namespace {

using namespace std::chrono_literals;

class Bystander : public Cases {};

TEST_F(Bystander, KeepsWhatHeHoldsByTheConnectionThatWasSeen) {
  auto frozen = drive("by", {"hold=60"});
  frozen.expect_line(" GOT$");
  frozen.signal(SIGSTOP);
  FaultProxy proxy(server.port());
  proxy.delay(FaultProxy::to_client, std::chrono::milliseconds(200));
  auto reaper =
      drive_anywhere("by", {"shared", "wait=20", "hold=60", "port=" + std::to_string(proxy.port())});
  ASSERT_TRUE(
      eventually([&] { return server.calls("publish") >= 3; }));  // two have joined, and its first question

  const auto connection = sublock::connect(server.url());
  sublock::RedisLock::Options patient;
  patient.unavailable_timeout = 30s;
  patient.timeout = 30s;
  sublock::RedisLock passing(connection, "by", patient);
  sublock::RedisLock elsewhere(connection, "another", patient);
  std::stop_source stop;
  std::jthread waiting([&] { EXPECT_THROW(passing.lock_shared(stop.get_token()), sublock::LockError); });
  ASSERT_TRUE(eventually([&] { return server.subscribers("by") == 3; }));
  ASSERT_TRUE(eventually([&] { return server.calls("client|list") >= 1; }));  // and what it sees
  stop.request_stop();
  waiting.join();
  elsewhere.acquire();

  reaper.expect_line(" GOT$", 10s);
  EXPECT_TRUE(elsewhere.held()) << "a lock on another channel was killed";
  EXPECT_EQ(server.kills(), 1) << "one was silent";
  frozen.signal(SIGCONT);
  reaper.signal(SIGTERM);
}

}  // namespace
}  // namespace support
