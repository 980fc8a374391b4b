# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Tests benchmarks/figures.py: medians, ratios, bars, tables."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import figures  # noqa: E402


class Ratio(unittest.TestCase):
    def test_is_the_median_of_the_ratios_of_each_round(self):
        # 2, 3 and 10; the ratio of the medians would be 20 / 4 = 5.
        self.assertEqual(figures.ratio([2, 30, 20], [1, 10, 2]), 3)

    def test_of_a_round_that_was_slow_for_both_is_that_of_a_quiet_one(self):
        self.assertEqual(figures.ratio([2, 200, 2], [1, 100, 1]), 2)

    def test_without_one_side_is_none(self):
        self.assertIsNone(figures.ratio([1, 2], None))
        self.assertIsNone(figures.ratio(None, [1, 2]))
        self.assertIsNone(figures.ratio([], []))


class Difference(unittest.TestCase):
    def test_is_the_median_of_the_differences_of_each_round(self):
        # 1, 2 and 7; the difference of the medians would be 10 - 1 = 9.
        self.assertEqual(figures.difference([10, 3, 8], [9, 1, 1]), 2)

    def test_without_one_side_is_none(self):
        self.assertIsNone(figures.difference([1, 2], None))
        self.assertIsNone(figures.difference([], [1]))


class Bar(unittest.TestCase):
    def test_at_most_is_met_up_to_the_bound(self):
        self.assertIs(figures.bar("a", 1.05, at_most=1.05)["met"], True)
        self.assertIs(figures.bar("a", 1.06, at_most=1.05)["met"], False)

    def test_at_least_is_met_from_the_bound_on(self):
        self.assertIs(figures.bar("a", 1.8, at_least=1.8)["met"], True)
        self.assertIs(figures.bar("a", 1.7, at_least=1.8)["met"], False)

    def test_that_was_not_measured_is_neither_met_nor_missed_and_says_why(self):
        bar = figures.bar("a", None, at_least=1.8, why_not="there is no Python")
        self.assertIsNone(bar["met"])
        self.assertIsNone(bar["measured"])
        self.assertEqual(bar["note"], "not measured: there is no Python")
        self.assertEqual(figures.verdict(bar), "not measured")

    def test_has_the_four_members_of_the_file_format(self):
        bar = figures.bar("a", 2, at_most=3)
        self.assertEqual((bar["name"], bar["measured"], bar["bound"], bar["met"]), ("a", 2, {"at_most": 3}, True))

    def test_a_bound_of_zero_is_a_bound(self):
        self.assertIs(figures.bar("a", 0, at_most=0)["met"], True)
        self.assertIs(figures.bar("a", 1, at_most=0)["met"], False)


class Text(unittest.TestCase):
    def test_seconds_have_three_digits_and_the_unit_that_fits(self):
        self.assertEqual(figures.format_seconds(1.25), "1.25 s")
        self.assertEqual(figures.format_seconds(0.0123), "12.3 ms")
        self.assertEqual(figures.format_seconds(0.00087), "870 µs")
        self.assertEqual(figures.format_seconds(0.000000015), "15.0 ns")
        self.assertEqual(figures.format_seconds(0.0000000001), "0.10 ns")

    def test_a_figure_has_its_unit_and_none_is_a_dash(self):
        self.assertEqual(figures.format_figure(1.234, "x"), "1.23 x")
        self.assertEqual(figures.format_figure(None, "x"), "–")
        self.assertEqual(figures.format_bound(figures.bar("a", 1, at_least=50)), "≥ 50 x")

    def test_a_table_lines_up_and_its_numbers_stand_to_the_right(self):
        self.assertEqual(figures.table(["bar", "x"], [["a", "12"]]), "| bar |  x |\n| --- | -: |\n| a   | 12 |")

    def test_a_matrix_has_a_line_a_case_and_a_column_an_implementation(self):
        rows = [{"case": "a", "implementation": "ours", "seconds": 1.0},
                {"case": "a", "implementation": "theirs", "seconds": 2.0},
                {"case": "b", "implementation": "ours", "seconds": 3.0}]
        lines = figures.matrix(rows, "case").splitlines()
        self.assertEqual([cell.strip() for cell in lines[0].split("|")], ["", "case", "ours", "theirs", ""])
        self.assertEqual([cell.strip() for cell in lines[3].split("|")], ["", "b", "3.00 s", "–", ""])


if __name__ == "__main__":
    unittest.main()
