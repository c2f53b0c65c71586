"""Build of the Python runner: a script that starts this interpreter with the engine of a framework.

It is a script of the shell, or one of Python where the system starts no scripts (Windows): there `harness.shell` starts
it by this interpreter.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

from frameworks import packages
from frameworks.runner_cache import disk_errors, runner_path
from harness import shell
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.files.atomic import write_atomically
from harness.files.digests import sha256_of_folder, sha256_of_texts

KIT: Final = Path(__file__).parent / "python_runner"
"""Sources that the runners of all frameworks share."""

_PYTHON_SCRIPT: Final = """import runpy
import sys

words = {words!r}
del sys.path[0]  # the folder of this script
sys.argv[:] = [*words, *sys.argv[1:]]
runpy.run_path(words[0], run_name="__main__")
"""


def python_build(
    cache_dir: Path,
    engine: str,
    sources: Path,
    required: Sequence[str],
    *,
    extras: Mapping[str, str] | None = None,
    program: Path | None = None,
) -> Build:
    """Return the Python runner of a framework.

    Args:
        cache_dir: Where runners are kept.
        engine: Its engine: `package.module:NAME`; empty for a program of its own.
        sources: File or folder of the engine's sources.
        required: Packages that it imports; the version of the first is the commit of the build.
        program: Folder of a program of its own, which is started instead of the runner with the engine.
        extras: Extra that brings a package, where it is not that of `frameworks.packages.EXTRAS`.

    Raises:
        BuildFailed: A package is not installed, or the script cannot be written.
    """
    first, *others = (installed_distribution(package, extras) for package in required)
    suffix, script = _script([str(KIT), engine] if program is None else [str(program)])
    flags = {
        required[0]: first.version,
        "record": hashlib.sha256((first.read_text("RECORD") or "").encode()).hexdigest(),
        **{package: distribution.version for package, distribution in zip(required[1:], others, strict=True)},
        "python": sys.version.split()[0],
        "starter": script,
        "sources": sha256_of_folder(sources),
        "kit": sha256_of_folder(KIT),
    }
    digest = sha256_of_texts(flags)
    starter = runner_path(cache_dir, digest).with_suffix(suffix)
    if not starter.exists():
        with disk_errors(cache_dir):
            write_atomically(starter, script, mode=0o777)
    return Build(
        source="installed",
        commit=first.version,
        recipe="python",
        flags=flags,
        digest=digest,
        programs={"program": starter},
    )


def _script(words: Sequence[str]) -> tuple[str, str]:
    """Return the suffix and the text of the script that starts the interpreter with words."""
    if shell.STARTS_SCRIPTS:
        quoted = " ".join(map(shlex.quote, (sys.executable, *words)))
        return "", f'#!/bin/sh\nexec {quoted} "$@"\n'
    return shell.PYTHON_SUFFIX, _PYTHON_SCRIPT.format(words=[*words])


def installed_distribution(package: str, extras: Mapping[str, str] | None = None) -> metadata.Distribution:
    """Return the metadata of an installed package.

    Raises:
        BuildFailed: It is not installed.
    """
    try:
        return metadata.distribution(package)
    except metadata.PackageNotFoundError as error:
        hint = packages.install_command(package, extras=extras)
        raise BuildFailed(f"{package} is not installed", hint=hint) from error
