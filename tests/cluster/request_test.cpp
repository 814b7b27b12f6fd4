// SPDX-License-Identifier: MIT

// What is asked of a node, and what its answers amount to: without a server.

#include <gtest/gtest.h>

#include <sublock/transport/hiredis/dialect.hpp>
#include <sublock/transport/hiredis/request.hpp>

#include <string>
#include <variant>

namespace sublock::hiredis {
namespace {

/// Lets the request take what a node answers, byte for byte.
void take(Request& request, const std::string& bytes) {
  const Reader reader(::redisReaderCreate());
  ::redisReaderFeed(reader.get(), bytes.data(), bytes.size());
  for (void* raw = nullptr;; raw = nullptr) {
    ASSERT_EQ(::redisReaderGetReply(reader.get(), &raw), REDIS_OK);
    if (raw == nullptr) return;
    const Reply reply(static_cast<redisReply*>(raw));
    ASSERT_TRUE(request.take(*reply));
  }
}

Request ping() { return Request::ping(one_shard, "{a}", "{a}-p", "ping"); }

const std::string queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n";
const std::string counted = "*2\r\n$3\r\n{a}\r\n:1\r\n:1\r\n";

TEST(ClusterPing, CountsAtAPrimary) {
  Request request = ping();
  take(request, queued + "*3\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n" + counted);
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.misplaced(), "");
  EXPECT_EQ(std::get<core::event::Pinged>(request.event("here")).count, 1U);
}

/// Redis 7.0 redirects such a transaction by itself. What counts must not depend on it.
TEST(ClusterPing, CountsForNothingAtAReplica) {
  Request request = ping();
  take(request, queued + "*3\r\n*2\r\n$5\r\nslave\r\n$1\r\nx\r\n" + counted);
  ASSERT_TRUE(request.done());
  EXPECT_EQ(request.misplaced(), "is no primary any more");
  EXPECT_TRUE(request.found_no_primary());
}

TEST(ClusterPing, KnowsWhenTheSlotIsElsewhere) {
  for (const std::string error : {"MOVED 1 127.0.0.1:7000", "CLUSTERDOWN The cluster is down"}) {
    Request request = ping();
    take(request, "+OK\r\n+QUEUED\r\n+QUEUED\r\n-" + error + "\r\n-EXECABORT Transaction discarded\r\n");
    ASSERT_TRUE(request.done());
    EXPECT_EQ(request.misplaced(), "says " + error);
    EXPECT_FALSE(request.found_no_primary());
  }
}

TEST(ClusterState, IsAskedFor) {
  for (const auto& [answer, trouble] : {std::pair{"+cluster_state:ok\r\n", ""},
                                        std::pair{"+cluster_state:fail\r\n", "says that the cluster is down"},
                                        std::pair{"-NOPERM\r\n", "refuses CLUSTER INFO: NOPERM"}}) {
    Request request = Request::cluster_state();
    take(request, answer);
    ASSERT_TRUE(request.done());
    EXPECT_EQ(request.misplaced(), trouble);
  }
}

}  // namespace
}  // namespace sublock::hiredis
