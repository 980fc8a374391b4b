# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Tests tools/performance_charts.py."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import performance_charts as charts  # noqa: E402


def row(size, language, implementation, seconds, kind="growth"):
    return {"kind": kind, "case": f"growth/adam/{size}", "language": language, "implementation": implementation, "seconds": seconds}


class Chart(unittest.TestCase):
    def setUp(self):
        self.rows = [row("100x100", "C++", "flat", 1e-4), row("10x100", "C++", "flat", 1e-5), row("10x100", "Python", "fused", 1e-3),
                     row("1x10000", "C++", "fused", 1e-2), row("10x100", "C++", "plain", 1.0, kind="step")]

    def test_is_well_formed_and_has_a_line_and_a_name_for_each_implementation(self):
        svg = charts.charts({"rows": self.rows})["performance_tensors.svg"]
        tree = ElementTree.fromstring(svg)
        self.assertEqual(len([e for e in tree if e.tag.endswith("polyline")]), 2)
        words = [e.text for e in tree if e.tag.endswith("text")]
        self.assertIn("FusedAdam, flat", words)
        self.assertIn("Python, fused", words)
        self.assertNotIn("torch::optim", words)

    def test_draws_less_time_lower_and_more_tensors_further_right(self):
        tree = ElementTree.fromstring(charts.charts({"rows": self.rows})["performance_tensors.svg"])
        flat = [e for e in tree if e.tag.endswith("polyline")][-1].get("points")
        (x1, y1), (x2, y2) = [map(float, point.split(",")) for point in flat.split()]
        self.assertLess(x1, x2)
        self.assertGreater(y1, y2)

    def test_of_no_rows_is_none(self):
        self.assertEqual(set(charts.charts({"rows": []}).values()), {None})

    def test_axes_span_whole_powers_of_ten(self):
        self.assertEqual(charts.decades([10, 10000]), (1, 4))
        self.assertEqual(charts.decades([2e-5, 0.3]), (-5, 0))
        self.assertEqual([charts.time_label(e) for e in (-5, -3, 0)], ["10 µs", "1 ms", "1 s"])

    def test_names_at_the_end_of_lines_do_not_overlap(self):
        self.assertEqual(charts.spread([10, 12, 50], 17), [10, 27, 50])


if __name__ == "__main__":
    unittest.main()
