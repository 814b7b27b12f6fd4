# SPDX-License-Identifier: MIT
"""A redis-server and the processes that play with it. What starts here ends here: with its `with` block, or
with this process, however that ends."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import time

import redis

SECOND = 1_000_000_000
MS = 1_000_000

# The kernel ends the child when its parent dies.
LEASH = ['setpriv', '--pdeathsig', 'KILL']


class Failed(Exception):
    """A peer could not do what it was told."""


def let_pass(ns):
    """Part of what is measured, never a way to wait for something."""
    time.sleep(max(ns, 0) / SECOND)


class Process:
    """A program that speaks the protocol of peer.hpp."""

    def __init__(self, argv):
        self.argv = argv
        self.popen = subprocess.Popen(
            LEASH + argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self):
        self.hear()
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()

    def say(self, *words):
        print(*words, file=self.popen.stdin, flush=True)

    def answers(self, within):
        """Whether there is an answer to hear, or will be in time."""
        return bool(select.select([self.popen.stdout], [], [], within / SECOND)[0])

    def hear(self):
        """The word and the times of the next answer."""
        line = self.popen.stdout.readline() if self.answers(90 * SECOND) else 'failed no answer'
        word, *rest = line.split() or ['failed', 'it has ended']
        if word == 'failed':
            raise Failed(f'{" ".join(self.argv)}: {" ".join(rest)}')
        return word, [int(time) for time in rest]

    def do(self, *words):
        """The times of the answer to a command."""
        self.say(*words)
        return self.hear()[1]

    def freeze(self):
        """It stands still when this returns."""
        self.popen.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.popen.pid, os.WSTOPPED | os.WNOWAIT)


class Server:
    """A redis-server of our own on a free port of the loopback, with nothing to save."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        for _ in range(5):  # a port may be taken between look and leap
            with socket.socket() as probe:
                probe.bind(('127.0.0.1', 0))
                self.port = probe.getsockname()[1]
            words = ['redis-server', '--port', str(self.port), '--bind', '127.0.0.1', '--save', '']
            words += ['--appendonly', 'no', '--dir', self.folder.name, '--logfile', 'log']
            self.popen = subprocess.Popen(LEASH + words)
            if self.answers():
                return self
            self.popen.kill()
        raise Failed('redis-server does not start')

    def answers(self, within=20):
        """Whether it is there, and the one who answers; false once it has ended."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(0.02)
                return False
            with contextlib.suppress(redis.RedisError):
                about = redis.Redis(port=self.port).info('server')
                self.version = about['redis_version']
                if about['process_id'] == self.popen.pid:
                    return True
        return False

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        self.folder.cleanup()
