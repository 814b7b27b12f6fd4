// SPDX-License-Identifier: MIT

// More readers than a probe can hear one by one: the holders of unread answers must not be taken for dead.

#include <cases/cases.hpp>
#include <support/sanitized.hpp>

#include <memory>

namespace support {
namespace {

class ManyReaders : public Cases, public ::testing::WithParamInterface<int> {
 protected:
  /// That many hold, started one after another.
  void start_readers(int how_many) {
    for (int i = 0; i < how_many; ++i) {
      readers.emplace_back(new Process(drive("many", {"shared", "hold=600", "wait=20"})));
      let_pass(0.05);
    }
    for (const auto& reader : readers) expect_after_try(*reader, " GOT$", 0, 2);
  }

  std::vector<std::unique_ptr<Process>> readers;
};

TEST_P(ManyReaders, AreAllHeardByAWriter) {
  start_readers(GetParam());
  EXPECT_EQ(server.subscribers("many"), GetParam());
  auto impatient = drive("many", {"wait=2"});
  expect_after_try(impatient, " FAILED busy", 2, 2 + U + 0.5);
  EXPECT_EQ(server.subscribers("many"), GetParam());
  EXPECT_EQ(server.kills(), 0);

  auto writer = drive("many", {"wait=30", "hold=0.1"});
  writer.expect_line(" TRY$");
  ASSERT_TRUE(eventually([&] { return server.subscribers("many") == GetParam() + 1; }));
  for (const auto& reader : readers) reader->signal(SIGTERM);
  double last = 0;
  for (const auto& reader : readers) {
    EXPECT_EQ(reader->exit_status(), 0) << reader->transcript();
    EXPECT_EQ(count(*reader, "LOST"), 0) << reader->transcript();
    last = std::max(last, stamp_of(reader->lines().back()));
  }
  EXPECT_LE(stamp_of(writer.expect_line(" GOT$")) - last, within(2));
  EXPECT_EQ(writer.exit_status(), 0);
  EXPECT_EQ(server.kills(), 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, ManyReaders, ::testing::Values(30, 60), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace support
