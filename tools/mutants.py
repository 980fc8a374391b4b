#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Breaks one line at a time and watches whether the test that should notice goes red.

  tools/mutants.py [--only REGEX] [--jobs N] [-- CMAKE_OPTION...]

The list, and its format, is tests/mutants.txt. All happens in a copy, build/_mutants/source, with a build
tree of its own, which is kept so that the next run compiles only what changed. Not in CI: by hand, after a
change of headers or tests. Exit status 1 if a mutant survived, or if the list itself is wrong.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "build" / "_mutants" / "source"
BUILD = ROOT / "build" / "_mutants" / "build"


def run(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read_list(path):
    """The entries of the list: dictionaries of file, line (in the list), original, mutant, test."""
    entries, entry = [], {}
    for number, text in enumerate([*path.read_text().splitlines(), ""], 1):
        if text.startswith("#"):
            continue
        if not text.strip():
            if entry:
                missing = [key for key in ("file", "original", "mutant", "test") if key not in entry]
                if missing:
                    sys.exit("%s:%d: this entry has no %s" % (path, entry["line"], " and no ".join(missing)))
                entries.append(entry)
            entry = {}
            continue
        match = re.match(r"(file: |test: |- |\+ ?)(.*)$", text)
        if not match:
            sys.exit("%s:%d: neither file:, test:, - nor +: %s" % (path, number, text))
        key = {"file:": "file", "test:": "test", "-": "original", "+": "mutant"}[match.group(1).strip()]
        if key in entry:
            sys.exit("%s:%d: a second %s in one entry; a blank line ends an entry" % (path, number, match.group(1).strip()))
        entry.setdefault("line", number)
        entry[key] = match.group(2).strip()
    return entries


def mutate(entry, where):
    """The file's text with the one line replaced, at the old indentation."""
    lines = (where / entry["file"]).read_text().splitlines(keepends=True)
    hits = [i for i, line in enumerate(lines) if line.strip() == entry["original"]]
    if len(hits) != 1:
        raise ValueError("the original line is in %s %d times, not once" % (entry["file"], len(hits)))
    line = lines[hits[0]]
    indent = line[:len(line) - len(line.lstrip())]
    lines[hits[0]] = indent + entry["mutant"] + "\n"
    return "".join(lines)


def copy_tree():
    """Makes SOURCE what the working tree is; files that are equal keep their time, so nothing is rebuilt for them."""
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], check=True, stdout=subprocess.PIPE)
    names = [name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    for name in names:
        old, new = SOURCE / name, ROOT / name
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)
    wanted = {SOURCE / name for name in names}
    for path in [path for path in SOURCE.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()


def tests_and_targets(regex):
    """The tests that `regex` means, and the programs to build for them (none: everything)."""
    listing = run("ctest", "--test-dir", BUILD, "-R", regex, "--show-only=json-v1")
    names = [test["name"] for test in json.loads(listing.stdout)["tests"]]
    if any(name.startswith(("build/", "consumer/")) for name in names):
        return names, []
    return names, ["torchamp_parity" if name.startswith("parity/") else "torchamp_test_" + name.replace("/", "_") for name in names]


def build(targets, jobs):
    wanted = ["--target", *targets] if targets else []
    return run("cmake", "--build", BUILD, "--parallel", jobs, *wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="entries whose file, lines or test match")
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("cmake_options", nargs="*", metavar="CMAKE_OPTION", help="after --, for the configure")
    options = parser.parse_args()

    path = ROOT / "tests" / "mutants.txt"
    entries = [entry for entry in read_list(path)
               if re.search(options.only, "\n".join(str(value) for value in entry.values()))]
    wrong = []
    for entry in entries:
        try:
            mutate(entry, ROOT)
        except (ValueError, OSError) as error:
            wrong.append("%s:%d: %s" % (path, entry["line"], error))
    if wrong or not entries:
        sys.exit("\n".join(wrong) or "no entries")

    copy_tree()
    configured = run("cmake", "-S", SOURCE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
                     "-DTORCHAMP_TEST_PROGRAM_PER_FILE=ON", "-DTORCHAMP_BUILD_EXAMPLES=OFF",
                     "-DTORCHAMP_LIBTORCH_DIR=%s" % (ROOT / "build" / "_libtorch"),
                     "-DTORCHAMP_DEPENDENCY_DIR=%s" % (ROOT / "build" / "_dependencies"), *options.cmake_options)
    if configured.returncode:
        sys.exit(configured.stdout)

    # The baseline: the tests that are to go red are green.
    meant = {entry["test"]: tests_and_targets(entry["test"]) for entry in entries}
    for regex, (names, targets) in meant.items():
        if not names:
            sys.exit("no test is called %s" % regex)
        built = build(targets, options.jobs)
        tested = run("ctest", "--test-dir", BUILD, "-R", regex, "--output-on-failure")
        if built.returncode or tested.returncode:
            sys.exit("%s\nThe baseline is not green: %s fails without any mutant." % ((built.stdout + tested.stdout)[-4000:], regex))
        if re.search(r"\*\*\*(Skipped|Not Run)|Disabled", tested.stdout):
            sys.exit("%s\n%s is skipped here, so that no mutant could fail it." % (tested.stdout[-4000:], regex))
        print("baseline  %s" % regex, flush=True)

    survived = 0
    for entry in entries:
        start = time.monotonic()
        target = SOURCE / entry["file"]
        original = target.read_text()
        target.write_text(mutate(entry, SOURCE))
        try:
            built = build(meant[entry["test"]][1], options.jobs)
            if built.returncode:
                # A test of the build's own (layers, misuse) may be what notices; a slip in the list is likelier.
                verdict = "does not compile"
                survived += 1
            elif run("ctest", "--test-dir", BUILD, "-R", entry["test"]).returncode:
                verdict = "caught"
            else:
                verdict = "SURVIVED"
                survived += 1
        finally:
            target.write_text(original)
        print("%-16s  %s:%d  %s -> %s  [%s, %.0f s]" % (verdict, entry["file"], entry["line"], entry["original"], entry["mutant"],
                                                   entry["test"], time.monotonic() - start), flush=True)
    print("%d mutants, %d caught, %d not" % (len(entries), len(entries) - survived, survived))
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
