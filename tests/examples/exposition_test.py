#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds what a program prints against the rules of Prometheus' text format, and the rules against texts that break
them, one each.

    exposition_test.py PROGRAM
"""

import re
import subprocess
import sys

HEAD = re.compile(r'# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)')
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9][0-9.]*(?:e[-+]?[0-9]+)?)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')


class Broken(Exception):
    pass


def need(truth, why):
    if not truth:
        raise Broken(why)


def labels_of(text):
    labels = []
    at = 0
    while at < len(text):
        label = LABEL.match(text, at)
        need(label, 'labels that are none: ' + text)
        labels.append(label.groups())
        at = label.end()
    need(len(dict(labels)) == len(labels), 'a label twice: ' + text)
    return dict(labels)


def check_histogram(name, samples):
    series = {}
    for sample, labels, value in samples:
        part = sample[len(name) + 1 :]
        need(part in ('bucket', 'sum', 'count'), sample + ' is no part of a histogram')
        bound = float(labels.pop('le')) if part == 'bucket' else None
        parts = series.setdefault(tuple(sorted(labels.items())), {'bucket': [], 'sum': [], 'count': []})
        parts[part].append(value if bound is None else (bound, value))
    for labels, parts in series.items():
        bounds = [bound for bound, _ in parts['bucket']]
        counts = [count for _, count in parts['bucket']]
        need(len(parts['sum']) == len(parts['count']) == 1, '%s%s lacks its sum or count' % (name, labels))
        need(bounds == sorted(set(bounds)), '%s%s: bounds that do not grow' % (name, labels))
        need(bounds and bounds[-1] == float('inf'), '%s%s has no bucket for +Inf' % (name, labels))
        need(counts == sorted(counts), '%s%s: buckets that are not cumulative' % (name, labels))
        need(counts[-1] == parts['count'][0], '%s%s: +Inf is not the count' % (name, labels))


def check(text):
    """Raises Broken; returns the families, with their samples."""
    need(text.endswith('\n'), 'the last line does not end')
    kinds, families, seen = {}, {}, set()
    family = None
    for line in text[:-1].split('\n'):
        head = HEAD.fullmatch(line)
        if head:
            word, name, rest = head.groups()
            if word == 'TYPE':
                need(name not in kinds, 'a second TYPE of ' + name)
                need(rest in ('counter', 'gauge', 'histogram'), 'no type: ' + rest)
                kinds[name], family = rest, name
                families[name] = []
            continue
        sample = SAMPLE.fullmatch(line)
        need(sample, 'a line that is none: ' + line)
        name, labels, value = sample.group(1), labels_of(sample.group(2) or ''), float(sample.group(3))
        need(family, 'a sample before its TYPE: ' + line)
        suffixes = ('_bucket', '_sum', '_count') if kinds[family] == 'histogram' else ('',)
        need(name in [family + suffix for suffix in suffixes], name + ' stands below ' + family)
        need(kinds[family] != 'counter' or name.endswith('_total'), name + ' should end in _total')
        need(kinds[family] == 'gauge' or value >= 0, 'less than nothing: ' + line)
        need((name, tuple(sorted(labels.items()))) not in seen, 'a series twice: ' + line)
        seen.add((name, tuple(sorted(labels.items()))))
        families[family].append((name, labels, value))
    for name, samples in families.items():
        if kinds[name] == 'histogram':
            check_histogram(name, samples)
    return families


GOOD = (
    '# HELP a_total A.\n# TYPE a_total counter\na_total{x="\\"\\\\\\n"} 1\na_total{x=""} 2\n'
    '# TYPE b histogram\nb_bucket{le="0.5"} 1\nb_bucket{le="+Inf"} 2\nb_sum 1.5\nb_count 2\n'
)
FAULTS = [
    ('b_count 2\n', 'b_count 2'),
    ('x=""', 'x="\\"\\\\\\n"'),
    ('x=""', 'x="\\t"'),
    ('x=""', 'x="""'),
    ('x=""', 'x="",x=""'),
    ('# TYPE a_total counter\n', ''),
    ('# TYPE a_total counter\n', '# TYPE a_total counter\n' * 2),
    ('a_total', 'a'),
    ('} 2\nb_sum', '} 0\nb_sum'),
    ('b_bucket{le="+Inf"} 2\n', ''),
    ('le="0.5"', 'le="+Inf"'),
    ('b_count 2', 'b_count 3'),
    ('b_sum 1.5\n', ''),
    ('} 1\n', '} -1\n'),
    ('} 1\n', '} one\n'),
]


def main():
    check(GOOD)
    for old, new in FAULTS:
        assert old in GOOD, old
        try:
            check(GOOD.replace(old, new))
        except Broken:
            continue
        print('not seen: %r for %r' % (new, old))
        return 1

    program = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, check=True, timeout=60)
    families = check(program.stdout.decode())
    print('%d families, %d samples' % (len(families), sum(map(len, families.values()))))
    return 0 if sum(map(len, families.values())) > 30 else 1


if __name__ == '__main__':
    sys.exit(main())
