#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Runs the demo, and puts what it prints into README.md and its pictures into docs/compare/.

    cmake --workflow --preset demo
    tools/demo_in_readme.py build/demo/examples/compare [what else compare is to be given]

The sentences around the block in README.md speak of its numbers; read them again afterwards.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- demo:begin -->\n", "<!-- demo:end -->"
PICTURES = ("time.svg", "memory.svg", "series-loss.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compare", type=Path, help="the program")
    parser.add_argument("arguments", nargs="*", help="what it is given")
    options = parser.parse_args()

    before, begin, rest = README.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"README.md: expected the lines {BEGIN.strip()} and {END}")
    with tempfile.TemporaryDirectory() as charts:
        command = [options.compare.resolve(), *options.arguments, "--svg", charts]
        printed = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        pictures = ROOT / "docs" / "compare"
        pictures.mkdir(exist_ok=True)
        for name in PICTURES:
            shutil.copyfile(Path(charts) / name, pictures / name)
    lines = [line.rstrip() for line in printed.splitlines() if not line.startswith("Charts:")]
    block = "```\n" + "\n".join(lines).strip() + "\n```\n"
    README.write_text(before + begin + block + end + after)


if __name__ == "__main__":
    main()
