#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Fails if a page quotes a test that does not exist, so that the pages cannot go stale.

    tools/quoted_tests.py [--root FOLDER]

In tests/PEER_TESTS.md and docs/differences.md, in table columns whose title speaks of a test: each
`some/name_test.cpp` must be a file in tests/, and each "name in quotes" a test in the file named before it, in
the cell or in the column's title. And each test in tests/peers/ must be quoted in PEER_TESTS.md: it stands for
something there.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

PAGES = ("tests/PEER_TESTS.md", "docs/differences.md")
TEST_CASE = re.compile(r'\bTEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
QUOTE = re.compile(r'`([\w./]*_test\.\w+)`|"([^"]+)"')


def tests_in(path: Path) -> set[str]:
    return {"".join(STRING.findall(strings)) for strings in TEST_CASE.findall(path.read_text())}


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    folder = root / "tests"
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*_test.*"))}
    names = {name: tests_in(path) for name, path in files.items()}
    wrong: list[str] = []
    quoted: set[tuple[str, str]] = set()

    def file_meant(text: str, title: str, where: str) -> str | None:
        """The file in tests/ that `text` is or ends the path of; in the folder that the title names, if any."""
        folder_meant = re.search(r"`tests/([\w/]+)/[\w.]*`", title)
        if folder_meant and f"{folder_meant[1]}/{text}" in files:
            return f"{folder_meant[1]}/{text}"
        hits = [name for name in files if f"/{name}".endswith(f"/{text.removeprefix('tests/')}")]
        if len(hits) != 1:
            wrong.append(f"{where}: {text} is " + ("ambiguous: " + ", ".join(hits) if hits else "not in tests/"))
            return None
        return hits[0]

    for page in PAGES:
        titles: list[str] = []
        count = 0
        for number, line in enumerate((root / page).read_text().splitlines(), 1):
            where = f"{page}:{number}"
            if not line.startswith("|"):
                titles = []
                continue
            if not titles:
                titles = cells_of(line)
                continue
            if set(line) <= set("|-: "):
                continue
            cells = cells_of(line)
            if len(cells) != len(titles):
                wrong.append(f"{where}: {len(cells)} cells in a table of {len(titles)}")
                continue
            for title, cell in zip(titles, cells):
                if not re.search(r"\btests?\b", title):
                    continue
                in_title = QUOTE.search(title)
                meant = file_meant(in_title[1], title, where) if in_title and in_title[1] else None
                for file_name, test_name in QUOTE.findall(cell):
                    if file_name:
                        meant = file_meant(file_name, title, where)
                        count += 1
                    elif meant is None:
                        wrong.append(f'{where}: "{test_name}" is quoted without a file')
                    elif test_name not in names[meant]:
                        wrong.append(f'{where}: tests/{meant} has no test "{test_name}"')
                    else:
                        quoted.add((meant, test_name))
                        count += 1
        if count == 0:
            wrong.append(f"{page} quotes no test: this check does not look at it")

    for name, tests in names.items():
        if name.startswith("peers/"):
            wrong += [f'tests/PEER_TESTS.md does not say what tests/{name}: "{test}" stands for'
                      for test in sorted(tests) if (name, test) not in quoted]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
