"""Commands that a specification runs on the host around a benchmark: preparing inputs, judging outputs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness import shell
from harness.core.benchmark import HostStep
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.core.files import CachedFile
from harness.core.placeholders import names_in
from harness.run.names import Names


def run_step(
    name: str,
    step: HostStep,
    names: Names,
    files: Mapping[str, CachedFile],
    *,
    scratch: Path,
    env: Mapping[str, str],
    timeout_s: float,
) -> tuple[Completed, ...]:
    """Run the commands of one step in order, in the scratch folder.

    Args:
        name: What the step is called in messages.
        step: Its commands and files.
        names: Placeholders on the host.
        files: The cached files, by key.
        scratch: Working directory.
        env: The benchmark's environment.
        timeout_s: Limit of each command, unless the step has its own.

    Raises:
        BenchmarkFailed: A command failed; the benchmark must not go on with half-made inputs.
    """
    programs = {file.key: str(_executable(files[file.key].path, scratch / name)) for file in step.files}
    names = replace(names, paths={**names.paths, **programs})
    # What speaks of the device's folder is for programs on the device.
    env = {name: names.text(value) for name, value in env.items() if "TGTDIR" not in names_in(value)}
    done = []
    for template in step.commands:
        argv = names.words(template)
        if not argv:
            continue
        completed = shell.run(Command(argv, env=env, timeout_s=step.timeout_s or timeout_s, cwd=scratch))
        if not completed.ok:
            raise BenchmarkFailed(f"{name}: `{' '.join(argv)}` {completed.describe()}")
        done.append(completed)
    return tuple(done)


def _executable(path: Path, folder: Path) -> Path:
    """A copy that may be started; the cache's own files stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    if not copy.exists():
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
    return copy
