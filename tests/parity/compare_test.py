# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Would compare.py notice? Alters traces that agree, one thing at a time, and asks.

  compare_test.py DIR    DIR has the traces of train.py
"""
import contextlib
import copy
import io
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import compare

DIR = pathlib.Path(sys.argv.pop())


def flip_lowest_bit(bits, element=0):
    start = 8 * element
    return bits[:start] + "%08x" % (int(bits[start:start + 8], 16) ^ 1) + bits[start + 8:]


class ComparerTest(unittest.TestCase):
    def setUp(self):
        self.python = compare.read(DIR / "python" / "mlp_float16.jsonl")
        self.cpp = copy.deepcopy(self.python)

    def found(self, within=0.0):
        return compare.difference(self.python, self.cpp, within)[0]

    def test_equal_traces_do_not_differ(self):
        self.assertEqual(self.found(), "")

    def test_a_scale_off_by_one_growth(self):
        self.cpp[4]["scale"] *= 2
        self.assertEqual(self.found(), "step 4: scale: Python 4096.0, C++ 8192.0")

    def test_a_tracker_off_by_one(self):
        self.cpp[3]["growth_tracker"] += 1
        self.assertEqual(self.found(), "step 3: growth tracker: Python 1, C++ 2")

    def test_a_step_skipped_on_one_side(self):
        self.cpp[2]["taken"] = [False]
        self.assertEqual(self.found(), "step 2: taken: Python [true], C++ [false]")

    def test_a_setting(self):
        self.cpp[5]["settings"][2] = 3
        self.assertIn("step 5: settings: Python [2.0, 0.5, 2], C++ [2.0, 0.5, 3]", self.found())

    def test_one_bit_of_a_parameter_a_gradient_or_a_loss(self):
        for key, name in compare.SINGULAR.items():
            last = len(self.python[8][key]) - 1
            elements = len(self.python[8][key][last]) // 8
            self.cpp = copy.deepcopy(self.python)
            self.cpp[8][key][last] = flip_lowest_bit(self.cpp[8][key][last], elements - 1)
            self.assertRegex(self.found(), r"^step 8: %s %d, element %d: Python .*\([0-9a-f]{8}\), C\+\+ .*\([0-9a-f]{8}\)$"
                             % (name, last, elements - 1))

    def test_a_zero_of_the_other_sign(self):
        self.python[1]["parameters"][0] = "00000000"
        self.cpp[1]["parameters"][0] = "80000000"
        self.assertIn("element 0: Python 0 (00000000), C++ -0 (80000000)", self.found())

    def test_a_missing_step(self):
        del self.cpp[4]
        self.assertEqual(self.found(), "step 4: step: Python 4, C++ 5")

    def test_a_missing_end_or_one_too_many(self):
        last = self.cpp.pop()
        self.assertEqual(self.found(), "line 8: C++ has none")
        self.cpp += [last, dict(last, step=9)]
        self.assertEqual(self.found(), "line 9: Python has none")

    def test_a_missing_gradient_or_parameter(self):
        self.cpp[1]["gradients"][2] = None
        self.assertEqual(self.found(), "step 1: gradient 2: Python 32 elements, C++ none")
        self.cpp = copy.deepcopy(self.python)
        self.cpp[1]["parameters"].pop()
        self.assertEqual(self.found(), "step 1: parameters: Python has 4, C++ has 3")

    def test_an_error_of_the_other_side(self):
        self.cpp[3] = {"step": 3, "error": "[torchamp.E03] and so on"}
        self.assertEqual(self.found(), "step 3: C++ stopped: [torchamp.E03] and so on")
        self.cpp = copy.deepcopy(self.python)
        self.python[3] = {"step": 3, "error": "a file that is refused"}
        self.assertEqual(self.found(), "step 3: Python stopped: a file that is refused")

    def test_bounds_hold_on_both_sides(self):
        one, above, below = "3f800000", "3f800008", "3f7ffff0"  # 1, and 2^-20 more and less
        for other in (above, below):
            self.python[1]["parameters"][0], self.cpp[1]["parameters"][0] = one, other
            self.assertEqual(self.found(within=2.0**-20), "")
            self.assertIn("step 1: parameter 0, element 0: Python 1 (3f800000), C++ ", self.found(within=2.0**-21))

    def test_no_bound_covers_inf_or_nan(self):
        one, inf, minus_inf, nan, other_nan = "3f800000", "7f800000", "ff800000", "7fc00000", "ffc00000"
        for a, b in ((one, inf), (inf, one), (inf, minus_inf), (one, nan), (nan, one), (inf, nan)):
            self.python[1]["parameters"][0], self.cpp[1]["parameters"][0] = a, b
            self.assertIn("step 1: parameter 0", self.found(within=1e6), (a, b))
        self.python[1]["parameters"][0], self.cpp[1]["parameters"][0] = nan, other_nan
        self.assertEqual(self.found(within=1e-6), "")

    def test_scale_and_skips_have_no_bounds(self):
        self.cpp[4]["scale"] = 4096.0000001
        self.assertIn("step 4: scale", self.found(within=1e6))


class ProgramTest(unittest.TestCase):
    """The whole way, from altered files to the exit status."""
    FAMILY = "training_in_float16_is_equal_bit_for_bit"

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name) / "traces"
        shutil.copytree(DIR, self.folder)
        self.trace = self.folder / "cpp" / "mlp_float16.jsonl"

    def run_compare(self, family=FAMILY):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = compare.main(self.folder, family)
        return status, said.getvalue()

    def test_untouched_traces_pass(self):
        status, said = self.run_compare()
        self.assertEqual(status, 0)
        self.assertRegex(said, r"^\d+ scenarios, \d+ steps, \d+ of them skipped, 0 different\n$")

    def test_an_altered_trace_fails_and_is_named(self):
        lines = [json.loads(line) for line in self.trace.read_text().splitlines()]
        lines[6]["parameters"][1] = flip_lowest_bit(lines[6]["parameters"][1], 2)
        self.trace.write_text("\n".join(map(json.dumps, lines)))
        status, said = self.run_compare()
        self.assertEqual(status, 1)
        self.assertRegex(said, r"mlp_float16 differs at step 6: parameter 1, element 2: Python [^\n]*\n\d+ scenarios, .* 1 different\n$")

    def test_different_builds_are_told_of_when_something_differs(self):
        self.trace.write_text("")
        (self.folder / "cpp" / "libtorch.txt").write_text("  - Build settings: another\n")
        status, said = self.run_compare()
        self.assertEqual(status, 1)
        self.assertIn("different builds of LibTorch", said)

    def test_a_missing_trace_or_family_fails(self):
        self.trace.unlink()
        with self.assertRaises(FileNotFoundError):
            self.run_compare()
        with self.assertRaises(SystemExit):
            self.run_compare("no such family")

    def test_a_side_that_stopped_before_the_hand_over_is_told_of(self):
        path = self.folder / "cpp" / "cnn.jsonl"
        first = path.read_text().splitlines()[0]
        path.write_text(first + "\n" + json.dumps({"step": 1, "error": "stopped early"}) + "\n")
        status, said = self.run_compare("a_checkpoint_goes_on_in_the_other_language")
        self.assertEqual(status, 1)
        self.assertIn("cnn differs at step 1: C++ stopped: stopped early", said)
        self.assertIn("2 different", said)  # and from there on nothing came to Python

    def test_both_directions_of_a_hand_over_are_compared(self):
        family = "a_checkpoint_goes_on_in_the_other_language"
        for side, said_of in (("cpp_from_python", "Python's checkpoint"), ("python_from_cpp", "C++'s checkpoint")):
            path = self.folder / side / "cnn.jsonl"
            whole = path.read_text()
            path.write_text(whole[:whole.rstrip().rindex("\n") + 1])
            status, said = self.run_compare(family)
            self.assertEqual(status, 1)
            self.assertIn("cnn (%s, gone on with in" % said_of, said)
            path.write_text(whole)
        self.assertEqual(self.run_compare(family)[0], 0)


if __name__ == "__main__":
    unittest.main()
