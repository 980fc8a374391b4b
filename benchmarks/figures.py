# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""From samples to medians, ratios, bars and a page: arithmetic alone, nothing is measured here.

A sample is what one implementation took in one round. Everything that is compared was measured in turns, so a
ratio is made of two samples of the same round, and what counts is the median of the ratios.
"""

import statistics


def median(values):
    return statistics.median(values)


def ratio(samples, over):
    """The median of the ratios, round by round, of two lists of samples; None without both."""
    pairs = [(a, b) for a, b in zip(samples or [], over or []) if a is not None and b is not None]
    return median([a / b for a, b in pairs]) if pairs else None


def difference(samples, minus):
    """The median of the differences, round by round; None without both."""
    pairs = [(a, b) for a, b in zip(samples or [], minus or []) if a is not None and b is not None]
    return median([a - b for a, b in pairs]) if pairs else None


def bar(name, measured, at_most=None, at_least=None, unit="x", why_not="", detail=""):
    """A promise and what came of it. `measured` None: not measured, which is neither met nor missed."""
    bound = {"at_most": at_most} if at_most is not None else {"at_least": at_least}
    met = None
    if measured is not None:
        met = measured <= at_most if at_most is not None else measured >= at_least
    result = {"name": name, "measured": measured, "bound": bound, "unit": unit, "met": met}
    if measured is None:
        result["note"] = f"not measured: {why_not or 'its rows were left out'}"
    elif detail:
        result["note"] = detail
    return result


def verdict(one):
    return {True: "met", False: "MISSED", None: "not measured"}[one["met"]]


def format_seconds(seconds):
    """Three digits and the unit that fits."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * factor >= 1 or unit == "ns":
            return f"{three_digits(seconds * factor)} {unit}"
    raise AssertionError


def three_digits(number):
    decimals = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:,.{decimals}f}"


def format_figure(value, unit):
    return "–" if value is None else f"{three_digits(value)} %" if unit == "%" else f"{three_digits(value)} {unit}"


def format_bound(one):
    (kind, value), = one["bound"].items()
    return f"{'≤' if kind == 'at_most' else '≥'} {value:g} {one['unit']}"


def table(header, rows):
    """A Markdown table whose columns also line up in plain text; the first to the left, numbers to the right."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row):
        padded = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        return "| " + " | ".join(padded) + " |"

    rule = [("-" * width) if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([line(header), "| " + " | ".join(rule) + " |", *map(line, rows)])


def matrix(rows, of):
    """Rows of one kind as a table: a line for each case, a column for each implementation."""
    cases, columns = [], []
    for row in rows:
        if row["case"] not in cases:
            cases.append(row["case"])
        if row["implementation"] not in columns:
            columns.append(row["implementation"])
    found = {(row["case"], row["implementation"]): row for row in rows}
    lines = []
    for case in cases:
        cells = [case]
        for column in columns:
            row = found.get((case, column))
            cells.append("–" if row is None or row["seconds"] is None else format_seconds(row["seconds"]))
        lines.append(cells)
    return table([of, *columns], lines)
