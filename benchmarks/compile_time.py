# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""What including a header costs: CPU seconds of a compiler that only checks it."""

import os
import pathlib
import subprocess
import tempfile

# By the name of a row, what a program includes. A user of the umbrella has <torch/torch.h> anyway.
UNITS = {
    "torch/torch.h": ["torch/torch.h"],
    "torchamp/torchamp.h": ["torch/torch.h", "torchamp/torchamp.h"],
    "torchamp/core/autocast.h": ["torchamp/core/autocast.h"],
    "torchamp/core/grad_scaler.h": ["torchamp/core/grad_scaler.h"],
}


class Compiler:
    def __init__(self, compiler, standard, includes):
        self.command = [compiler, f"-std=c++{standard}", "-fsyntax-only"]
        for folder in includes:
            self.command += ["-isystem", folder]

    def seconds(self, headers):
        """CPU seconds: what other programs do meanwhile lengthens the wait more than the work."""
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "unit.cpp"
            unit.write_text("".join(f"#include <{header}>\n" for header in headers))
            before = os.times()
            subprocess.run([*self.command, str(unit)], check=True)
            after = os.times()
        return (after.children_user - before.children_user) + (after.children_system - before.children_system)
