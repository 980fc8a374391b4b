# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Python's side of tests/parity: trains every scenario with torch.amp and writes down each step.

  train.py run DIR FAMILY...   writes DIR/scenarios.json, DIR/python/, and checkpoints for C++
  train.py go_on DIR           goes on from the checkpoints of C++; writes DIR/python_from_cpp/

train.cpp is its twin, line by line as far as the languages allow. What a trace holds: README.md beside this.
"""
import contextlib
import json
import pathlib
import shutil
import sys

import torch
import torch.nn.functional as F

import scenarios

SPECIAL = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def bits(tensor):
    """A float32 tensor's elements in row order, each as eight hexadecimal digits."""
    tensor = tensor.detach().to(torch.float32).contiguous().flatten()
    return "".join("%08x" % (number & 0xFFFFFFFF) for number in tensor.view(torch.int32).tolist())


class Net:
    """Functional operators on parameters of its own: the same operators as in C++, whatever modules do."""

    def __init__(self, layers):
        self.layers = layers
        self.parameters = []
        for layer in layers:
            if layer["kind"] == "linear":
                self.draw(layer["out"], layer["in"])
            elif layer["kind"] == "conv2d":
                self.draw(layer["out"], layer["in"], layer["kernel"], layer["kernel"])

    def draw(self, *shape):
        fan_in = torch.Size(shape[1:]).numel()
        for drawn in (torch.randn(shape), torch.randn(shape[0])):
            self.parameters.append(drawn.div(fan_in**0.5).requires_grad_())

    def __call__(self, x):
        parameters = iter(self.parameters)
        for layer in self.layers:
            kind = layer["kind"]
            if kind == "linear":
                x = F.linear(x, next(parameters), next(parameters))
            elif kind == "conv2d":
                x = F.conv2d(x, next(parameters), next(parameters), padding=layer["padding"])
            elif kind == "relu":
                x = F.relu(x)
            elif kind == "max_pool2d":
                x = F.max_pool2d(x, 2)
            elif kind == "flatten":
                x = x.flatten(1)
        return x


def fill_element(tensor, element, value):
    with torch.no_grad():
        for size in tensor.shape:
            tensor = tensor.select(0, {"first": 0, "middle": size // 2, "last": size - 1}[element])
        tensor.fill_(value)


class Training:
    def __init__(self, scenario):
        self.scenario = scenario
        torch.manual_seed(scenario["seed"])
        self.nets = [Net(scenario["net"]["layers"]) for _ in range(scenario["nets"])]
        self.parameters = [parameter for net in self.nets for parameter in net.parameters]
        self.batches = [[self.draw_batch() for _ in range(scenario["accumulate"])] for _ in range(scenario["steps"])]
        self.optimizers = [self.make_optimizer(spec) for spec in scenario["optimizers"]]
        self.scaler = torch.amp.GradScaler("cpu", **scenario["scaler"])

    def draw_batch(self):
        net, batch = self.scenario["net"], self.scenario["batch"]
        inputs = torch.randn(batch, *net["input"])
        if net["loss"] == "cross_entropy":
            return inputs, torch.randint(net["outputs"], (batch,))
        return inputs, torch.randn(batch, net["outputs"])

    def make_optimizer(self, spec):
        groups = [dict(group["options"], params=[self.parameters[i] for i in group["parameters"]]) for group in spec["groups"]]
        optimizer = getattr(torch.optim, spec["kind"])(groups, lr=1.0, foreach=False)  # each group has its own rate
        optimizer.steps_made = 0

        def count(optimizer, *_):
            optimizer.steps_made += 1

        optimizer.register_step_post_hook(count)
        return optimizer

    def autocast(self):
        if self.scenario["autocast"] == "none":
            return contextlib.nullcontext()
        return torch.autocast("cpu", getattr(torch, self.scenario["autocast"]))

    def losses_of(self, batch):
        """One loss for each row of `mix`."""
        inputs, targets = batch
        loss_of = {"mse": F.mse_loss, "cross_entropy": F.cross_entropy}[self.scenario["net"]["loss"]]
        outputs = [net(inputs) for net in self.nets]
        losses = []
        for row in self.scenario["mix"]:
            mixed = outputs[0] * row[0]
            for output, factor in zip(outputs[1:], row[1:]):
                mixed = mixed + output * factor
            loss = loss_of(mixed, targets) / self.scenario["accumulate"]
            if self.scenario["half_loss"]:
                loss = loss.to(getattr(torch, self.scenario["autocast"]))
            losses.append(loss)
        return losses

    def penalised(self, loss):
        """The loss and the norm of its unscaled gradients, which have gradients themselves."""
        scaled = torch.autograd.grad(self.scaler.scale(loss), self.parameters, create_graph=True)
        inverse = 1.0 / self.scaler.get_scale()
        with self.autocast():
            squares = torch.zeros(())
            for gradient in scaled:
                squares = squares + (gradient * inverse).pow(2).sum()
            return loss + squares.sqrt() * self.scenario["penalty"]

    def inject(self, step, where):
        for one in self.scenario["inject"]:
            if one["step"] == step and one["where"] == where:
                tensor = self.batches[step - 1][0][0] if where == "data" else self.parameters[one["parameter"]].grad
                fill_element(tensor, one["element"], SPECIAL[one["value"]])

    def clip(self):
        clip = self.scenario["clip"]
        if clip is None:
            return
        max_norm = clip["max_norm"] * (self.scaler.get_scale() if clip["scaled"] else 1.0)
        for number in clip["optimizers"]:
            owned = [parameter for group in self.optimizers[number].param_groups for parameter in group["params"]]
            torch.nn.utils.clip_grad_norm_(owned, max_norm, norm_type=float(clip["norm_type"]), foreach=False)

    def update(self, step):
        calls = [one for one in self.scenario["calls"] if one["step"] == step]
        new_scale = next((one for one in calls if one["call"].startswith("update")), None)
        if new_scale is None:
            self.scaler.update()
        elif new_scale["call"] == "update_tensor":
            self.scaler.update(torch.tensor(new_scale["value"], dtype=torch.float32))
        else:
            self.scaler.update(new_scale["value"])
        for one in calls:
            if one["call"].startswith("set_"):
                getattr(self.scaler, one["call"])(one["value"])

    def step(self, step):
        """One step of training, and what is to be told of it."""
        self.inject(step, "data")
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        told = []
        for batch in self.batches[step - 1]:
            with self.autocast():
                losses = self.losses_of(batch)
            if self.scenario["penalty"]:
                losses = [self.penalised(loss) for loss in losses]
            told += [bits(loss) for loss in losses]
            scaled = self.scaler.scale(losses)
            for loss in scaled:
                loss.backward(retain_graph=loss is not scaled[-1])
        self.inject(step, "gradient")
        for number in self.scenario["unscale"]:
            self.scaler.unscale_(self.optimizers[number])
        self.clip()
        self.inject(step, "unscaled gradient")
        before = [optimizer.steps_made for optimizer in self.optimizers]
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
        self.update(step)
        return {"losses": told, "taken": [now.steps_made > then for now, then in zip(self.optimizers, before)]}

    def record(self, step, told):
        enabled = self.scaler.is_enabled()
        gradients = [None if parameter.grad is None else bits(parameter.grad) for parameter in self.parameters]
        # The scale is a float32 on both sides; before the first loss Python tells the number it was given.
        return dict(told, step=step, scale=torch.tensor(self.scaler.get_scale()).item(), growth_tracker=self.scaler._get_growth_tracker(),
                    settings=[self.scaler.get_growth_factor(), self.scaler.get_backoff_factor(),
                              self.scaler.get_growth_interval()] if enabled else None,
                    parameters=[bits(parameter) for parameter in self.parameters], gradients=gradients)

    def with_momentum(self):
        """(optimizer, parameter) for each parameter that SGD keeps momentum for."""
        return [(optimizer, parameter) for optimizer in self.optimizers for group in optimizer.param_groups
                if group["momentum"] for parameter in group["params"]]

    def save(self, path):
        torch.save({"scaler": self.scaler.state_dict(), "parameters": [parameter.detach() for parameter in self.parameters],
                    "momentum": [optimizer.state[parameter]["momentum_buffer"] for optimizer, parameter in self.with_momentum()]}, path)

    def load(self, folder):
        def load(what):
            return torch.load(folder / ("%s.%s.pt" % (self.scenario["name"], what)), weights_only=True)

        self.scaler.load_state_dict(load("scaler"))
        with torch.no_grad():
            for i, parameter in enumerate(self.parameters):
                parameter.copy_(load("parameter%d" % i))
        for i, (optimizer, parameter) in enumerate(self.with_momentum()):
            optimizer.state[parameter]["momentum_buffer"] = load("momentum%d" % i)


def write_trace(path, training, first):
    """Trains from step `first` on; line 0 is the state before it."""
    with open(path, "w") as file:
        told = {"losses": [], "taken": []}
        for step in range(first - 1, training.scenario["steps"] + 1):
            if step >= first:
                told = training.step(step)
            file.write(json.dumps(training.record(step, told)) + "\n")
            if first == 1 and step and step == training.scenario["hand_over_after"]:
                training.save(path.parent / (training.scenario["name"] + ".pt"))


def run(folder, families):
    shutil.rmtree(folder, ignore_errors=True)  # nothing of an earlier run is to be compared
    folder.mkdir(parents=True)
    scenarios.write(folder / "scenarios.json")
    everything = json.loads((folder / "scenarios.json").read_text())
    if sorted(families) != sorted({scenario["family"] for scenario in everything}):
        sys.exit("ctest's entries and the families in scenarios.py are not the same: tests/parity/CMakeLists.txt names %s" % families)
    traces = folder / "python"
    traces.mkdir(exist_ok=True)
    (traces / "libtorch.txt").write_text(torch.__config__.show())
    for scenario in everything:
        write_trace(traces / (scenario["name"] + ".jsonl"), Training(scenario), 1)
    print("torch %s trained %d scenarios" % (torch.__version__, len(everything)))


def go_on(folder):
    traces = folder / "python_from_cpp"
    traces.mkdir(exist_ok=True)
    count = 0
    for scenario in json.loads((folder / "scenarios.json").read_text()):
        if scenario["hand_over_after"]:
            trace = traces / (scenario["name"] + ".jsonl")
            training = Training(scenario)
            try:
                training.load(folder / "cpp")
            except Exception as error:  # C++ wrote none, or not well: the other scenarios can still be compared
                trace.write_text(json.dumps({"step": scenario["hand_over_after"], "error": "%s: %s" % (type(error).__name__, error)}) + "\n")
                continue
            write_trace(trace, training, scenario["hand_over_after"] + 1)
            count += 1
    print("torch %s went on with %d scenarios of C++" % (torch.__version__, count))


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "run":
        run(folder, sys.argv[3:])
    else:
        go_on(folder)
