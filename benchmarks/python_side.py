# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Python's side of the benchmarks: the cases of optimizer_step.h and training.h, with torch.amp.

    python_side.py --threads N

reads lines "CASE SECONDS REPETITIONS" and answers each with a line of JSON, as torchamp_benchmarks does. The
first line that it writes describes its torch.

  step/adam|sgd/TENSORSxELEMENTS/default|foreach|fused   scaler.step(optimizer); scaler.update()
  train/cnn|mlp/fp32|amp/default|fused                   a step of training
"""

import argparse
import gc
import json
import math
import sys
import time

import torch
import torch.nn.functional as F

# Note [Gradients that stay what they are], in optimizer_step.h
SCALE_NEXT_TO_ONE = 1.0 + 2.0**-23

# What an implementation is called here, as arguments of the optimizer.
IMPLEMENTATIONS = {
    "default": {"foreach": False, "fused": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}


def make_optimizer(name, parameters, implementation):
    arguments = IMPLEMENTATIONS[implementation]
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-3, **arguments)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, **arguments)
    raise ValueError(f"there is no optimizer {name}")


def optimizer_case(optimizer_name, size, implementation):
    count, elements = (int(number) for number in size.split("x"))
    parameters = [torch.ones(elements, requires_grad=True) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.full((elements,), 0.75)
    optimizer = make_optimizer(optimizer_name, parameters, implementation)
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE_NEXT_TO_ONE, growth_interval=2_000_000_000)
    scaler.scale(torch.ones(()))

    def step():
        scaler.step(optimizer)
        scaler.update()

    return step


class SimpleCnn(torch.nn.Module):
    """examples/support/simple_cnn.h for images of 32 x 32 pixels."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.linear = torch.nn.Linear(64 * 8 * 8, 10)

    def forward(self, images):
        x = torch.max_pool2d(torch.relu(self.conv1(images)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.linear(x.flatten(1))


class SmallMlp(torch.nn.Module):
    """SmallMlp of training.h."""

    WIDTH = 32

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(self.WIDTH, self.WIDTH) for _ in range(12))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def training_case(model_name, precision, implementation):
    if model_name == "cnn":
        model, inputs, labels = SimpleCnn(), torch.randn(16, 3, 32, 32), torch.randint(10, (16,))
    else:
        model = SmallMlp()
        inputs, labels = torch.randn(16, model.WIDTH), torch.randint(model.WIDTH, (16,))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, **IMPLEMENTATIONS[implementation])
    scaler = torch.amp.GradScaler("cpu")

    def fp32():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()

    def amp():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return {"fp32": fp32, "amp": amp}[precision]


def prepare(case):
    torch.manual_seed(0)
    kind, *words = case.split("/")
    step = {"step": optimizer_case, "train": training_case}[kind](*words)
    for _ in range(3):
        step()
    return step


def seconds_of(step, times):
    begin = time.perf_counter()
    for _ in range(times):
        step()
    return time.perf_counter() - begin


def measure(case, seconds, repetitions):
    """Seconds of a step, one number a repetition, and how many steps a repetition had."""
    step = prepare(case)
    times, taken = 1, seconds_of(step, 1)
    while taken < seconds:
        times = min(10 * times, max(times + 1, math.ceil(1.4 * times * seconds / taken)))
        taken = seconds_of(step, times)
    return [seconds_of(step, times) / times for _ in range(repetitions)], times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, required=True)
    torch.set_num_threads(parser.parse_args().threads)
    environment = {
        "torch": torch.__version__,
        "torch_commit": torch.version.git_version,
        "python": ".".join(str(number) for number in sys.version_info[:3]),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
    print(json.dumps(environment), flush=True)
    for line in sys.stdin:
        case, seconds, repetitions = line.split()
        samples, times = measure(case, float(seconds), int(repetitions))
        gc.collect()  # memory of this case is gone before the other side's turn
        print(json.dumps({"case": case, "seconds": samples, "steps": times}), flush=True)


if __name__ == "__main__":
    main()
