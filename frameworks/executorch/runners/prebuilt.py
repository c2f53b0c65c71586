"""Programs that the user gave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.files.digests import sha256_of_file, sha256_of_texts


def prebuilt_build(programs: Mapping[str, Path]) -> Build:
    """The programs as they are; `program` is the runner. Ours, or upstream's with `commands` of its own.

    Raises:
        BuildFailed: A program is missing or cannot be executed.
    """
    for name, path in programs.items():
        if not path.is_file():
            raise BuildFailed(f"program `{name}` is not there: {path}", hint="check the path given with --program")
        if path.suffix != ".apk" and not os.access(path, os.X_OK):
            raise BuildFailed(f"program `{name}` cannot be executed: {path}", hint=f"chmod +x {path}")
    flags = {name: sha256_of_file(path) for name, path in sorted(programs.items())}
    digest = sha256_of_texts(flags)
    return Build(
        source="prebuilt",
        commit=flags.get("program", digest)[:12],
        recipe="prebuilt",
        flags=flags,
        digest=digest,
        programs=dict(programs),
    )
