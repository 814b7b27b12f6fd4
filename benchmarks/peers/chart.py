# SPDX-License-Identifier: MIT
"""Bars on a logarithmic scale, as SVG: a group for each scenario, a bar for each lock."""

import math
from xml.sax.saxutils import escape

from table import MS, SECOND, shown

WIDTH, LEFT, RIGHT, TOP = 860, 180, 100, 62
BAR, GAP, TITLE = 15, 4, 30
FROM, TO = 10_000, 100 * SECOND  # the axis, in nanoseconds
COLOURS = ['#1f77d0', '#d1782b', '#8c6bb1', '#4f9d69']

# The sheet is its own, so that the text is legible whatever page it lies on.
STYLE = '''
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .head { font-size: 16px; font-weight: 600 } .group { font-weight: 600 }
  .small { font-size: 11px; fill: #57606a } .sheet { fill: #ffffff }
  .grid { stroke: #d0d7de } .floor { fill: #8b949e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9da7b1 } .sheet { fill: #161b22 } .grid { stroke: #373e47 }
  }
'''


def x(ns):
    """Where a time lies on the axis."""
    share = math.log(max(ns, FROM) / FROM) / math.log(TO / FROM)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def text(at_x, at_y, what, kind='', anchor='start'):
    return f'<text x="{at_x}" y="{at_y}" class="{kind}" text-anchor="{anchor}">{escape(what)}</text>'


def bar(y, name, time, look):
    end = x(time or TO)
    dashed = 'fill-opacity="0.15" stroke-dasharray="4 3"' if time is None else ''
    return [
        text(LEFT - 8, y + 12, name, anchor='end'),
        f'<rect x="{LEFT}" y="{y}" width="{round(end - LEFT, 1)}" height="{BAR}" rx="2" {look} {dashed}/>',
        text(end + 6, y + 12, 'not in time' if time is None else shown(time)),
    ]


def svg(groups, note):
    """`groups` as table.groups gives them, `note` for the last line."""
    marks, y = [], TOP
    for title, bars, floors in groups:
        marks.append(text(LEFT, y + 20, title, 'group'))
        y += TITLE
        for at, (name, time) in enumerate(bars):
            colour = COLOURS[(at - floors) % len(COLOURS)]
            look = 'class="floor"' if at < floors else f'fill="{colour}" stroke="{colour}"'
            marks += bar(y, name.replace('`', ''), time, look)
            y += BAR + GAP
    ticks = [10**power for power in range(4, 12)]
    grid = [f'<path class="grid" d="M{x(tick)} {TOP}V{y + 8}"/>' for tick in ticks]
    axis = [text(x(tick), y + 24, shown_tick(tick), 'small', 'middle') for tick in ticks]
    return '\n'.join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 74}" role="img">',
            f'<style>{STYLE}</style>',
            f'<rect class="sheet" width="{WIDTH}" height="{y + 74}" rx="8"/>',
            text(20, 28, 'sublock beside other locks, on one Redis', 'head'),
            text(20, 47, 'Median times; shorter is better. Grey is what Redis alone takes.', 'small'),
            *grid,
            *marks,
            *axis,
            text((LEFT + WIDTH - RIGHT) / 2, y + 44, 'time, on a logarithmic scale', 'small', 'middle'),
            text(20, y + 62, note, 'small'),
            '</svg>\n',
        ]
    )


def shown_tick(ns):
    unit, size = ('s', SECOND) if ns >= SECOND else ('ms', MS) if ns >= MS else ('µs', 1000)
    return f'{ns // size} {unit}'
