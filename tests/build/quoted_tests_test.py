#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Feeds tools/quoted_tests.py pages that quote well or badly, each in one way.   quoted_tests_test.py FOLDER"""

import shutil
import subprocess
import sys
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "quoted_tests.py"
GOOD = '| `peers/a_test.cpp`: "It works" |'

FAILED = False


def check(peers_row: str, differences: str, expected: str) -> None:
    """The checker must say `expected`; nothing, if that is empty."""
    global FAILED
    root = Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    for name, text in {
        "tests/peers/a_test.cpp": 'TEST_CASE("It works") {}\n',
        "tests/core/b_test.cpp": 'TEST_CASE(\n    "A long "\n    "name") {}\n',
        "tests/io/b_test.cpp": 'TEST_CASE("Elsewhere") {}\n',
        "tests/PEER_TESTS.md": f"| there | our test |\n|---|---|\n| x {peers_row}\n",
        "docs/differences.md": differences,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = subprocess.run([sys.executable, str(CHECKER), "--root", str(root)], stderr=subprocess.PIPE, text=True)
    right = expected in run.stderr if expected else not run.stderr
    if not right or bool(run.returncode) != bool(expected):
        FAILED = True
        print(f"{peers_row}\n{differences}expected: {expected or 'no complaint'}\nthe checker said: {run.stderr}")


def difference(title: str, cell: str) -> str:
    return f"| there | here | {title} |\n|---|---|---|\n| x | y | {cell} |\n"


CORE = "test in `tests/core/`"
LONG = difference(CORE, '`b_test.cpp`: "A long name"')

check(GOOD, LONG, "")
check(GOOD, difference("test in `tests/core/b_test.cpp`", '"A long name"'), "")
check(GOOD, difference(CORE, "`b_test.cpp`"), "")
check(GOOD, difference(CORE, '`io/b_test.cpp`: "Elsewhere"'), "")
check(GOOD, difference("reason", '"not a test"') + "\n" + LONG, "")
check('| `peers/a_test.cpp`: "It worked" |', LONG, 'tests/peers/a_test.cpp has no test "It worked"')
check('| `peers/c_test.cpp`: "It works" |', LONG, "peers/c_test.cpp is not in tests/")
check('| "It works" |', LONG, '"It works" is quoted without a file')
check("| does not apply |", LONG, 'does not say what tests/peers/a_test.cpp: "It works" stands for')
check("| does not apply |", LONG, "quotes no test")
check(GOOD + " one more |", LONG, "3 cells in a table of 2")
check(GOOD, difference("test", '`b_test.cpp`: "Elsewhere"'), "ambiguous: core/b_test.cpp, io/b_test.cpp")
check(GOOD, difference(CORE, '`b_test.cpp`: "Elsewhere"'), 'tests/core/b_test.cpp has no test "Elsewhere"')
sys.exit(FAILED)
