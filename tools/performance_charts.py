#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Draws docs/performance_*.svg from what the bench preset measured.

    tools/performance_charts.py build/bench/bench.json [FOLDER]

Two charts with logarithmic axes: how a step grows with the number of tensors, and with their elements.
"""

import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is drawn, from the slowest: (language, implementation), name, colour. Told apart by their names at the
# right end too, not by colour alone.
LINES = [
    (("C++", "plain"), "torch::optim", "#8a5a00"),
    (("Python", "fused"), "Python, fused", "#b3261e"),
    (("C++", "fused"), "FusedAdam", "#1f6fb2"),
    (("C++", "flat"), "FusedAdam, flat", "#1b7a3d"),
]
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 150, 64, 58


def points_of(rows, pick):
    """(x, seconds) by (language, implementation), in order of x; `pick` makes x of "1000x100", None: not drawn."""
    points = {}
    for row in rows:
        if row["kind"] != "growth" or row["seconds"] is None:
            continue
        tensors, _, elements = row["case"].rpartition("/")[2].partition("x")
        x = pick(int(tensors), int(elements))
        if x is not None:
            points.setdefault((row["language"], row["implementation"]), []).append((x, row["seconds"]))
    return {key: sorted(values) for key, values in points.items()}


def decades(values):
    """The powers of ten that hold all values, as exponents."""
    return math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)


def count_label(exponent):
    return f"{10**exponent:,}" if exponent < 6 else f"10^{exponent}"


def time_label(exponent):
    for factor, unit in ((0, "s"), (3, "ms"), (6, "µs"), (9, "ns")):
        if exponent + factor >= 0:
            return f"{10 ** (exponent + factor):,} {unit}"
    return f"10^{exponent} s"


def spread(wanted, gap):
    """Positions as near to the wanted ones as leaves `gap` between neighbours, in the same order."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    last = -math.inf
    for i in order:
        placed[i] = last = max(wanted[i], last + gap)
    return placed


def chart(title, x_title, points):
    """An SVG, or None if there is nothing to draw."""
    drawn = [(points[key], name, colour) for key, name, colour in LINES if points.get(key)]
    if not drawn:
        return None
    x_low, x_high = decades([x for line, _, _ in drawn for x, _ in line])
    y_low, y_high = decades([y for line, _, _ in drawn for _, y in line])
    x_high, y_high = max(x_high, x_low + 1), max(y_high, y_low + 1)

    def place(x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(x) - x_low) / (x_high - x_low),
                HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(y) - y_low) / (y_high - y_low))

    def text(x, y, words, anchor="middle", more=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" fill="#222">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 26, title, "start", ' font-size="16" font-weight="bold"'),
        text(LEFT, 46, "time of scaler.step(optimizer) and scaler.update(), Adam", "start", ' fill="#555"'),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_title),
    ]
    for exponent in range(x_low, x_high + 1):
        x, bottom = place(10**exponent, 10**y_low)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="#e4e4e4"/>')
        parts.append(text(x, bottom + 20, count_label(exponent)))
    for exponent in range(y_low, y_high + 1):
        left, y = place(10**x_low, 10.0**exponent)
        parts.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(text(left - 8, y + 4, time_label(exponent), "end"))
    ends = spread([place(*line[-1])[1] for line, _, _ in drawn], 17)
    for (line, name, colour), end in zip(drawn, ends):
        way = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in line)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        for x, y in line:
            parts.append('<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>'.format(*place(x, y), colour))
        parts.append(text(place(*line[-1])[0] + 10, end + 4, name, "start", f' fill="{colour}"'))
    return "\n".join([*parts, "</svg>", ""])


def charts(document):
    """SVG by file name."""
    rows = document["rows"]
    return {
        "performance_tensors.svg": chart("Many tensors of 100 elements", "number of tensors",
                                         points_of(rows, lambda tensors, elements: tensors if elements == 100 else None)),
        "performance_elements.svg": chart("One tensor", "number of elements",
                                          points_of(rows, lambda tensors, elements: elements if tensors == 1 else None)),
    }


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "docs"
    for name, svg in charts(json.loads(pathlib.Path(sys.argv[1]).read_text())).items():
        if svg is None:
            sys.exit(f"{sys.argv[1]} has no rows for {name}")
        (folder / name).write_text(svg)
        print(folder / name)


if __name__ == "__main__":
    main()
