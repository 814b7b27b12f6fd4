#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The comparison with other locks, at a glance's size and with sublock alone: that the table and the chart
show everything, and that nothing stays behind, however it ends.

    side_by_side_test.py FOLDER_OF_THE_PEERS_IN_CPP
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

PROGRAMS = sys.argv.pop(1)
PEERS = pathlib.Path(__file__).resolve().parents[2] / 'benchmarks' / 'peers'
sys.path.insert(0, str(PEERS))
sys.dont_write_bytecode = True

import chart
import table


class Run:
    """The command, in a session of its own: whatever it starts is in there too."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            ['/usr/bin/python3', str(PEERS / 'compare.py'), '--programs', PROGRAMS, '--glance', *words],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def running(self):
        """The ids of all of it."""
        found = []
        for process in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                if os.getsid(int(process.name)) == self.process.pid:
                    found.append(int(process.name))
            except ProcessLookupError:
                pass
        return found

    def comes_to(self, enough, within=30):
        """Whether the number of running processes is enough in time."""
        end = time.monotonic() + within
        while not enough(len(self.running())):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def end(self):
        for process in self.running():
            os.kill(process, signal.SIGKILL)
        self.process.communicate()


class SideBySide(unittest.TestCase):
    def test_shows_everything(self):
        with tempfile.TemporaryDirectory() as folder:
            svg = pathlib.Path(folder) / 'chart.svg'
            run = Run('--peers', 'sublock', '--chart', str(svg))
            self.addCleanup(run.end)
            text, _ = run.process.communicate(timeout=100)
            self.assertEqual(run.process.returncode, 0)
            self.assertEqual(run.running(), [])
            drawn = ' '.join(xml.parse(svg).getroot().itertext())

        rows = [line.strip('|').split('|') for line in text.splitlines() if line.startswith('|')]
        self.assertEqual([row[0].strip() for row in rows[2:]], [what for what, _, _ in table.ROWS])
        for row in rows[2:]:
            self.assertEqual(len(row), 3)
            self.assertRegex(row[2], r'\d', row[0])
            self.assertNotIn('not within', row[2])
        self.assertEqual(sum('PING' in row[1] or 'PUBLISH' in row[1] for row in rows), 2)
        self.assertIn('CPUs, load ', text)
        self.assertEqual(text.count('goal: holder '), 2)
        for what, _, _ in table.GROUPS:
            self.assertIn(what, drawn)

    def test_leaves_nothing_behind_when_it_is_killed(self):
        run = Run('--peers', 'sublock')
        self.addCleanup(run.end)
        self.assertTrue(run.comes_to(lambda count: count > 2))
        run.process.kill()
        run.process.wait()
        self.assertTrue(run.comes_to(lambda count: count == 0), run.running())


class Chart(unittest.TestCase):
    def bars(self, *times):
        """Name, length and what is written at the end of each."""
        svg = xml.fromstring(chart.svg([('group <', [(f'lock{time}', time) for time in times], 1)], 'note'))
        tag = '{http://www.w3.org/2000/svg}'
        bars = [rect for rect in svg.iter(tag + 'rect') if rect.get('height') == str(chart.BAR)]
        return [float(bar.get('width')) for bar in bars], [text.text for text in svg.iter(tag + 'text')]

    def test_is_logarithmic(self):
        (short, middle, longer), _ = self.bars(100_000, 1_000_000, 10_000_000)
        self.assertAlmostEqual(middle - short, longer - middle, delta=0.2)
        self.assertGreater(short, 0)

    def test_says_never(self):
        (longest, never), texts = self.bars(50_000_000_000, None)
        self.assertGreater(never, longest)
        self.assertIn('not in time', texts)
        self.assertIn('50.0 s', texts)


class Shown(unittest.TestCase):
    def test_has_three_digits_and_a_unit(self):
        for ns, text in ((1_234, '1.23 µs'), (123_456, '123 µs'), (12_345_678, '12.3 ms')):
            self.assertEqual(table.shown(ns), text)
        self.assertEqual(table.shown(9_130_000_000), '9.13 s')


if __name__ == '__main__':
    unittest.main()
