// SPDX-License-Identifier: MIT

// The policy concepts accept every model we ship and the smallest one of each kind, and refuse a model
// for the lack of any single requirement. The compiler runs these tests; gtest only says that it did.

#include <gtest/gtest.h>
#include <sublock/clock/manual.hpp>
#include <sublock/clock/steady.hpp>
#include <sublock/election/lowest_id.hpp>
#include <sublock/getlock_options.hpp>
#include <sublock/options.hpp>
#include <sublock/policies.hpp>
#include <sublock/reaper/client_list.hpp>
#include <sublock/reaper/never.hpp>
#include <sublock/transport/in_memory.hpp>
#include <support/archetypes.hpp>

#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/range.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <string>
#include <type_traits>

namespace sublock::testing {
namespace {

namespace hana = boost::hana;

// A concept can't be passed to a function; a lambda that asks it can.
constexpr auto is_clock = [](auto type) { return ClockPolicy<typename decltype(type)::type>; };
constexpr auto is_wall_clock = [](auto type) { return WallClockPolicy<typename decltype(type)::type>; };
constexpr auto is_election = [](auto type) { return ElectionPolicy<typename decltype(type)::type>; };
constexpr auto is_reaper = [](auto type) { return ReaperPolicy<typename decltype(type)::type>; };
constexpr auto is_transport = [](auto type) { return TransportPolicy<typename decltype(type)::type>; };

// The assertion stands inside the loop, so that a failure names the type in its "instantiated from".
template <class Predicate>
constexpr bool all_models(Predicate, auto types) {
  hana::for_each(types, [](auto type) {
    static_assert(Predicate{}(decltype(type){}), "the concept should accept this model");
  });
  return true;
}

template <class Predicate>
constexpr bool no_models(Predicate, auto types) {
  hana::for_each(types, [](auto type) {
    static_assert(!Predicate{}(decltype(type){}), "the concept should refuse this type");
  });
  return true;
}

static_assert(all_models(is_clock, hana::tuple_t<MinimalClock, SteadyClock, ManualClock>));
static_assert(no_models(is_clock, hana::tuple_t<ClockWithoutNow, ClockThatMayThrow, ClockThatIsMovedByAsking,
                                                ClockOnAnotherScale, ClockThatCannotBeCopied, int>));

static_assert(all_models(is_wall_clock, hana::tuple_t<MinimalWallClock, SteadyClock, ManualClock>));
static_assert(no_models(is_wall_clock,
                        hana::tuple_t<MinimalClock, WallClockThatMayThrow, WallClockOnAnotherScale, int>));

static_assert(all_models(is_election, hana::tuple_t<MinimalElection, LowestIdElection>));
static_assert(no_models(
    is_election, hana::tuple_t<ElectionWithoutBefore, ElectionThatMayThrow, ElectionThatRemembers,
                               ElectionThatIsNotSure, ElectionByNameOnly, ElectionThatCannotBeCopied, int>));

static_assert(all_models(is_reaper, hana::tuple_t<MinimalReaper, ClientListReaper, NeverReap>));
static_assert(no_models(
    is_reaper,
    hana::tuple_t<ReaperThatDoesNotSayWhetherItAsks, ReaperThatAsksInWords, ReaperWithoutExamine,
                  ReaperThatSuspectsOverTime, ReaperWithAnotherDiagnosis, ReaperThatCannotBeCopied, int>));

static_assert(all_models(is_transport, hana::tuple_t<MinimalTransport, InMemoryTransport>));
static_assert(no_models(is_transport, hana::tuple_t<int, InMemoryRedis, MinimalClock>));

// Every flaw, by number: a new one in the enum is tested without a line here.
constexpr bool every_flaw_is_refused() {
  constexpr auto flaws = hana::make_range(hana::int_c<static_cast<int>(Flaw::none) + 1>,
                                          hana::int_c<static_cast<int>(Flaw::end)>);
  hana::for_each(flaws, [](auto number) {
    constexpr Flaw flaw = static_cast<Flaw>(decltype(number)::value);
    static_assert(!TransportPolicy<ArchetypeTransport<flaw>>, "the concept should refuse this flaw");
  });
  return true;
}
static_assert(every_flaw_is_refused());

// The flaws of a line are refused by LineOf itself, not by something else in the transport.
static_assert(LineOf<MinimalTransport::Line, MinimalTransport>);
static_assert(LineOf<InMemoryTransport::Line, InMemoryTransport>);
static_assert(!LineOf<ArchetypeLine<Flaw::no_leave>, ArchetypeTransport<Flaw::no_leave>>);
static_assert(!LineOf<MinimalTransport::Line, InMemoryTransport>);

// And those of a desk, in a transport that is one in all else.
constexpr bool every_flaw_of_a_desk_is_refused() {
  constexpr auto flaws = hana::make_range(hana::int_c<static_cast<int>(DeskFlaw::none) + 1>,
                                          hana::int_c<static_cast<int>(DeskFlaw::end)>);
  hana::for_each(flaws, [](auto number) {
    constexpr DeskFlaw flaw = static_cast<DeskFlaw>(decltype(number)::value);
    static_assert(TransportPolicy<ArchetypeLeaseTransport<flaw>>);
    static_assert(!LeaseTransportPolicy<ArchetypeLeaseTransport<flaw>>,
                  "the concept should refuse this flaw");
  });
  return true;
}
static_assert(every_flaw_of_a_desk_is_refused());
static_assert(LeaseTransportPolicy<MinimalLeaseTransport> && LeaseTransportPolicy<InMemoryTransport>);
static_assert(!LeaseTransportPolicy<MinimalTransport>);

// Options ask for models of the four concepts, in their order.
template <class Transport, class Election, class Reaper, class Clock>
concept NamesOptions = requires {
  typename LockOptions<Transport, Election, Reaper, Clock>;
};
static_assert(NamesOptions<MinimalTransport, MinimalElection, MinimalReaper, MinimalClock>);
static_assert(NamesOptions<InMemoryTransport, LowestIdElection, NeverReap, ManualClock>);
static_assert(!NamesOptions<int, MinimalElection, MinimalReaper, MinimalClock>);
static_assert(!NamesOptions<MinimalTransport, int, MinimalReaper, MinimalClock>);
static_assert(!NamesOptions<MinimalTransport, MinimalElection, int, MinimalClock>);
static_assert(!NamesOptions<MinimalTransport, MinimalElection, MinimalReaper, int>);

template <class Transport, class Clock>
concept NamesGetlockOptions = requires {
  typename GetlockOptions<Transport, Clock>;
};
static_assert(NamesGetlockOptions<MinimalLeaseTransport, MinimalWallClock>);
static_assert(!NamesGetlockOptions<MinimalTransport, MinimalWallClock>);
static_assert(!NamesGetlockOptions<MinimalLeaseTransport, MinimalClock>);

// What costs nothing in a lock object, and what must stay put since others point to it.
static_assert(std::is_empty_v<SteadyClock> && std::is_empty_v<LowestIdElection>);
static_assert(std::is_empty_v<ClientListReaper> && std::is_empty_v<NeverReap>);
static_assert(!std::is_copy_constructible_v<InMemoryRedis> && !std::is_move_constructible_v<InMemoryRedis>);
static_assert(!std::is_copy_constructible_v<InMemoryTransport::Line>);
static_assert(!std::is_move_constructible_v<InMemoryTransport::Line>);

TEST(Policies, TheCompilerHasCheckedTheConcepts) { SUCCEED(); }

}  // namespace
}  // namespace sublock::testing
