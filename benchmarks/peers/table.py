# SPDX-License-Identifier: MIT
"""What is shown of the samples: the rows of the table, the groups of the chart, whether the goals are met."""

from statistics import median

from stage import MS, SECOND


def shown(ns):
    """Three digits, in the unit that suits."""
    for unit, size in (('s', SECOND), ('ms', MS), ('µs', 1000)):
        if ns >= size or unit == 'µs':
            value = ns / size
            return f'{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}'


def flat(samples):
    return [one for some in samples for one in some]


def time(samples, size):
    times = flat(samples)
    return f'{shown(median(times))} ({len(times)})'


def rate(samples, size):
    turns = sum(crowd.turns for crowd in samples)
    return f'{median(crowd.per_second for crowd in samples):.0f} ({turns})'


def shares(samples, size):
    least, most = (100 * median(crowd.shares[at] for crowd in samples) for at in (0, -1))
    return f'{least:.1f} % and {most:.1f} %'


def overlaps(samples, size):
    return str(sum(crowd.overlaps for crowd in samples))


def taken_over(samples, size):
    times = [thaw.taken_over for thaw in samples if thaw.taken_over]
    if not times:
        return f'not within {shown(size.patience)} ({len(samples)})'
    return f'{shown(median(times))} ({len(times)})'


def learnt(samples, size):
    after = [thaw.learnt for thaw in samples if thaw.learnt]
    ways = {
        'told': lambda: f'is told, after {shown(median(after))} ({len(after)})',
        'asked': lambda: f'only if it asks ({len(after)})',
        None: lambda: 'has not lost it',
    }
    return ', or '.join(ways[word]() for word in dict.fromkeys(thaw.word for thaw in samples))


ROWS = [
    ('acquire and release, nobody else there', 'uncontended', time),
    ('hand-over: release called to acquire returned', 'hand-over', time),
    ('8 contenders, each holding for 1 ms: turns a second', 'contention', rate),
    ('… least and most served, where 12.5 % is even', 'contention', shares),
    ('… turns that overlapped', 'contention', overlaps),
    ('holder killed: until a waiter has the lock', 'killed', time),
    ('holder frozen: until a waiter has the lock', 'frozen', taken_over),
    ('… how it learns of that when it runs again', 'frozen', learnt),
]


def markdown(samples, titles, floors, size):
    lines = [['', 'Redis alone', *titles], ['---'] * (len(titles) + 2)]
    for what, scenario, cell in ROWS:
        of = samples[scenario]
        least = '; '.join(f'{floor} {cell(of[floor], size)}' for floor in floors.get(scenario, []))
        lines.append([what, least, *(cell(of[title], size) for title in titles)])
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def time_of(samples):
    return median(flat(samples))


def time_of_a_turn(samples):
    rates = [crowd.per_second for crowd in samples]
    return SECOND / median(rates) if median(rates) else None


def time_of_the_frozen(samples):
    times = [thaw.taken_over for thaw in samples if thaw.taken_over]
    return median(times) if times else None


GROUPS = [
    ('acquire and release, nobody else there', 'uncontended', time_of),
    ('hand-over to a waiter', 'hand-over', time_of),
    ('one turn among 8 contenders, 1 ms of it the hold', 'contention', time_of_a_turn),
    ('holder killed, until a waiter has the lock', 'killed', time_of),
    ('holder frozen, until a waiter has the lock', 'frozen', time_of_the_frozen),
]


def groups(samples, titles, floors):
    """What the chart shows: (title, [(name, time, or none for never)], how many of these are floors)."""
    for what, scenario, figure in GROUPS:
        least = floors.get(scenario, [])
        yield what, [(name, figure(samples[scenario][name])) for name in least + titles], len(least)


def goal(what, times, limit):
    met = 'met' if median(times) <= limit else 'NOT MET'
    return (
        f'goal: holder {what}, a waiter has the lock within {shown(limit)}: median {shown(median(times))}, '
        f'at most {shown(max(times))}, {len(times)} samples, {met}'
    )


def goals(samples):
    """sublock's, with default options: asking twice takes two seconds, and 250 ms pass between two looks."""
    never = float('inf')
    frozen = [thaw.taken_over or never for thaw in samples['frozen']['sublock']]
    yield goal('killed', flat(samples['killed']['sublock']), 30 * MS)
    yield goal('frozen', frozen, 2 * SECOND + 250 * MS)
