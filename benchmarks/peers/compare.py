#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plays every scenario with every lock, the locks taking turns on one server, and prints one table in
Markdown. `run` builds what is needed and starts this."""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import platform
import random
import sys

import chart
import portalocker
import redis
import table
from scenarios import SCENARIOS, Size
from stage import SECOND, Process, Server

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Peer:
    """A program that speaks the protocol of peer.hpp, and what follows its port and channel."""

    title: str
    program: object
    words: tuple = ()
    at_most: dict = dataclasses.field(default_factory=dict)  # samples, where each takes it long


def locks(size):
    """By the words that the command line has for them."""
    portalocker_peer = HERE / 'portalocker_peer.py'
    never = {'killed': 10, 'frozen': 1}
    return {
        'sublock': Peer('sublock', 'sublock-peer'),
        'redis-py': Peer(
            f'redis-py `Lock`, TTL {size.ttl // SECOND} s',
            HERE / 'redis_py_peer.py',
            (size.ttl / SECOND,),
            {'killed': 3, 'frozen': 3},
        ),
        'portalocker': Peer('portalocker', portalocker_peer, (), never),
        'portalocker-tuned': Peer(
            'portalocker, tuned', portalocker_peer, ('check_interval=0.02', 'thread_sleep_time=0.001'), never
        ),
    }


FLOORS = {
    'uncontended': [Peer('PING', 'floor-peer', ('ping',)), Peer('SET NX, script', 'floor-peer', ('key',))],
    'hand-over': [Peer('PUBLISH', 'floor-peer', ('message',))],
}


def sample(scenario, peers, server, size, programs):
    """The samples of each peer, by its title. Within a round they go in random order; who has fewer samples
    to give sits out some of the rounds."""
    samples = {peer.title: [] for peer in peers}
    rounds = max(1, round(size.rounds * scenario.part))
    with contextlib.ExitStack() as scene:

        def play(peer):
            argv = [programs / peer.program, server.port, f'{scenario.name}-{peers.index(peer)}', *peer.words]
            start = lambda prefix=(): Process([*prefix, *map(str, argv)])
            return scene.enter_context(contextlib.closing(scenario.play(start, server, size)))

        on = [(peer, play(peer), min(rounds, peer.at_most.get(scenario.name, rounds))) for peer in peers]
        for at in range(rounds):
            for peer, plays, wanted in random.sample(on, len(on)):
                if (at + 1) * wanted // rounds > at * wanted // rounds:
                    samples[peer.title].append(next(plays))
    return samples


def load():
    return ' '.join(f'{average:.2f}' for average in os.getloadavg())


def main():
    words = argparse.ArgumentParser(description='sublock beside other locks, each figure a median')
    words.add_argument('--rounds', type=int, default=Size.rounds, help='%(default)s take about five minutes')
    words.add_argument('--glance', action='store_true', help='one round in less than a minute: rough figures')
    words.add_argument('--peers', nargs='+', choices=[*locks(Size())], help='only these')
    words.add_argument('--chart', type=pathlib.Path, help='writes the chart there, as SVG')
    words.add_argument('--programs', type=pathlib.Path, required=True, help='folder of the peers in C++')
    words = words.parse_args()

    size = Size(words.rounds)
    if words.glance:
        size = Size(rounds=1, span=SECOND // 2, ttl=2 * SECOND, patience=4 * SECOND)
    chosen = [peer for word, peer in locks(size).items() if word in (words.peers or word)]

    load_before = load()
    samples = {}
    with Server() as server:
        for scenario in SCENARIOS:
            print(f'== {scenario.name}', file=sys.stderr)
            peers = FLOORS.get(scenario.name, []) + chosen
            samples[scenario.name] = sample(scenario, peers, server, size, words.programs.resolve())

    floors = {name: [peer.title for peer in peers] for name, peers in FLOORS.items()}
    titles = [peer.title for peer in chosen]
    where = (
        f'{os.cpu_count()} CPUs, load {load_before} before and {load()} after; Redis {server.version}, '
        f'Python {platform.python_version()}, redis-py {redis.__version__}, '
        f'portalocker {portalocker.__version__}'
    )
    print(table.markdown(samples, titles, floors, size), where, sep='\n\n')
    if 'sublock' in titles:
        print('', *table.goals(samples), sep='\n')
    if words.chart:
        words.chart.write_text(chart.svg(table.groups(samples, titles, floors), where))


if __name__ == '__main__':
    main()
