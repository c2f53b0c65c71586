"""Start of the runner when Python is given its folder."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    # Given the folder, Python puts it first on its path, where our file names would hide other people's modules.
    # What must be found there instead is the package that the folder belongs to, and only while it is imported.
    sys.path[0] = str(Path(__file__).resolve().parents[3])

from frameworks.python_runner.machine import die_with_parent

if __name__ == "__main__":
    die_with_parent()  # before everything that takes time: a parent that ends earlier is not noticed

from frameworks.executorch.python.runner import main

if not __package__:
    del sys.path[0]

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
