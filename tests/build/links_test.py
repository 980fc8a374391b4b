#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Feeds tools/links.py pages whose links are right or wrong, each in one way.   links_test.py FOLDER"""

import shutil
import subprocess
import sys
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "links.py"
FAILED = False


def check(page: str, expected: str) -> None:
    """The checker must say `expected` of the page; nothing, if that is empty."""
    global FAILED
    root = Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    (root / "docs").mkdir(parents=True)
    (root / "picture.svg").write_text("<svg/>")
    (root / "build").mkdir()
    (root / "build" / "other.md").write_text("[not ours](nowhere.md)")
    (root / "docs" / "there.md").write_text("# A `name`, and more\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n")
    (root / "docs" / "page.md").write_text(page)
    run = subprocess.run([sys.executable, str(CHECKER), "--root", str(root)], stderr=subprocess.PIPE, text=True)
    right = expected in run.stderr if expected else not run.stderr
    if not right or bool(run.returncode) != bool(expected):
        FAILED = True
        print(f"{page}\nexpected: {expected or 'no complaint'}\nthe checker said: {run.stderr}")


check("![a picture](../picture.svg) and [a page](there.md)", "")
check("[a heading](there.md#a-name-and-more), [the second](there.md#twice-1)", "")
check("# Here\n\n[a heading of this page](#here), [a site](https://example.org/nowhere)", "")
check("`[code](nowhere.md)`\n\n```\n[code](nowhere.md)\n```\n", "")
check("![a picture](picture.svg)", "docs/page.md: picture.svg: no such file")
check("[a page](nowhere.md)", "docs/page.md: nowhere.md: no such file")
check("[a heading](there.md#no-heading)", "docs/page.md: there.md#no-heading: no such heading")
check("[a heading](there.md#twice-2)", "docs/page.md: there.md#twice-2: no such heading")
check("[a heading](#nowhere)", "docs/page.md: #nowhere: no such heading")
sys.exit(FAILED)
