# SPDX-License-Identifier: MIT
"""What is done with every lock alike. Each scenario sets its scene once, then gives one sample whenever it is
asked for one, so that the locks can take turns. All times are nanoseconds."""

import contextlib
import dataclasses
import itertools
import os
import random
import signal
import time

from stage import MS, SECOND, let_pass


@dataclasses.dataclass
class Size:
    """How much one run does."""

    rounds: int = 30
    span: int = 2 * SECOND  # of one round of contention
    ttl: int = 10 * SECOND  # where the caller has to choose one
    patience: int = 15 * SECOND  # with a lock whose holder is frozen


def in_fours(times):
    return zip(*[iter(times)] * 4)


def uncontended(start, server, size):
    """One process, warm, the server on another CPU where there are two: time of acquire + release."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(server.popen.pid, cpus[:1])
    try:
        with start(f'taskset --cpu-list {cpus[-1]}'.split()) as one:
            while True:
                turns = in_fours(one.do('turns', time.monotonic_ns() + 50 * MS, 0))
                yield [free - asked for asked, _, _, free in turns]
    finally:
        os.sched_setaffinity(server.popen.pid, cpus)


def hand_over(start, server, size):
    """From the call of release to the return of acquire in another process that is blocked in it."""
    with start() as holder, start() as waiter:
        holder.do('acquire')
        while True:
            waiter.say('acquire')
            let_pass(random.randint(200, 500) * MS)
            called, _ = holder.do('release')
            _, (_, got) = waiter.hear()
            yield [got - called]
            holder, waiter = waiter, holder


@dataclasses.dataclass
class Crowd:
    """One round of contention."""

    per_second: float
    shares: list  # of each contender, from the least to the most served
    turns: int
    overlaps: int  # turns that began before the one before them had ended


def contention(start, server, size, contenders=8, hold=1 * MS):
    """Each contender takes the lock, holds it and gives it back, over and over."""
    with contextlib.ExitStack() as scene:
        crowd = [scene.enter_context(start()) for _ in range(contenders)]
        while True:
            until = time.monotonic_ns() + size.span
            for one in crowd:
                one.say('turns', until, hold)
            served = []
            for one in crowd:
                _, times = one.hear()
                served.append([(got, gave) for _, got, gave, _ in in_fours(times) if gave < until])
            turns = sorted(itertools.chain(*served))
            yield Crowd(
                len(turns) * SECOND / size.span,
                sorted(len(mine) / max(len(turns), 1) for mine in served),
                len(turns),
                sum(second[0] < first[1] for first, second in itertools.pairwise(turns)),
            )


@contextlib.contextmanager
def held(start):
    """A holder who got the lock a second ago, and some random ms so that nobody's polling is met at the same
    phase each time; and a waiter who is blocked."""
    with start() as holder, start() as waiter:
        _, got = holder.do('acquire')
        waiter.say('acquire')
        let_pass(got + SECOND + random.randint(0, 50) * MS - time.monotonic_ns())
        yield holder, waiter


def killed(start, server, size):
    """From SIGKILL, a second after the holder got the lock, to the return of the waiter's acquire."""
    while True:
        with held(start) as (holder, waiter):
            end = time.monotonic_ns()
            holder.popen.send_signal(signal.SIGKILL)
            _, (_, got) = waiter.hear()
            waiter.do('release')
            yield [got - end]


@dataclasses.dataclass
class Thaw:
    """What came of a holder that was frozen."""

    taken_over: int = None  # the time until somebody else had the lock
    word: str = None  # how he has learnt that he has lost it, see peer.hpp
    learnt: int = None  # how long after he ran again


def frozen(start, server, size):
    """The same with SIGSTOP; then the holder is let go on, and asked what it knows."""
    while True:
        with held(start) as (holder, waiter):
            end = time.monotonic_ns()
            holder.freeze()
            if not waiter.answers(size.patience):
                yield Thaw()
                continue
            _, (_, got) = waiter.hear()
            woken = time.monotonic_ns()
            holder.popen.send_signal(signal.SIGCONT)
            holder.say('learn')
            word, (_, learnt) = holder.hear()
            waiter.do('release')
            yield Thaw(got - end, word, learnt - woken)


@dataclasses.dataclass
class Scenario:
    name: str
    play: object
    part: float = 1  # of all rounds


SCENARIOS = [
    Scenario('uncontended', uncontended),
    Scenario('hand-over', hand_over),
    Scenario('contention', contention, 1 / 6),
    Scenario('killed', killed),
    Scenario('frozen', frozen, 1 / 6),
]
