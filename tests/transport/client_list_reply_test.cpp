// SPDX-License-Identifier: MIT

// Reading what CLIENT LIST answers: servers of all ages, and rubbish.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sublock/transport/hiredis/client_list_reply.hpp>

#include <string>
#include <vector>

namespace sublock::hiredis {
namespace {

using Connections = std::vector<core::Connection>;

TEST(ClientListReply, NothingIsNobody) { EXPECT_EQ(parse_client_list(""), Connections{}); }

TEST(ClientListReply, ReadsWhatRedis7Writes) {
  EXPECT_EQ(parse_client_list(
                "id=8 addr=127.0.0.1:52555 laddr=127.0.0.1:6379 fd=8 name=a-lock-b age=0 idle=0 flags=P db=0 "
                "sub=2 psub=0 ssub=0 multi=-1 qbuf=0 user=default redir=-1 resp=2\n"
                "id=9 addr=/run/redis.sock:0 laddr=/run/redis.sock:0 fd=9 name= age=0 idle=0 flags=P\n"),
            (Connections{{8, "a-lock-b"}, {9, ""}}));
}

TEST(ClientListReply, FieldsMayComeInAnyOrder) {
  EXPECT_EQ(parse_client_list("name=x age=1 id=5\r\n"), (Connections{{5, "x"}}));
}

TEST(ClientListReply, ANameMayHoldEqualsSigns) {
  EXPECT_EQ(parse_client_list("id=5 name=a=b=-lock-c age=1"), (Connections{{5, "a=b=-lock-c"}}));
}

TEST(ClientListReply, FieldsThatMerelyEndInANameAreOthers) {
  EXPECT_EQ(parse_client_list("id=5 lib-name=evil name=good lib-id=6 rename=x\n"),
            (Connections{{5, "good"}}));
}

TEST(ClientListReply, ANameCantPretendToBeAnotherField) {
  EXPECT_EQ(parse_client_list("id=5 name=id=7 age=1\n"), (Connections{{5, "id=7"}}));
}

TEST(ClientListReply, LinesWithoutASoundIdAreSkipped) {
  EXPECT_EQ(parse_client_list("\n\r\n \n=\n= =\nname=x\nid= name=x\nid=x name=x\nid=-1 name=x\nid=1x name=x\n"
                              "id=99999999999999999999 name=x\nid name\nid=3 name=ok\nrubbish"),
            (Connections{{3, "ok"}}));
}

TEST(ClientListReply, TheLargestIdIsRead) {
  EXPECT_EQ(parse_client_list("id=9223372036854775807 name=x"), (Connections{{INT64_MAX, "x"}}));
}

TEST(ClientListReply, AnyBytesAreSurvived) {
  std::string rubbish;
  unsigned word = 1;
  for (int i = 0; i < 100'000; ++i) {
    word = word * 1'103'515'245 + 12'345;
    rubbish +=
        "id=name \n\r\0\xff"
        "0123456789"[(word >> 16) % 22];
  }
  for (const core::Connection& connection : parse_client_list(rubbish)) EXPECT_GE(connection.id, 0);
}

}  // namespace
}  // namespace sublock::hiredis
