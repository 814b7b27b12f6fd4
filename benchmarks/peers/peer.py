# SPDX-License-Identifier: MIT
"""The line protocol of peer.hpp, for the peers in Python."""

import sys
import time


def timed(act):
    began = time.monotonic_ns()
    word = act()
    return word if isinstance(word, str) else 'done', [began, time.monotonic_ns()]


def turns(lock, until, hold):
    times = []
    asked = time.monotonic_ns()
    while not times or asked < until:
        lock.acquire()
        got = time.monotonic_ns()
        if hold:
            time.sleep(hold / 1e9)
        gave = time.monotonic_ns()
        lock.release()
        free = time.monotonic_ns()
        times += [asked, got, gave, free]
        asked = free
    return 'done', times


def serve(lock):
    """Obeys until there are no more commands. A lock has acquire(), release() and learn()."""
    print('done', flush=True)
    for line in sys.stdin:
        verb, *numbers = line.split()
        try:
            if verb == 'turns':
                word, times = turns(lock, *map(int, numbers))
            else:
                word, times = timed(getattr(lock, verb))
            print(word, *times, flush=True)
        except Exception as error:
            print('failed', repr(error), flush=True)
