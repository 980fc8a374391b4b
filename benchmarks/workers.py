# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""The two programs that measure, kept running so that they can take turns, and what else the machine does."""

import json
import os
import statistics
import subprocess


class WorkerError(Exception):
    pass


class Worker:
    """A program that answers a line "CASE SECONDS REPETITIONS" with seconds, one number a repetition."""

    def __init__(self, language, command):
        self.language = language
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, case, seconds, repetitions):
        try:
            self.process.stdin.write(f"{case} {seconds} {repetitions}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # read_line() says so
        return self.read_answer()

    def read_line(self):
        line = self.process.stdout.readline()
        if not line:
            raise WorkerError(f"{self.language}'s side ended with exit status {self.process.wait()}")
        return line

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def cpu_seconds(self):
        """CPU time so far, of all threads; None where there is no /proc."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class CppWorker(Worker):
    def __init__(self, program, threads):
        super().__init__("C++", [program, f"--threads={threads}", "--serve"])
        self.environment = {}

    def read_answer(self):
        lines = []
        while True:
            line = self.read_line()
            if line == "end\n":
                break
            lines.append(line)
        answer = json.loads("".join(lines))
        self.environment = answer["context"]
        runs = [run for run in answer["benchmarks"] if run["run_type"] == "iteration"]
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[runs[0]["time_unit"]]
        return {
            "seconds": statistics.median(run["real_time"] * unit / run["steps"] for run in runs),
            "operators": int(runs[0]["operators"]),
            "host_reads": int(runs[0]["host_reads"]),
        }


class PythonWorker(Worker):
    def __init__(self, python, script, threads):
        super().__init__("Python", [python, "-B", script, "--threads", str(threads)])
        self.environment = json.loads(self.read_line())

    def read_answer(self):
        return {"seconds": statistics.median(json.loads(self.read_line())["seconds"])}


class OtherLoad:
    """How much of the machine others took while something was measured, from 0 to 1; None if it can't be told."""

    def __init__(self, workers):
        self.workers = workers
        self.before = self.now()

    def now(self):
        try:
            with open("/proc/stat") as file:
                fields = [int(number) for number in file.readline().split()[1:9]]
        except (OSError, ValueError):
            return None
        ours = [worker.cpu_seconds() for worker in self.workers]
        if None in ours:
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        idle = fields[3] + fields[4]
        return {"all": sum(fields) / ticks, "busy": (sum(fields) - idle) / ticks, "ours": sum(ours)}

    def share(self):
        after = self.now()
        if self.before is None or after is None or after["all"] <= self.before["all"]:
            return None
        passed = {key: after[key] - self.before[key] for key in after}
        return min(1.0, max(0.0, (passed["busy"] - passed["ours"]) / passed["all"]))
