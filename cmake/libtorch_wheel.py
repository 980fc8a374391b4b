# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT
"""What torchamp's CMake asks of a Python: is there a torch package, and can you fetch one?

  libtorch_wheel.py inspect                              one line of JSON about this very Python
  libtorch_wheel.py fetch VERSION DIR SET READELF LIGHT  a venv at DIR with torch VERSION

SET is light, for C++ programs on CPUs, or full, for CUDA, and for Python, whose half of torch does not load
without CUDA's libraries; full starts from the venv LIGHT, if there is one. Never imports torch: that takes
seconds, and fails where it is light. `fetch` shows pip's own progress on stdout; if it fails, the last lines
on stderr say why and what helps, for CMake's message.
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Libraries whose wheel has another name; the others (libcupti.so.13: nvidia-cuda-cupti-cu13) are named alike.
WHEEL_OF = {"cudart": "runtime"}


def inspect():
    spec = importlib.util.find_spec("torch")
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    print(json.dumps({
        "missing": " and ".join(missing),
        "torch": str(pathlib.Path(spec.origin).parent) if spec and spec.origin else "",
    }))


def cuda_requirements(requires, needed):
    """The entries of `requires` (a wheel's Requires-Dist) that bring the libraries `needed` ("libcudart.so.13")."""
    names = [match.group(1) for match in (re.match(r"lib(\w+)\.so", library) for library in needed) if match]
    chosen = []
    for requirement in requires:
        bundle = re.match(r"(cuda-toolkit)\[([^\]]*)\](.*)", requirement)  # one entry, a part for each library
        if bundle:
            parts = [part for part in bundle.group(2).split(",") if part.strip() in names]
            if parts:
                chosen.append("%s[%s]%s" % (bundle.group(1), ",".join(parts), bundle.group(3)))
            continue
        project = re.match(r"[\w.-]+", requirement).group()
        if any(re.match(r"nvidia-(cuda-)?%s(-cu\d+)?$" % re.escape(WHEEL_OF.get(name, name)), project) for name in names):
            chosen.append(requirement)
    return chosen


def explain(errors, version):
    """What pip wrote to stderr, as one line of what happened and one of what helps."""
    if "No space left" in errors:
        return "the disk is full", "make room and configure again."
    if re.search(r"NewConnectionError|ConnectTimeout|ReadTimeout|NameResolution|Temporary failure|ProxyError|"
                 r"Network is unreachable|Max retries|from versions: none", errors):
        return ("no network, or no package index that answers",
                "connect and configure again (what came through is in pip's cache).")
    if re.search("No matching distribution|Could not find a version", errors):
        return ("the package index has no torch %s for Python %d.%d on this platform" % (version, *sys.version_info[:2]),
                "put another Python first on PATH, or choose another version: -DTORCHAMP_TORCH_VERSION=")
    return "pip failed, in the words above", "mend that and configure again."


def link(source, target):
    """A second name for a file where the file system allows, else a copy. pip replaces files, and writes into none."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def fetch(version, directory, kind, readelf, light):
    directory = pathlib.Path(directory)
    if kind == "full" and pathlib.Path(light).is_dir():  # what is there needs no second download and no second place
        shutil.copytree(light, directory, symlinks=True, copy_function=link)
    else:
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    python = str(directory / "bin" / "python")

    def pip(*arguments):
        command = [python, "-m", "pip", "--disable-pip-version-check", "install", *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # stdout: progress, as it comes
        errors = []
        for line in process.stderr:
            errors.append(line)
            if not re.search(r"pip's dependency resolver|^torch \S+ requires ", line):  # missing on purpose
                print(line, end="", flush=True)
        if process.wait() != 0:
            sys.exit("pip install %s: %s\ncure: %s" % (" ".join(arguments), *explain("".join(errors), version)))

    if kind == "full":
        pip("torch==" + version)
        return
    pip("--no-deps", "torch==" + version)
    asked = subprocess.run([python, "-c", "import importlib.metadata as m, importlib.util as u, json\n"
                            "print(json.dumps([m.requires('torch'), u.find_spec('torch').origin]))"],
                           check=True, stdout=subprocess.PIPE, text=True)
    requires, origin = json.loads(asked.stdout)
    library = pathlib.Path(origin).parent / "lib" / "libtorch_cpu.so"
    dynamic = subprocess.run([readelf, "-d", str(library)], check=True, stdout=subprocess.PIPE, text=True).stdout
    wheels = cuda_requirements(requires or [], re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if wheels:  # none for a CPU build of torch
        pip(*wheels)


if __name__ == "__main__":
    if sys.argv[1] == "inspect":
        inspect()
    else:
        fetch(*sys.argv[2:])
