"""The Python runner as a program: a few words of shell that start this interpreter on our folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from frameworks.executorch.runners.cache import disk_errors, place
from frameworks.executorch.runners.wheel import installed, installed_wheel
from harness.core.build import Build
from harness.files.atomic import write_atomically
from harness.files.digests import sha256_of_folder, sha256_of_texts

SOURCES: Final = Path(__file__).parents[1] / "python"


def python_build(cache_dir: Path) -> Build:
    """The runner in Python: nothing to compile, and started like any other program.

    Raises:
        BuildFailed: A package it needs is not installed, or there is no place for it.
    """
    wheel = installed_wheel()
    flags = {
        "executorch": wheel.version,
        "record": wheel.record,
        "torch": installed("torch").version,
        "python": sys.version.split()[0],
        "starter": _starter(),
        "sources": sha256_of_folder(SOURCES),
    }
    digest = sha256_of_texts(flags)
    program = place(cache_dir, digest)
    if not program.exists():
        with disk_errors(cache_dir):
            write_atomically(program, _starter(), mode=0o777)
    return Build(
        source="installed",
        commit=wheel.version,
        recipe="python",
        flags=flags,
        digest=digest,
        programs={"program": program},
    )


def _starter() -> str:
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(SOURCES))} "$@"\n'
