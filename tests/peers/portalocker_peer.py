#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A process that takes a lock with Python's portalocker, as a peer for tests.

    portalocker_peer.py PORT CHANNEL [wait=S] [hold=S] [rounds=N] [shared]
                       [exclusion=PATH] [overlap=KEY]

Prints one line for each event, stamped with CLOCK_MONOTONIC seconds: VERSION v, TRY, GOT, RELEASED,
FAILED text, LOST, OVERLAP. Without hold= it holds until a line comes on stdin, or its end. exclusion=PATH
is a file that only the owner may have: created after GOT, removed before the release. overlap=KEY is a
counter of owners: INCR after GOT, DECR before the release; OVERLAP n where there was more than one.
Exit status: 0 where it was got and given back, 1 after FAILED, 3 after LOST or a second owner of the file.
"""

import os
import signal
import sys
import time

import portalocker
import redis


def say(*words):
    print('%.6f' % time.clock_gettime(time.CLOCK_MONOTONIC), *words, flush=True)


def visit(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        say('OVERLAP', path)
        os._exit(3)


def stop(signum, frame):
    raise SystemExit(0)


def main():
    port, channel, *rest = sys.argv[1:]
    flags = {word for word in rest if '=' not in word}
    values = dict(word.split('=', 1) for word in rest if '=' in word)
    exclusion = values.get('exclusion')
    overlap = values.get('overlap')
    more = {'flags': portalocker.LockFlags.SHARED} if 'shared' in flags else {}
    signal.signal(signal.SIGTERM, stop)
    say('VERSION', portalocker.__version__)

    # A connection of its own making is cleared while its reader may still be answering (4.1), so give it one.
    connection = redis.Redis('127.0.0.1', int(port), health_check_interval=10, decode_responses=True)
    lock = portalocker.RedisLock(
        channel,
        connection=connection,
        timeout=float(values.get('wait', 5)),
        check_interval=float(values.get('interval', 0.1)),
        thread_sleep_time=0.05,
        **more,
    )
    for _ in range(int(values.get('rounds', 1))):
        say('TRY')
        try:
            lock.acquire()
        except portalocker.AlreadyLocked as error:
            say('FAILED', repr(error))
            return 1
        try:
            say('GOT')
            if exclusion:
                visit(exclusion)
            if overlap:
                owners = connection.incr(overlap)
                if owners > 1:
                    say('OVERLAP', owners)
            if 'hold' in values:
                time.sleep(float(values['hold']))
            else:
                sys.stdin.readline()
            if overlap:
                connection.decr(overlap)
            if exclusion:
                os.unlink(exclusion)
        except KeyboardInterrupt:  # portalocker's way to tell that its subscription has gone
            say('LOST')
            os._exit(3)
        finally:
            lock.release()
            say('RELEASED')
    return 0


if __name__ == '__main__':
    sys.exit(main())
