#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plays any participant of protocol 1 by script, as a peer for tests.

    scripted_peer.py PORT CHANNEL [mode=exclusive|pending|shared] [elected=true|false] [id=ID] [name=NAME]
                     [delay=S] [silent] [answer=TEXT] [answer-hex=HEX]

Joins CHANNEL on a connection named `CHANNEL-lock-ID` (or NAME) and answers each ping with its record:
without elected= as portalocker 4.1 does, with it as 4.2 does. delay= answers later, silent not at all,
answer= and answer-hex= with other bytes. Takes these commands, a line each, on stdin:

    mode M / elected true|false|none / delay S / silent / speak / answer TEXT    what to answer from now on
    ping            publish a ping as portalocker does; each answer is printed, then PROBED n
    publish TEXT    on the channel
    leave / join    the channel
    quit            as does the end of stdin, SIGTERM or SIGINT

Prints a line for each event, stamped with CLOCK_MONOTONIC seconds: JOINED n, PINGED json, ANSWERED text,
HEARD text (what is no ping), REPLY text, PROBED n, DID command, LEFT, LOST error, ENDED. What others sent
is printed as ASCII, other bytes as escapes.
"""

import json
import queue
import random
import signal
import sys
import threading
import time
import uuid

import redis


def say(*words):
    print('%.6f' % time.clock_gettime(time.CLOCK_MONOTONIC), *words, flush=True)


def shown(data):
    return ascii(data.decode('utf-8', 'backslashreplace'))[1:-1].replace("\\'", "'")


class Peer:
    def __init__(self, port, channel, flags, values):
        self.channel = channel
        self.id = values.get('id', uuid.uuid4().hex)
        self.mode = values.get('mode', 'exclusive')
        self.elected = {'true': True, 'false': False}.get(values.get('elected'))
        self.delay = float(values.get('delay', 0))
        self.silent = 'silent' in flags
        self.answer = values['answer'].encode() if 'answer' in values else None
        if 'answer-hex' in values:
            self.answer = bytes.fromhex(values['answer-hex'])
        name = values.get('name', '%s-lock-%s' % (channel, self.id))
        self.mouth = redis.Redis('127.0.0.1', port)
        ears = redis.Redis('127.0.0.1', port, client_name=name or None, retry_on_timeout=False)
        self.ear = ears.pubsub()
        self.joined = False
        self.probe = None  # response channel of our own ping, number of answers, when to stop listening

    def join(self):
        self.ear.subscribe(self.channel)
        while not self.joined:
            self.hear(1)
        say('JOINED', self.mouth.pubsub_numsub(self.channel)[0][1])

    def leave(self):
        self.ear.unsubscribe(self.channel)
        while self.joined:
            self.hear(1)
        say('LEFT')

    def record(self):
        record = {'holder_id': self.id, 'mode': self.mode, 'protocol': 1}
        if self.elected is not None:
            record['elected'] = self.elected
        return json.dumps(record).encode()

    def reply(self, to):
        if self.silent:
            return
        text = self.record() if self.answer is None else self.answer
        if self.delay > 0:
            threading.Timer(self.delay, self.send, (to, text)).start()
        else:
            self.send(to, text)

    def send(self, to, text):
        self.mouth.publish(to, text)
        say('ANSWERED', shown(text))

    def ping(self):
        to = '%s-%s' % (self.channel, random.random())
        self.ear.subscribe(to)
        self.probe = [to, 0, time.monotonic() + 0.5]
        while self.probe[0]:
            self.hear(1)
        self.probe[0] = to
        self.mouth.publish(self.channel, json.dumps({'message': 'ping', 'response_channel': to}))

    def hear(self, seconds):
        """Handles one message, if one comes in time."""
        message = self.ear.get_message(timeout=seconds)
        if message is None:
            return
        kind, channel, data = message['type'], message['channel'], message['data']
        on_lock = channel == self.channel.encode()
        if kind == 'subscribe' and self.probe and channel == str(self.probe[0]).encode():
            self.probe[0] = None
        elif kind in ('subscribe', 'unsubscribe') and on_lock:
            self.joined = kind == 'subscribe'
        elif kind == 'message' and on_lock:
            self.heard(data)
        elif kind == 'message' and self.probe and channel == str(self.probe[0]).encode():
            self.probe[1] += 1
            say('REPLY', shown(data))

    def heard(self, data):
        try:
            to = json.loads(data)['response_channel']
        except (ValueError, KeyError, TypeError):
            to = None
        if not isinstance(to, str) or not to:
            say('HEARD', shown(data))
        elif self.probe and to == self.probe[0]:
            self.reply(to)
        else:
            say('PINGED', shown(data))
            self.reply(to)

    def obey(self, line):
        verb, _, rest = line.partition(' ')
        if verb == 'mode':
            self.mode = rest
        elif verb == 'elected':
            self.elected = {'true': True, 'false': False}.get(rest)
        elif verb == 'delay':
            self.delay = float(rest)
        elif verb in ('silent', 'speak'):
            self.silent = verb == 'silent'
        elif verb == 'answer':
            self.answer = rest.encode()
        elif verb == 'publish':
            self.mouth.publish(self.channel, rest.encode())
        elif verb in ('ping', 'leave', 'join'):
            getattr(self, verb)()
        else:
            raise SystemExit('unknown command: ' + line)
        say('DID', line)

    def run(self, commands):
        self.join()
        while True:
            self.hear(0.005)
            if self.probe and time.monotonic() > self.probe[2]:
                say('PROBED', self.probe[1])
                self.ear.unsubscribe(self.probe[0])
                self.probe = None
            try:
                line = commands.get_nowait()
            except queue.Empty:
                continue
            if line == 'quit':
                return
            self.obey(line)


def read_commands(commands):
    for line in sys.stdin:
        commands.put(line.rstrip('\n'))
    commands.put('quit')


def main():
    port, channel, *rest = sys.argv[1:]
    flags = {word for word in rest if '=' not in word}
    values = dict(word.split('=', 1) for word in rest if '=' in word)
    commands = queue.SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: commands.put('quit'))
    threading.Thread(target=read_commands, args=(commands,), daemon=True).start()
    try:
        Peer(int(port), channel, flags, values).run(commands)
    except redis.ConnectionError as error:
        say('LOST', error)
        return 3
    say('ENDED')
    return 0


if __name__ == '__main__':
    sys.exit(main())
