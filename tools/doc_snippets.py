#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Keeps the C++ that a page of docs/ shows the same as in the test that compiles and runs it.

    tools/doc_snippets.py --write    puts the snippets of tests/docs/X_test.cpp into docs/X.md
    tools/doc_snippets.py --check    fails if a page shows another text, or one of the two lacks a snippet

In the test a snippet stands between the lines "// [name]" and "// [end]"; on the page, between
"<!-- snippet: name -->" and "<!-- end -->". Names in a table's column "C++" have to be used in the test, and
Python on those pages has to be Python.
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IN_TEST = re.compile(r"^ *// \[(\w+)\]\n(.*?)^ *// \[end\]\n", re.MULTILINE | re.DOTALL)
IN_PAGE = re.compile(r"(<!-- snippet: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
CPP_CELL = re.compile(r"^\|[^|\n]*\|([^|\n]*)\|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
NAME = re.compile(r"\b[A-Za-z_]\w+\b")
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="update the pages")
    parser.add_argument("--check", action="store_true", help="fail unless the pages are up to date")
    options = parser.parse_args()
    if options.write == options.check:
        parser.error("--write or --check")

    wrong: list[str] = []
    tests = sorted((ROOT / "tests" / "docs").glob("*_test.cpp"))
    if not tests:
        wrong.append("tests/docs has no test")
    for test in tests:
        page = ROOT / "docs" / (test.name.removesuffix("_test.cpp") + ".md")
        snippets = {
            name: f"```cpp\n{textwrap.dedent(code)}```\n" for name, code in IN_TEST.findall(test.read_text())
        }
        text = page.read_text()
        shown = {name: code for _, name, code, _ in IN_PAGE.findall(text)}
        for name in sorted(snippets.keys() ^ shown.keys()):
            wrong.append(f"{name} is in only one of {test.relative_to(ROOT)} and {page.relative_to(ROOT)}")
        if options.write:
            text = IN_PAGE.sub(lambda m: m[1] + snippets.get(m[2], m[3]) + m[4], text)
            page.write_text(text)
        else:
            for name in sorted(snippets.keys() & shown.keys()):
                if snippets[name] != shown[name]:
                    wrong.append(f"{page.relative_to(ROOT)} shows another {name} than {test.relative_to(ROOT)};"
                                 " run tools/doc_snippets.py --write")
        if text.count("```cpp") != len(shown):
            wrong.append(f"{page.relative_to(ROOT)} has C++ outside of snippets, which nothing compiles")
        used = set(NAME.findall(test.read_text()))
        for table in text.split("| Python | C++ |")[1:]:
            for cell in CPP_CELL.findall(table.split("\n\n")[0]):
                for name in sorted(set(NAME.findall(" ".join(CODE.findall(cell)))) - used):
                    wrong.append(f"{page.relative_to(ROOT)}: a table names {name}, which {test.relative_to(ROOT)}"
                                 " does not use")
        for code in PYTHON.findall(text):
            try:
                compile(code, str(page), "exec")
            except SyntaxError as error:
                wrong.append(f"{page.relative_to(ROOT)}: Python that is none: {error}\n{code}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
