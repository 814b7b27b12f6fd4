// SPDX-License-Identifier: MIT
#pragma once

// The smallest model of each policy concept, and beside it one that lacks exactly one requirement, for
// every requirement there is. A policy of your own needs no more than `Minimal…` has. Nothing here works:
// these are for the compiler.

#include <sublock/policies.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sublock::testing {

// Clocks.

struct MinimalClock {
  [[nodiscard]] Instant now() const noexcept { return {}; }
};

struct MinimalWallClock : MinimalClock {
  [[nodiscard]] WallTime wall() const noexcept { return {}; }
};

struct ClockWithoutNow {};
struct ClockThatMayThrow {
  [[nodiscard]] Instant now() const { return {}; }
};
struct ClockThatIsMovedByAsking {
  [[nodiscard]] Instant now() noexcept { return {}; }
};
struct ClockOnAnotherScale {
  [[nodiscard]] std::chrono::system_clock::time_point now() const noexcept { return {}; }
};
struct WallClockThatMayThrow : MinimalClock {
  [[nodiscard]] WallTime wall() const { return {}; }
};
struct WallClockOnAnotherScale : MinimalClock {
  [[nodiscard]] Instant wall() const noexcept { return {}; }
};
struct ClockThatCannotBeCopied : MinimalClock {
  ClockThatCannotBeCopied() = default;
  ClockThatCannotBeCopied(const ClockThatCannotBeCopied&) = delete;
};

// Elections.

struct MinimalElection {
  [[nodiscard]] bool before(const Candidate& a, const Candidate& b) const noexcept {
    return a.holder_id < b.holder_id;
  }
};

struct ElectionWithoutBefore {};
struct ElectionThatMayThrow {
  [[nodiscard]] bool before(const Candidate&, const Candidate&) const { return false; }
};
struct ElectionThatRemembers {
  [[nodiscard]] bool before(const Candidate&, const Candidate&) noexcept { return false; }
};
struct ElectionThatIsNotSure {
  [[nodiscard]] int before(const Candidate&, const Candidate&) const noexcept { return 0; }
};
struct ElectionByNameOnly {
  [[nodiscard]] bool before(const std::string& a, const std::string& b) const noexcept { return a < b; }
};
struct ElectionThatCannotBeCopied : MinimalElection {
  ElectionThatCannotBeCopied() = default;
  ElectionThatCannotBeCopied(const ElectionThatCannotBeCopied&) = delete;
};

// Reapers.

struct MinimalReaper {
  static constexpr bool asks = true;
  [[nodiscard]] Diagnosis examine(const Silence&) const { return {}; }
};

struct ReaperThatDoesNotSayWhetherItAsks {
  [[nodiscard]] Diagnosis examine(const Silence&) const { return {}; }
};
struct ReaperThatAsksInWords {
  static constexpr std::string_view asks = "yes";
  [[nodiscard]] Diagnosis examine(const Silence&) const { return {}; }
};
struct ReaperWithoutExamine {
  static constexpr bool asks = true;
};
struct ReaperThatSuspectsOverTime {
  static constexpr bool asks = true;
  [[nodiscard]] Diagnosis examine(const Silence&) { return {}; }
};
struct ReaperWithAnotherDiagnosis {
  static constexpr bool asks = true;
  [[nodiscard]] std::vector<std::int64_t> examine(const Silence&) const { return {}; }
};
struct ReaperThatCannotBeCopied : MinimalReaper {
  ReaperThatCannotBeCopied() = default;
  ReaperThatCannotBeCopied(const ReaperThatCannotBeCopied&) = delete;
};

// Lines and transports: one template, and a flaw to choose.

/// What a line or a transport may lack. `none` first, `end` last: the compiler walks what is between.
enum class Flaw {
  none,
  no_constructor,
  no_open,
  no_close,
  no_join,
  join_without_rosters,
  no_listen,
  no_leave,
  no_ping,
  no_ask,
  no_publish,
  no_count,
  no_list,
  no_kill,
  no_increment,
  no_remind,
  no_wait,
  wait_without_stop,
  no_line,
  no_options,
  options_need_arguments,
  no_make,
  make_returns_another,
  no_mutex,
  mutex_by_another_name,
  no_stalled,
  no_foreign,
  foreign_may_throw,
  end
};

/// What a desk may lack.
enum class DeskFlaw {
  none,
  no_constructor,
  no_open,
  no_close,
  no_take,
  take_for_ever,
  no_extend,
  extend_unseen,
  no_drop,
  drop_unseen,
  no_look,
  no_hear,
  no_deafen,
  no_increment,
  no_publish,
  no_remind,
  no_wait,
  no_desk,
  end
};

template <Flaw flaw>
class ArchetypeTransport;

template <Flaw flaw>
struct ArchetypeLine {
  ArchetypeLine(std::shared_ptr<ArchetypeTransport<flaw>>,
                core::Listener&) requires(flaw != Flaw::no_constructor) {}

  void open(const std::string&) requires(flaw != Flaw::no_open) {}
  void close() requires(flaw != Flaw::no_close) {}
  void join(const std::string&, const std::string&,
            const std::string&) requires(flaw == Flaw::join_without_rosters) {}
  void join(const std::string&, const std::string&, const std::string&,
            const core::action::Rosters&) requires(flaw != Flaw::no_join &&
                                                   flaw != Flaw::join_without_rosters) {}
  void listen(const std::string&) requires(flaw != Flaw::no_listen) {}
  void leave(const std::vector<core::action::Note>&) requires(flaw != Flaw::no_leave) {}
  void ping(const std::string&, const std::string&, const std::string&) requires(flaw != Flaw::no_ping) {}
  void ask(const std::string&, const std::string&, const std::string&) requires(flaw != Flaw::no_ask) {}
  void publish(const std::string&, const std::string&) requires(flaw != Flaw::no_publish) {}
  void count(const std::string&) requires(flaw != Flaw::no_count) {}
  void list() requires(flaw != Flaw::no_list) {}
  void kill(const std::vector<std::int64_t>&) requires(flaw != Flaw::no_kill) {}
  void increment(const std::string&) requires(flaw != Flaw::no_increment) {}
  void remind(Duration) requires(flaw != Flaw::no_remind) {}
  void wait(std::unique_lock<std::mutex>&, Duration) requires(flaw == Flaw::wait_without_stop) {}
  void wait(std::unique_lock<std::mutex>&, Duration,
            std::stop_token) requires(flaw != Flaw::no_wait && flaw != Flaw::wait_without_stop) {}
};

struct EasyOptions {};
struct OptionsThatNeedArguments {
  explicit OptionsThatNeedArguments(int) {}
};

// A nested type can't have a `requires` of its own, so each comes from a base that may be missing.
template <Flaw flaw>
struct NestedLine {
  using Line = ArchetypeLine<flaw>;
};
template <>
struct NestedLine<Flaw::no_line> {};

template <Flaw flaw>
struct NestedOptions {
  using Options =
      std::conditional_t<flaw == Flaw::options_need_arguments, OptionsThatNeedArguments, EasyOptions>;
};
template <>
struct NestedOptions<Flaw::no_options> {};

template <Flaw flaw>
class ArchetypeTransport : public NestedLine<flaw>, public NestedOptions<flaw> {
 public:
  static std::shared_ptr<ArchetypeTransport> make(const auto&) requires(flaw != Flaw::no_make &&
                                                                        flaw != Flaw::make_returns_another) {
    return nullptr;
  }
  static std::unique_ptr<ArchetypeTransport> make(const auto&) requires(flaw == Flaw::make_returns_another) {
    return nullptr;
  }

  std::mutex& mutex() requires(flaw != Flaw::no_mutex && flaw != Flaw::mutex_by_another_name) {
    return mutex_;
  }
  std::recursive_mutex& mutex() requires(flaw == Flaw::mutex_by_another_name) { return recursive_mutex_; }

  [[nodiscard]] bool stalled() const noexcept requires(flaw != Flaw::no_stalled) { return false; }
  [[nodiscard]] bool foreign() const noexcept
      requires(flaw != Flaw::no_foreign && flaw != Flaw::foreign_may_throw) {
    return false;
  }
  [[nodiscard]] bool foreign() const requires(flaw == Flaw::foreign_may_throw) { return false; }

 private:
  std::mutex mutex_;
  std::recursive_mutex recursive_mutex_;
};

using MinimalTransport = ArchetypeTransport<Flaw::none>;

// Desks, and transports that leases can use as well.

template <DeskFlaw flaw>
class ArchetypeLeaseTransport;

template <DeskFlaw flaw>
struct ArchetypeDesk {
  using Text = const std::string&;

  ArchetypeDesk(std::shared_ptr<ArchetypeLeaseTransport<flaw>>,
                core::Listener&) requires(flaw != DeskFlaw::no_constructor) {}

  void open() requires(flaw != DeskFlaw::no_open) {}
  void close() requires(flaw != DeskFlaw::no_close) {}
  void take(Text, Text) requires(flaw == DeskFlaw::take_for_ever) {}
  void take(Text, Text, Duration) requires(flaw != DeskFlaw::no_take && flaw != DeskFlaw::take_for_ever) {}
  void extend(Text, Text, Duration) requires(flaw == DeskFlaw::extend_unseen) {}
  void extend(Text, Text, Text,
              Duration) requires(flaw != DeskFlaw::no_extend && flaw != DeskFlaw::extend_unseen) {}
  void drop(Text) requires(flaw == DeskFlaw::drop_unseen) {}
  void drop(Text, Text) requires(flaw != DeskFlaw::no_drop && flaw != DeskFlaw::drop_unseen) {}
  void look(Text) requires(flaw != DeskFlaw::no_look) {}
  void hear(Text) requires(flaw != DeskFlaw::no_hear) {}
  void deafen() requires(flaw != DeskFlaw::no_deafen) {}
  void increment(Text) requires(flaw != DeskFlaw::no_increment) {}
  void publish(Text, Text) requires(flaw != DeskFlaw::no_publish) {}
  void remind(Duration) requires(flaw != DeskFlaw::no_remind) {}
  void wait(std::unique_lock<std::mutex>&, Duration, std::stop_token) requires(flaw != DeskFlaw::no_wait) {}
};

template <DeskFlaw flaw>
struct NestedDesk {
  using Desk = ArchetypeDesk<flaw>;
};
template <>
struct NestedDesk<DeskFlaw::no_desk> {};

template <DeskFlaw flaw>
class ArchetypeLeaseTransport : public NestedDesk<flaw> {
 public:
  using Options = EasyOptions;
  struct Line : ArchetypeLine<Flaw::none> {
    Line(std::shared_ptr<ArchetypeLeaseTransport>, core::Listener& listener)
        : ArchetypeLine<Flaw::none>(nullptr, listener) {}
  };

  static std::shared_ptr<ArchetypeLeaseTransport> make(const Options&) { return nullptr; }
  std::mutex& mutex() { return mutex_; }
  [[nodiscard]] bool stalled() const noexcept { return false; }
  [[nodiscard]] bool foreign() const noexcept { return false; }

 private:
  std::mutex mutex_;
};

using MinimalLeaseTransport = ArchetypeLeaseTransport<DeskFlaw::none>;

}  // namespace sublock::testing
