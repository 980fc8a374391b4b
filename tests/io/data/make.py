#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Writes the files that tests/io/python_state_test.cpp reads, with Python's torch. They are checked in, so that
the tests need no Python; run this again after a change here:  python3 make.py  (torch 2.4 or newer)."""

import collections
import pathlib
import types

import torch

HERE = pathlib.Path(__file__).parent
torch.manual_seed(1)


def trained_scaler():
    """A scaler after three good steps and an overflow, then one good step: scale 32, tracker 1."""
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0, growth_factor=4.0, backoff_factor=0.5, growth_interval=3)
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    for factor in (1.0, 1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 32.0
    return scaler


def checkpoint(state):
    """What training programs save: the scaler's state among a model, an optimizer and numbers of every kind."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), amsgrad=True)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    shared = torch.arange(6.0).reshape(2, 3)
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "views": [shared, shared[0], shared.t()],
        "half": torch.ones(2, dtype=torch.bfloat16),
        "epoch": 7,
        "best": None,
        "resumed": True,
        "seed": 2**63,
        "small": -(2**40),
        "losses": collections.deque([0.5, float("nan")]),
        "sizes": (torch.Size([2, 3]), {1, 2}, frozenset([3]), b"bytes", complex(1, 2), torch.float16),
        "counts": collections.defaultdict(int, {"seen": 3}),
        "options": types.SimpleNamespace(rate=0.1),
        "scaler": state,
        "trainer": {"scalers": [state, {}], "my.scaler": state},
        7: state,
    }


def main():
    state = trained_scaler().state_dict()
    torch.save(state, HERE / "scaler.pt")
    torch.save(torch.amp.GradScaler("cpu", init_scale=8).state_dict(), HERE / "unused.pt")
    torch.save(torch.amp.GradScaler("cpu", enabled=False).state_dict(), HERE / "disabled.pt")
    torch.save(collections.OrderedDict(state), HERE / "ordered.pt")
    for protocol in (3, 4, 5):
        torch.save(state, HERE / f"protocol{protocol}.pt", pickle_protocol=protocol)
    torch.save(checkpoint(state), HERE / "checkpoint.pt")
    torch.save(checkpoint(state), HERE / "checkpoint5.pt", pickle_protocol=5)
    torch.save(state, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({**state, "scale": torch.tensor(32.0)}, HERE / "tensor_scale.pt")
    torch.save(trained_scaler(), HERE / "object.pt")
    if hasattr(torch.serialization, "set_crc32_options"):
        torch.serialization.set_crc32_options(False)
        torch.save(state, HERE / "no_checksum.pt")


if __name__ == "__main__":
    main()
