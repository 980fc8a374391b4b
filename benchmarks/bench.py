#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Measures torchamp and Python's torch.amp in turns, on one LibTorch, and writes OUTPUT.json and OUTPUT.md.

The build runs it (cmake --workflow --preset bench); docs/performance.md explains the figures. All cases are
measured in rounds. In a round every implementation of a case has its turn, C++ and Python mixed, and the next
round goes through them backwards. A turn during which others took much of the machine is repeated.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

import compile_time
import figures
from workers import CppWorker, OtherLoad, PythonWorker, WorkerError

HERE = pathlib.Path(__file__).resolve().parent
SIZES = ["1000x100", "200x1000", "200x50000"]
# Implementations by language. The words are those of the two programs.
CPP_STEPS = ["plain", "fused", "flat", "raw"]
PYTHON_STEPS = ["default", "foreach", "fused"]
DIAGNOSES = ["none", "after", "scope", "tracer", "op_stats", "dry_run"]

# What is measured in turns: a name, the implementations as (language, case), how often, and for how long.
Group = collections.namedtuple("Group", "kind case turns rounds seconds")


def plan(quick, memory_bytes, rounds=9):
    """Every group of cases. What has no bar, and takes long, is measured a third as often."""
    rounds, seconds = (1, 0.01) if quick else (rounds, 0.03)
    few = (rounds + 2) // 3
    groups = []
    for optimizer in ("adam", "sgd"):
        for size in SIZES:
            case = f"step/{optimizer}/{size}"
            turns = [("C++", f"{case}/{name}") for name in CPP_STEPS]
            turns += [("Python", f"{case}/{name}") for name in PYTHON_STEPS]
            if size == "200x50000":
                turns += [("C++", f"triad/{TRIAD_ELEMENTS}/{name}") for name in ("apart", "in_place")]
            groups.append(Group("step", case, turns, rounds, seconds))
    for model in ("cnn", "mlp"):
        for precision in ("fp32", "amp"):
            case = f"train/{model}/{precision}"
            turns = [("C++", f"{case}/plain"), ("Python", f"{case}/default"), ("C++", f"{case}/fused"),
                     ("Python", f"{case}/fused")]
            groups.append(Group("train", case, turns, rounds, seconds))
    groups.append(Group("guard", "guard", [("C++", f"guard/{name}") for name in ("guard", "raw", "least")], rounds, seconds))
    groups.append(Group("timer", "timer", [("C++", f"timer/{name}") for name in ("lap", "clock")], rounds, seconds))
    for model in ("cnn", "mlp"):
        case = f"diagnose/{model}"
        groups.append(Group("diagnose", case, [("C++", f"{case}/{name}") for name in DIAGNOSES], rounds, seconds))
    for count in (10, 100, 1000, 10000):
        groups.append(growth_group(f"{count}x100", few, seconds))
    for elements in (10**4, 10**5, 10**6, 10**7, 10**8):
        # Parameters, gradients and two moments, and as much again to be safe.
        if not (quick and elements > 10**6) and 8 * 4 * elements < memory_bytes:
            groups.append(growth_group(f"1x{elements}", few, seconds))
    for optimizer in ("adam", "sgd"):
        for size in ("1x100", "10000x100"):
            turns = [("C++", f"step/{optimizer}/{size}/flat")]
            groups.append(Group("count", f"count/{optimizer}/{size}", turns, 1, 0.001))
    return groups


# As many bytes as an Adam step of 200 x 50,000 parameters at 36 bytes: 12 bytes an element, three of 4.
TRIAD_ELEMENTS = 36 * 200 * 50_000 // 12


def growth_group(size, rounds, seconds):
    turns = [("C++", f"step/adam/{size}/{name}") for name in ("plain", "fused", "flat")]
    turns.append(("Python", f"step/adam/{size}/fused"))
    return Group("growth", f"growth/adam/{size}", turns, rounds, seconds)


class Measurements:
    """Samples by (kind, language, case); a row of the result each."""

    def __init__(self):
        self.rows = {}

    def add(self, group, language, case, answer, others):
        kind, _, rest = case.partition("/")
        name = rest.rpartition("/")[2]
        row = self.rows.setdefault((group.case, language, case), {
            "kind": group.kind, "case": group.case, "implementation": f"triad {name}" if kind == "triad" else name,
            "language": language, "seconds": None, "samples": [], "others": []})
        row["samples"].append(answer["seconds"])
        row["seconds"] = figures.median(row["samples"])
        row["others"].append(others)
        for key in ("operators", "host_reads"):
            if key in answer:
                row[key] = answer[key]

    def row(self, case, language, implementation):
        for row in self.rows.values():
            if (row["case"], row["language"], row["implementation"]) == (case, language, implementation):
                return row
        return None

    def samples(self, case, language, implementation):
        row = self.row(case, language, implementation)
        return row and row["samples"]


def take_turn(worker, workers, case, group, patience):
    """One answer; asked again, `patience` times at most, if others were busy. Returns it and their share."""
    best = None
    for _ in range(1 + patience):
        load = OtherLoad(workers)
        answer = worker.ask(case, group.seconds, 3)
        share = load.share()
        if best is None or (share is not None and share < best[1]):
            best = (answer, share)
        if share is None or share < 0.1:
            break
    return best


def measure(groups, workers, patience, say):
    results = Measurements()
    total = sum(group.rounds for group in groups)
    done = 0
    for round_number in range(max(group.rounds for group in groups)):
        for group in groups:
            if round_number >= group.rounds:
                continue
            done += 1
            say(f"{done}/{total} {group.case}, round {round_number + 1} of {group.rounds}")
            turns = group.turns if round_number % 2 == 0 else list(reversed(group.turns))
            for language, case in turns:
                if language in workers:
                    answer, share = take_turn(workers[language], list(workers.values()), case, group, patience)
                    results.add(group, language, case, answer, share)
    return results


def measure_compile_times(compiler, rounds, say):
    samples = {name: [] for name in compile_time.UNITS}
    for round_number in range(rounds):
        names = list(samples) if round_number % 2 == 0 else list(reversed(samples))
        for name in names:
            say(f"compiling <{name}>, round {round_number + 1} of {rounds}")
            samples[name].append(compiler.seconds(compile_time.UNITS[name]))
    return [{"kind": "compile", "case": f"<{name}>", "implementation": "-fsyntax-only", "language": "C++",
             "seconds": figures.median(values), "samples": values} for name, values in samples.items() if values]


def all_bars(results, compile_rows, why):
    """What was promised. `why`: reasons for what is missing, by language, and for compile times."""
    bars = []

    def compare(name, slower, faster, **bound):
        missing = next((why[language] for _, language, _ in (slower, faster) if why.get(language)), "")
        bars.append(figures.bar(name, figures.ratio(results.samples(*slower), results.samples(*faster)), why_not=missing, **bound))

    names = {"adam": "Adam", "sgd": "SGD"}
    pretty = {size: f"{int(size.split('x')[0]):,} x {int(size.split('x')[1]):,}" for size in SIZES}
    for optimizer, name in names.items():
        for size in SIZES:
            case = f"step/{optimizer}/{size}"
            compare(f"plain, time over the raw operators by hand, {name}, {pretty[size]}",
                    (case, "C++", "plain"), (case, "C++", "raw"), at_most=1.05)
    for optimizer, name in names.items():
        for size in SIZES:
            case = f"step/{optimizer}/{size}"
            compare(f"fused, times as fast as Python's fused, {name}, {pretty[size]}",
                    (case, "Python", "fused"), (case, "C++", "fused"), at_least=1.0 if size == SIZES[2] else 1.8)
    for optimizer, name in names.items():
        for size, at_least in zip(SIZES, (50, 10)):
            case = f"step/{optimizer}/{size}"
            compare(f"flat, times as fast as Python's fused, {name}, {pretty[size]}",
                    (case, "Python", "fused"), (case, "C++", "flat"), at_least=at_least)
    # SGD with momentum moves 28 bytes a parameter where Adam moves 36: as much less of a triad.
    for optimizer, byte_count in (("adam", 36), ("sgd", 28)):
        case = f"step/{optimizer}/{SIZES[2]}"
        triad = results.samples(case, "C++", "triad apart")
        triad = triad and [sample * byte_count / 36 for sample in triad]
        bars.append(figures.bar(f"flat, time over a triad that moves {byte_count} bytes a parameter, {names[optimizer]}, "
                                f"{pretty[SIZES[2]]}", figures.ratio(results.samples(case, "C++", "flat"), triad), at_most=1.25))

    def count(case, implementation, key):
        row = results.row(case, "C++", implementation)
        return row and row[key]

    for optimizer, name in names.items():
        few, many = (count(f"count/{optimizer}/{size}", "flat", "operators") for size in ("1x100", "10000x100"))
        bars.append(figures.bar(f"flat, operators of scale + step + update, {name}, 10,000 tensors", many, at_most=24, unit="operators"))
        more = None if few is None or many is None else many - few
        bars.append(figures.bar(f"flat, how many more for 10,000 tensors than for 1, {name}", more, at_most=0, unit="operators"))
    for optimizer, name in names.items():
        for implementation, at_most in (("plain", 1), ("fused", 0), ("flat", 0)):
            reads = count(f"step/{optimizer}/1000x100", implementation, "host_reads")
            bars.append(figures.bar(f"{implementation}, host reads of scale + step + update, {name}", reads, at_most=at_most, unit="reads"))
    for model, model_name in (("cnn", "SimpleCNN"), ("mlp", "12-layer MLP")):
        for precision in ("fp32", "amp"):
            case = f"train/{model}/{precision}"
            for ours, theirs, words in (("plain", "default", "torch::optim::Adam over Python's default Adam"),
                                        ("fused", "fused", "FusedAdam over Python's fused Adam")):
                compare(f"training loop, time over Python's, {model_name}, {precision.upper()}, {words}",
                        (case, "C++", ours), (case, "Python", theirs), at_most=1.0)
    compare("AutocastGuard, time over the raw calls that it makes", ("guard", "C++", "guard"), ("guard", "C++", "raw"), at_most=1.2)
    lap = figures.difference(results.samples("timer", "C++", "lap"), results.samples("timer", "C++", "clock"))
    bars.append(figures.bar("a lap of a Timer, beside two looks at the clock", None if lap is None else 1e9 * lap, at_most=100, unit="ns"))
    for name, words, at_most in (("after", "after diagnoses", 1.05), ("tracer", "in a NonFiniteTracer", 4),
                                 ("op_stats", "in an OpStats", 2)):
        compare(f"a step {words}, time over one without, SimpleCNN, FP32",
                ("diagnose/cnn", "C++", name), ("diagnose/cnn", "C++", "none"), at_most=at_most)

    times = {row["case"]: row["samples"] for row in compile_rows}
    alone = times.get("<torch/torch.h>")
    for header, at_most in (("torchamp/torchamp.h", 108), ("torchamp/core/autocast.h", 60), ("torchamp/core/grad_scaler.h", 45)):
        part = figures.ratio(times.get(f"<{header}>"), alone)
        together = "<torch/torch.h> and " if header == "torchamp/torchamp.h" else ""
        bars.append(figures.bar(f"compile time of {together}<{header}>, of that of <torch/torch.h>",
                                part and 100 * part, at_most=at_most, unit="%", why_not=why.get("compile")))
    return bars


def describe_machine(options):
    model = platform.processor()
    memory = None
    try:
        for line in open("/proc/cpuinfo"):
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        pass
    compiler = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": model,
        "cpus": os.cpu_count(),
        "memory_bytes": memory,
        "compiler": compiler.stdout.splitlines()[0],
        "cpp_standard": options.standard,
        "torchamp": options.version,
        "threads": options.threads,
    }


def describe_torch(environment, workers):
    cpp, python = workers["C++"].environment, workers["Python"].environment if "Python" in workers else {}
    environment["libtorch"] = cpp.get("libtorch")
    environment["libtorch_commit"] = cpp.get("libtorch_commit")
    environment["cpu_capability"] = cpp.get("cpu_capability")
    environment["python"] = python.get("python")
    environment["python_torch"] = python.get("torch")
    environment["python_torch_commit"] = python.get("torch_commit")
    environment["same_libtorch"] = cpp.get("libtorch_commit") == python.get("torch_commit") if python else None
    environment["threads_in_cpp"] = int(cpp["threads"])
    environment["threads_in_python"] = python.get("threads")


def free_memory():
    try:
        for line in open("/proc/meminfo"):
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 8 * 1000**3


def page(document):
    """bench.md"""
    bars, rows, environment = document["bars"], document["rows"], document["environment"]
    verdicts = [figures.verdict(bar) for bar in bars]
    lines = ["# What a step costs: torchamp and Python's torch.amp", "",
             f"{verdicts.count('met')} bars met, {verdicts.count('MISSED')} missed, {verdicts.count('not measured')} not measured. "
             "Each figure is the median of ratios within a round; docs/performance.md explains them.", "",
             figures.table(["bar", "measured", "bound", ""],
                           [[bar["name"], figures.format_figure(bar["measured"], bar["unit"]), figures.format_bound(bar),
                             figures.verdict(bar)] for bar in bars]), ""]
    for note in sorted({bar["note"] for bar in bars if "note" in bar}):
        lines += [f"Note: {note}", ""]
    titles = {"step": ("`scaler.step(optimizer)` and `scaler.update()`, tensors x elements", "case"),
              "train": ("A step of training", "loop"), "guard": ("An empty autocast region", ""),
              "timer": ("A lap of a Timer, and the looks at the clock in it", ""),
              "diagnose": ("Forward and backward in a diagnosis", "model"),
              "growth": ("How the cost grows, Adam", "tensors x elements"), "compile": ("Compiling, CPU time", "header")}
    for kind, (title, first) in titles.items():
        chosen = [dict(row, implementation=f"{row['language']} {row['implementation']}") for row in rows if row["kind"] == kind]
        if chosen:
            lines += [f"## {title}", "", figures.matrix(chosen, first), ""]
    lines += ["## Where", "", figures.table(["", ""], [[key.replace("_", " "), str(value)] for key, value in environment.items()]), ""]
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="torchamp_benchmarks")
    parser.add_argument("--python", default="", help="a Python with the torch of the same version; empty: none")
    parser.add_argument("--python-missing", default="", help="why there is none")
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[], help="an include folder for what is compiled; several times")
    parser.add_argument("--standard", default="17")
    parser.add_argument("--version", default="")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="without .json and .md")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it works; no compile times")
    parser.add_argument("--rounds", type=int, default=9, help="of each case with a bar; compiling has a third of them")
    parser.add_argument("--only", default="", help="only the kinds named, with , between: step,train,guard,timer,diagnose,growth,count,compile")
    return parser.parse_args()


def main():
    options = parse_arguments()
    say = lambda text: print(f"-- {text}", flush=True)
    environment = describe_machine(options)
    why = {}
    workers = {"C++": CppWorker(options.program, options.threads)}
    if options.python:
        workers["Python"] = PythonWorker(options.python, str(HERE / "python_side.py"), options.threads)
    else:
        why["Python"] = f"there is no Python with this torch: {options.python_missing or 'no reason given'}"
        say(f"not measuring Python: {why['Python']}")
    wanted = options.only.split(",") if options.only else ["step", "train", "guard", "timer", "diagnose", "growth", "count", "compile"]
    groups = [group for group in plan(options.quick, free_memory(), options.rounds) if group.kind in wanted]
    try:
        results = measure(groups, workers, 0 if options.quick else 2, say)
    except WorkerError as error:
        sys.exit(f"bench.py: {error}; what it said is above.")
    describe_torch(environment, workers)
    for worker in workers.values():
        worker.close()
    compile_rows = []
    if options.quick:
        why["compile"] = "a quick run leaves it out"
    elif "compile" in wanted:
        compiler = compile_time.Compiler(options.compiler, options.standard, options.include)
        compile_rows = measure_compile_times(compiler, (options.rounds + 2) // 3, say)
    rows = list(results.rows.values()) + compile_rows
    shares = [share for row in rows for share in row.get("others", []) if share is not None]
    environment["others_share_median"] = figures.median(shares) if shares else None
    environment["others_share_largest"] = max(shares, default=None)
    document = {"environment": environment, "rows": rows, "bars": all_bars(results, compile_rows, why)}
    options.output.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    text = page(document)
    options.output.with_suffix(".md").write_text(text)
    print(f"\n{text}\nWritten: {options.output}.json, {options.output}.md")


if __name__ == "__main__":
    main()
