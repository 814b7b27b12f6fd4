#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""portalocker's RedisLock as a peer: portalocker_peer.py PORT CHANNEL [NAME=SECONDS ...], each NAME an
argument of RedisLock. Everything else but the patience of a waiter is the default."""

import sys
import time

import peer
import portalocker


class Peer:
    def __init__(self, port, channel, *words):
        more = {name: float(value) for name, value in (word.split('=') for word in words)}
        self.lock = portalocker.RedisLock(channel, timeout=60, redis_kwargs={'port': int(port)}, **more)
        self.acquire = self.lock.acquire
        self.release = self.lock.release

    def learn(self):
        try:
            time.sleep(1)
        except KeyboardInterrupt:  # its way to tell that the subscription has gone
            return 'told'
        raise RuntimeError('nothing lost')


peer.serve(Peer(*sys.argv[1:]))
