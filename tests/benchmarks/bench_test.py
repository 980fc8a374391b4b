# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Tests benchmarks/bench.py without measuring: the plan, turns, and which way each bar points."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import bench  # noqa: E402
import figures  # noqa: E402

GIGABYTE = 1000**3


class FakeWorker:
    """Answers with the seconds that `speed` gives to an implementation."""

    def __init__(self, speed, log):
        self.speed, self.log = speed, log

    def ask(self, case, seconds, repetitions):
        self.log.append(case)
        return {"seconds": self.speed(case), "operators": 20, "host_reads": 1 if case.endswith("/plain") else 0}

    def cpu_seconds(self):
        return None  # so that nothing is repeated


def results_of(cpp, python, groups=None):
    log = []
    workers = {"C++": FakeWorker(cpp, log)}
    if python:
        workers["Python"] = FakeWorker(python, log)
    groups = groups or bench.plan(quick=True, memory_bytes=10 * GIGABYTE)
    return bench.measure(groups, workers, patience=0, say=lambda text: None), log


def compile_rows(umbrella, autocast, scaler):
    names = ["torch/torch.h", "torchamp/torchamp.h", "torchamp/core/autocast.h", "torchamp/core/grad_scaler.h"]
    return [{"case": f"<{name}>", "samples": [seconds]} for name, seconds in zip(names, (10, umbrella, autocast, scaler))]


class Bars(unittest.TestCase):
    def test_are_all_met_if_torchamp_is_fast(self):
        seconds = {"plain": 1.0, "raw": 1.0, "fused": 0.5, "flat": 0.01, "guard": 1.0, "apart": 0.0125}
        results, _ = results_of(lambda case: seconds.get(case.rpartition("/")[2], 1.0), lambda case: 2.0)
        bars = bench.all_bars(results, compile_rows(10.8, 6, 4.5), {})
        self.assertEqual([bar["name"] for bar in bars if not bar["met"]], [])

    def test_of_times_are_all_missed_if_torchamp_is_slow(self):
        def cpp(case):
            if case.endswith("/tracer"):
                return 8.1  # of 1.0
            if case.endswith("/op_stats"):
                return 2.1
            return 1.0 if case.endswith(("/raw", "/apart", "/in_place", "/clock", "/none")) else 2.0

        results, _ = results_of(cpp, lambda case: 1.0)
        bars = bench.all_bars(results, compile_rows(10.9, 6.1, 4.6), {})
        met = [bar["name"] for bar in bars if bar["met"] and bar["unit"] in ("x", "%", "ns")]
        self.assertEqual(met, [])

    def test_against_python_are_not_measured_without_python(self):
        results, _ = results_of(lambda case: 1.0, None)
        bars = bench.all_bars(results, compile_rows(10, 6, 4), {"Python": "there is none"})
        unmeasured = [bar for bar in bars if bar["met"] is None]
        self.assertEqual({"Python" in bar["name"] for bar in unmeasured}, {True})
        self.assertEqual({bar["met"] for bar in bars if "Python" in bar["name"]}, {None})
        self.assertEqual({bar["note"] for bar in unmeasured}, {"not measured: there is none"})

    def test_of_compiling_are_not_measured_in_a_quick_run(self):
        results, _ = results_of(lambda case: 1.0, lambda case: 1.0)
        bars = [bar for bar in bench.all_bars(results, [], {"compile": "a quick run"}) if bar["unit"] == "%"]
        self.assertEqual([bar["met"] for bar in bars], [None] * 3)
        self.assertEqual({bar["note"] for bar in bars}, {"not measured: a quick run"})

    def test_have_the_bounds_that_were_promised(self):
        results, _ = results_of(lambda case: 1.0, lambda case: 1.0)
        bounds = {}
        for bar in bench.all_bars(results, [], {}):
            self.assertNotIn(bar["name"], bounds)
            bounds[bar["name"]] = bar["bound"]
        for optimizer in ("Adam", "SGD"):
            for size, fused in (("1,000 x 100", 1.8), ("200 x 1,000", 1.8), ("200 x 50,000", 1.0)):
                self.assertEqual(bounds[f"plain, time over the raw operators by hand, {optimizer}, {size}"], {"at_most": 1.05})
                self.assertEqual(bounds[f"fused, times as fast as Python's fused, {optimizer}, {size}"], {"at_least": fused})
            self.assertEqual(bounds[f"flat, times as fast as Python's fused, {optimizer}, 1,000 x 100"], {"at_least": 50})
            self.assertEqual(bounds[f"flat, times as fast as Python's fused, {optimizer}, 200 x 1,000"], {"at_least": 10})
        self.assertEqual(len([name for name in bounds if name.startswith("training loop")]), 8)

    def test_of_a_lap_is_what_it_takes_beside_the_clock(self):
        results, _ = results_of(lambda case: 90e-9 if case == "timer/lap" else 60e-9, None)
        lap, = (bar for bar in bench.all_bars(results, [], {}) if "lap of a Timer" in bar["name"])
        self.assertAlmostEqual(lap["measured"], 30)
        self.assertEqual((lap["bound"], lap["unit"], lap["met"]), ({"at_most": 100}, "ns", True))

    def test_compare_sgd_with_as_much_less_of_a_triad_as_it_moves_less(self):
        def cpp(case):
            return 28.0 if case.endswith("/flat") else 36.0

        results, _ = results_of(cpp, None)
        triad = {bar["name"]: bar["measured"] for bar in bench.all_bars(results, [], {}) if "triad" in bar["name"]}
        self.assertEqual(sorted(triad.values()), [28 / 36, 1.0])


class Turns(unittest.TestCase):
    def test_go_forwards_and_backwards_in_turn(self):
        turns = [("C++", "step/adam/1x1/plain"), ("Python", "step/adam/1x1/fused")]
        _, log = results_of(lambda case: 1.0, lambda case: 1.0, [bench.Group("step", "step/adam/1x1", turns, 3, 0.01)])
        self.assertEqual([case.rpartition("/")[2] for case in log], ["plain", "fused", "fused", "plain", "plain", "fused"])

    def test_make_one_sample_a_round_and_the_row_is_their_median(self):
        seconds = iter([3.0, 1.0, 2.0])
        turns = [("C++", "step/adam/1x1/plain")]
        results, _ = results_of(lambda case: next(seconds), None, [bench.Group("step", "step/adam/1x1", turns, 3, 0.01)])
        row = results.row("step/adam/1x1", "C++", "plain")
        self.assertEqual((row["samples"], row["seconds"]), ([3.0, 1.0, 2.0], 2.0))

    def test_a_triad_is_found_however_many_rounds_there_were(self):
        turns = [("C++", "triad/3/apart")]
        results, _ = results_of(lambda case: 1.0, None, [bench.Group("step", "step/adam/1x1", turns, 3, 0.01)])
        self.assertEqual(results.samples("step/adam/1x1", "C++", "triad apart"), [1.0] * 3)

    def test_the_same_implementation_in_two_languages_has_two_rows(self):
        turns = [("C++", "step/adam/1x1/fused"), ("Python", "step/adam/1x1/fused")]
        results, _ = results_of(lambda case: 1.0, lambda case: 2.0, [bench.Group("step", "step/adam/1x1", turns, 1, 0.01)])
        self.assertEqual(results.samples("step/adam/1x1", "C++", "fused"), [1.0])
        self.assertEqual(results.samples("step/adam/1x1", "Python", "fused"), [2.0])


class Plan(unittest.TestCase):
    def test_leaves_out_what_the_memory_does_not_hold(self):
        def largest(memory):
            return max(int(group.case.rpartition("x")[2]) for group in bench.plan(False, memory) if group.kind == "growth")

        self.assertEqual(largest(16 * GIGABYTE), 10**8)
        self.assertEqual(largest(3 * GIGABYTE), 10**7)

    def test_the_triad_moves_36_bytes_a_parameter(self):
        self.assertEqual(12 * bench.TRIAD_ELEMENTS, 36 * 200 * 50_000)


class Page(unittest.TestCase):
    def test_shows_every_bar_and_why_some_were_not_measured(self):
        results, _ = results_of(lambda case: 1.0, None)
        bars = bench.all_bars(results, [], {"Python": "there is none", "compile": "a quick run"})
        text = bench.page({"environment": {"cpu": "x"}, "rows": list(results.rows.values()), "bars": bars})
        for bar in bars:
            self.assertIn(bar["name"], text)
        self.assertIn("not measured: there is none", text)
        self.assertEqual(text.count("MISSED"), sum(figures.verdict(bar) == "MISSED" for bar in bars))


if __name__ == "__main__":
    unittest.main()
