#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Waits for a lock with portalocker, works, and gives it back, on the server of REDIS_URL.

    worker.py CHANNEL JOURNAL

Says `waiting` and `working` when it is. Runs with Debian 12's portalocker 2.2.1 and with 4.x alike. 2.2.1 speaks the
older protocol, which knows no readers, and finds out by polling that the lock is free.
"""

import os
import sys
import time

import portalocker
import redis


def main():
    channel, journal = sys.argv[1:]
    connection = redis.Redis.from_url(os.environ['REDIS_URL'], health_check_interval=10)
    lock = portalocker.RedisLock(channel, connection=connection, check_interval=0.05, thread_sleep_time=0.01)
    try:
        lock.acquire(timeout=0)
    except portalocker.AlreadyLocked:
        print('waiting', flush=True)
        lock.acquire(timeout=60)
    try:
        print('working', flush=True)
        with open(journal, 'a') as file:
            print('Python begins', file=file, flush=True)
            time.sleep(0.2)  # the work
            print('Python ends', file=file)
    except KeyboardInterrupt:
        sys.exit('the lock was lost')  # which is how portalocker tells it
    finally:
        lock.release()


if __name__ == '__main__':
    main()
