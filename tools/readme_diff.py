#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Keeps the diff that README.md shows true: the one from simple_cnn_fp32.cpp to simple_cnn_amp.cpp.

    tools/readme_diff.py            prints the diff
    tools/readme_diff.py --write    puts it into README.md, between the two markers
    tools/readme_diff.py --check    fails if README.md shows another, or if it has over 8 lines
"""

import argparse
import difflib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- diff:begin -->\n", "<!-- diff:end -->"
MOST_LINES = 8


def diff_lines() -> list[str]:
    """The changed lines alone, each with its sign; a blank line between places that lie apart."""
    before, after = (
        (ROOT / "examples" / f"simple_cnn_{name}.cpp").read_text().splitlines()
        for name in ("fp32", "amp")
    )
    lines: list[str] = []
    for line in list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]:
        if not line.startswith("@@"):
            lines.append(line)
        elif lines:
            lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="update README.md")
    parser.add_argument("--check", action="store_true", help="fail unless README.md is up to date")
    options = parser.parse_args()

    lines = diff_lines()
    block = "```diff\n" + "\n".join(lines) + "\n```\n"
    if not (options.write or options.check):
        print(block, end="")
        return

    changed = sum(1 for line in lines if line)
    if changed > MOST_LINES:
        sys.exit(f"the examples differ by {changed} lines; at most {MOST_LINES} are promised")
    readme = README.read_text()
    before, begin, rest = readme.partition(BEGIN)
    shown, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"README.md: expected the lines {BEGIN.strip()} and {END}")
    if options.write:
        README.write_text(before + begin + block + end + after)
    elif shown != block:
        sys.exit("README.md shows another diff than the examples have; run tools/readme_diff.py --write")


if __name__ == "__main__":
    main()
