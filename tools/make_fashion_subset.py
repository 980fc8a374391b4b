#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""Writes the first images of Fashion-MNIST as small idx files, the same bytes every time.

This made examples/data/fashion-mnist from Debian's package dataset-fashion-mnist:

    apt-get download dataset-fashion-mnist && dpkg-deb -x dataset-fashion-mnist_*.deb unpacked
    tools/make_fashion_subset.py unpacked/usr/share/datasets/fashion-mnist examples/data/fashion-mnist
"""

import argparse
import gzip
import struct
from pathlib import Path


def first_items(source: Path, count: int) -> bytes:
    """The idx file `source` cut after its first `count` items, with the count in its header changed."""
    data = gzip.decompress(source.read_bytes())
    dimensions = data[3]
    sizes = struct.unpack(f">{dimensions}I", data[4 : 4 + 4 * dimensions])
    if count > sizes[0]:
        raise SystemExit(f"{source}: asked for {count} items, it has {sizes[0]}")
    item_bytes = 1
    for size in sizes[1:]:
        item_bytes *= size
    header_bytes = 4 + 4 * dimensions
    return (
        data[:4]
        + struct.pack(f">{dimensions}I", count, *sizes[1:])
        + data[header_bytes : header_bytes + count * item_bytes]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with the four *-ubyte.gz files")
    parser.add_argument("target", type=Path, help="folder to write to")
    parser.add_argument("--train", type=int, default=2000, help="training images to keep")
    parser.add_argument("--test", type=int, default=500, help="test images to keep")
    options = parser.parse_args()

    options.target.mkdir(parents=True, exist_ok=True)
    for prefix, count in (("train", options.train), ("t10k", options.test)):
        for kind in ("images-idx3", "labels-idx1"):
            name = f"{prefix}-{kind}-ubyte.gz"
            subset = first_items(options.source / name, count)
            # No time stamp and no file name in the gzip header: equal input gives equal files.
            (options.target / name).write_bytes(gzip.compress(subset, compresslevel=9, mtime=0))
            print(f"{name}: {count} items, {(options.target / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
