#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""redis-py's Lock as a peer: redis_py_peer.py PORT CHANNEL TTL. By default it is held for ever, even by the
dead, so the caller has to choose a TTL, in seconds."""

import sys

import peer
import redis


class Peer:
    def __init__(self, port, channel, ttl):
        self.lock = redis.Redis(port=int(port)).lock(channel, timeout=float(ttl))
        self.acquire = self.lock.acquire
        self.release = self.lock.release

    def learn(self):
        if self.lock.owned():
            raise RuntimeError('nothing lost')
        return 'asked'


peer.serve(Peer(*sys.argv[1:]))
