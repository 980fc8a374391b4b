#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Fails if a page links to a file, a picture or a heading of the repository that is not there.

    tools/links.py [--root FOLDER]

It looks at all pages but those in a folder named build. Links to other sites are not followed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    names = set()
    for heading in HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = found.get(name, 0)
        found[name] = number + 1
        names.add(f"{name}-{number}" if number else name)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    pages = [page for page in sorted(root.rglob("*.md")) if "build" not in page.relative_to(root).parts[:-1]]
    if not pages:
        sys.exit(f"no pages in {root}")
    wrong: list[str] = []
    for page in pages:
        text = page.read_text()
        for link in LINK.findall(CODE.sub("", text)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            where = f"{page.relative_to(root)}: {link}"
            if not target.exists():
                wrong.append(f"{where}: no such file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                wrong.append(f"{where}: no such heading")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
