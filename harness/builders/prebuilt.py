"""Programs that the user gives: copied into the cache, so that two of them differ in nothing but themselves.

The length of a program's path moves its stack, which alone can change its speed by some per cent (Mytkowicz et al.,
"Producing wrong data without doing anything obviously wrong!", ASPLOS 2009). In the cache all paths are equally long.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.builders.cache import BuildCache
from harness.builders.records import RUNNER, BuildKey
from harness.builders.workdirs import Workshop
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_file, sha256_of_texts

_RECIPE: Final = "prebuilt"

_BESIDE: Final = (b"$ORIGIN", b"@loader_path", b"@executable_path", b"@rpath")
"""How programs name the folder they are in, in their search paths for libraries (ld.so(8), dyld(1))."""


def prebuilt(programs: Mapping[str, Path], cache: BuildCache, progress: Progress) -> Build:
    """A build of programs that are there already; `program` is the runner.

    They are copied, unless one of them looks for libraries relative to itself: then all are used where they are.

    Args:
        programs: Path of each by placeholder.
        cache: Where the copies are kept; it must stay open as long as they are used.
        progress: Told when they are not copied.

    Raises:
        BuildFailed: One is missing, cannot be executed or cannot be read; or none is the runner.
    """
    _check(programs)
    try:
        flags = {name: sha256_of_file(path) for name, path in sorted(programs.items())}
        rooted = [path for path in programs.values() if _looks_beside_itself(path)]
    except OSError as error:
        raise BuildFailed(f"a program cannot be read: {error}", hint="check its permissions") from error
    commit, digest = flags[RUNNER][:12], sha256_of_texts(flags)
    if rooted:
        progress.say(f"{rooted[0]} looks for libraries relative to itself, so it is used where it is")
        # What lies beside it belongs to it: equal programs in two folders need not be the same runner.
        digest = sha256_of_texts({**flags, "place": str(rooted[0].absolute().parent)})
        return Build(
            source=_RECIPE,
            commit=commit,
            recipe=_RECIPE,
            flags=flags,
            digest=digest,
            programs={name: path.absolute() for name, path in programs.items()},
        )
    key = BuildKey(
        source=_RECIPE, commit=commit, recipe=_RECIPE, recipe_digest=digest, platform="", machine="", toolchain=""
    )

    def copy(workshop: Workshop) -> None:
        for name, path in programs.items():
            shutil.copyfile(path, workshop.programs / name)
            (workshop.programs / name).chmod(0o755)
            if sha256_of_file(workshop.programs / name) != flags[name]:
                raise BuildFailed(
                    f"{path} changed while it was copied", hint="wait until it is finished, and try again"
                )

    return cache.get_or_build(key, copy, progress=progress, flags=flags, force=True)


def _check(programs: Mapping[str, Path]) -> None:
    if RUNNER not in programs:
        raise BuildFailed(f"no program is named `{RUNNER}`", hint="--program program=PATH, or --program PATH")
    for name, path in programs.items():
        if not path.is_file():
            raise BuildFailed(f"program `{name}` is not there: {path}", hint="check the path given with --program")
        if path.suffix != ".apk" and not os.access(path, os.X_OK):
            raise BuildFailed(f"program `{name}` cannot be executed: {path}", hint=f"chmod +x {path}")


def _looks_beside_itself(path: Path) -> bool:
    content = path.read_bytes()
    return any(word in content for word in _BESIDE)
