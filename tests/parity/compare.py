# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Compares the traces of train.py and train.cpp step by step, and tells of the first difference in each.

  compare.py DIR FAMILY    exit status 1 if a scenario of the family differs, or a trace is missing
"""
import itertools
import json
import math
import pathlib
import struct
import sys

EXACT = ("step", "scale", "growth_tracker", "settings", "taken")
SINGULAR = {"losses": "loss", "gradients": "gradient", "parameters": "parameter"}
TENSORS = tuple(SINGULAR)


def numbers(bits):
    """(number, its 32 bits) for each element of a tensor as the traces have them."""
    words = [int(bits[i:i + 8], 16) for i in range(0, len(bits), 8)]
    return [(struct.unpack("<f", struct.pack("<I", word))[0], word) for word in words]


def distance(python, cpp):
    if python == cpp or (math.isnan(python) and math.isnan(cpp)):
        return 0.0
    gap = abs(python - cpp)
    return gap if math.isfinite(gap) else math.inf  # a NaN is far from everything else


def tensor_difference(what, python, cpp, within):
    """(what differs first between two tensors, or "", and the largest distance before that)"""
    if python == cpp:
        return "", 0.0
    if python is None or cpp is None or len(python) != len(cpp):
        sizes = ["none" if bits is None else "%d elements" % (len(bits) // 8) for bits in (python, cpp)]
        return "%s: Python %s, C++ %s" % (what, *sizes), 0.0
    largest = 0.0
    for i, ((a, a_bits), (b, b_bits)) in enumerate(zip(numbers(python), numbers(cpp))):
        apart = distance(a, b)
        if apart > within or (within == 0 and a_bits != b_bits):
            return "%s, element %d: Python %.9g (%08x), C++ %.9g (%08x)" % (what, i, a, a_bits, b, b_bits), largest
        largest = max(largest, apart)
    return "", largest


def line_difference(python, cpp, within):
    for side, line in (("Python", python), ("C++", cpp)):
        if "error" in line:
            return "%s stopped: %s" % (side, line["error"]), 0.0
    for key in EXACT:
        if python[key] != cpp[key]:
            return "%s: Python %s, C++ %s" % (key.replace("_", " "), json.dumps(python[key]), json.dumps(cpp[key])), 0.0
    largest = 0.0
    for key in TENSORS:
        if len(python[key]) != len(cpp[key]):
            return "%s: Python has %d, C++ has %d" % (key, len(python[key]), len(cpp[key])), largest
        for i, (a, b) in enumerate(zip(python[key], cpp[key])):
            found, apart = tensor_difference("%s %d" % (SINGULAR[key], i), a, b, within)
            largest = max(largest, apart)
            if found:
                return found, largest
    return "", largest


def difference(python, cpp, within=0.0):
    """(the first difference between two traces, or "", and the largest distance before that)"""
    largest = 0.0
    for number, (a, b) in enumerate(itertools.zip_longest(python, cpp)):
        if a is None or b is None:
            return "line %d: %s has none" % (number, "Python" if a is None else "C++"), largest
        found, apart = line_difference(a, b, within)
        largest = max(largest, apart)
        if found:
            return "step %d: %s" % (a["step"], found), largest
    return "", largest


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def pairs(folder, scenario):
    """(what, Python's lines, C++'s lines) for all that is to be compared of a scenario."""
    name = scenario["name"] + ".jsonl"
    python, cpp = read(folder / "python" / name), read(folder / "cpp" / name)
    yield "", python, cpp
    if scenario["hand_over_after"]:
        def tail(lines):  # what is told of the step before the hand-over is not handed over
            if len(lines) <= scenario["hand_over_after"]:
                return lines[-1:]  # stopped before
            first = dict(lines[scenario["hand_over_after"]], losses=[], taken=[], gradients=[])
            return [first] + lines[scenario["hand_over_after"] + 1:]

        def handed(path):
            lines = read(path)
            return [dict(lines[0], gradients=[])] + lines[1:]

        yield "Python's checkpoint, gone on with in C++", tail(python), handed(folder / "cpp_from_python" / name)
        yield "C++'s checkpoint, gone on with in Python", handed(folder / "python_from_cpp" / name), tail(cpp)


def same_build(folder):
    """Whether both sides ran one build of LibTorch, as far as CPUs go."""
    builds = [[line for line in (folder / side / "libtorch.txt").read_text().splitlines()
               if "Build settings" in line or "CPU capability" in line] for side in ("python", "cpp")]
    return builds[0] == builds[1]


def main(folder, family):
    scenarios = [one for one in json.loads((folder / "scenarios.json").read_text()) if one["family"] == family]
    if not scenarios:
        sys.exit("no scenario belongs to the family %s" % family)
    differing = steps = skipped = 0
    for scenario in scenarios:
        for what, python, cpp in pairs(folder, scenario):
            found, largest = difference(python, cpp, scenario["within"])
            steps += len(python) - 1
            skipped += sum(not all(line.get("taken", ())) for line in python)
            title = scenario["name"] + (" (%s)" % what if what else "")
            if found:
                differing += 1
                print("%s differs at %s" % (title, found))
            elif scenario["within"]:
                print("%s: %.1e apart at most, of %.0e allowed" % (title, largest, scenario["within"]))
    print("%d scenarios, %d steps, %d of them skipped, %d different" % (len(scenarios), steps, skipped, differing))
    if differing and not same_build(folder):
        print("Python and C++ ran different builds of LibTorch (libtorch.txt in %s), of which equal bits cannot be asked." % folder)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
