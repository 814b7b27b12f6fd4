// SPDX-License-Identifier: MIT

// The fuzzers' corpus, run by every build: each input as the fuzzer would, and what it says in every phase
// of a participant, reader and writer.

#include <gtest/gtest.h>

#include <fuzz/targets.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::fuzz {
namespace {

/// Calls `act(input)` for each file of a target's corpus.
template <class Act>
void for_each_input(const std::string& target, Act act) {
  std::size_t inputs = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(SUBLOCK_SOURCE_DIR "/tests/fuzz/corpus/" + target)) {
    SCOPED_TRACE(file.path().string());
    std::ifstream in(file.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NO_THROW(act(std::string_view(input)));
    ++inputs;
  }
  EXPECT_GE(inputs, 10U);
}

/// What an input says, without the letters before it.
std::vector<std::string_view> payloads_of(std::string_view input) {
  input.remove_prefix(input.find('\n') + 1);
  return parts_of(input);
}

TEST(FuzzCorpus, LockChannel) {
  for_each_input("lock_channel", [](std::string_view input) {
    lock_channel(input);
    for (const core::Phase phase : phases) {
      hear_on_lock_channel(phase, LockMode::exclusive, payloads_of(input));
      if (phase != core::Phase::fencing) hear_on_lock_channel(phase, LockMode::shared, payloads_of(input));
    }
  });
}

TEST(FuzzCorpus, ResponseChannel) {
  for_each_input("response_channel", [](std::string_view input) {
    response_channel(input);
    for (const core::Phase phase : phases) {
      for (std::size_t reached = 0; reached < 12; ++reached) {
        hear_answers(phase, LockMode::exclusive, reached, payloads_of(input));
        if (phase != core::Phase::fencing) hear_answers(phase, LockMode::shared, reached, payloads_of(input));
      }
    }
  });
}

TEST(FuzzCorpus, ClientList) { for_each_input("client_list", client_list); }

// A law that nothing can break says nothing.
TEST(FuzzCorpus, SomeAnswersDoLeadToTheLock) {
  Conversation conversation(core::Phase::probing, LockMode::shared);
  for (const std::string id : {"1", "2"}) {
    conversation.hear(core::event::Message{
        conversation.response_channel(),
        R"({"holder_id":")" + id + R"(","mode":"shared","protocol":1,"elected":false})"});
  }
  conversation.decide();
  EXPECT_TRUE(conversation.participant().holds());
}

}  // namespace
}  // namespace sublock::fuzz
