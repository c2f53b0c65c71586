"""Start of the runner: `python <this folder> MODULE:ENGINE --model ...`."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    # Given the folder, Python puts it first on its path, where our file names would hide other people's modules.
    # What must be found there instead is the package that the folder belongs to, and only while it is imported.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from frameworks.python_runner.machine import collect_seldom, die_with_parent

if __name__ == "__main__":
    die_with_parent()  # before everything that takes time: a parent that ends earlier is not noticed
    collect_seldom()

import importlib

from frameworks.python_runner.engine import Engine
from frameworks.python_runner.runner import main


def load_engine(name: str) -> Engine:
    """Import an engine, `package.module:NAME`, which the harness names."""
    module, _, attribute = name.partition(":")
    engine: Engine = getattr(importlib.import_module(module), attribute)
    return engine


if __name__ == "__main__":
    engine = load_engine(sys.argv[1])
    if not __package__:
        del sys.path[0]
    raise SystemExit(main(engine, sys.argv[2:]))
