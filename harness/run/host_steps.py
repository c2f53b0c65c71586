"""Commands that a specification runs on the host around a benchmark: preparing inputs, judging outputs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness import shell
from harness.core.benchmark import HostStep, ModelFile
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.core.files import CachedFile
from harness.core.placeholders import find_placeholders
from harness.run.placeholder_values import Names, literal
from harness.run.staging import made_file


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
    own = {file.key: str(_placed(file, names, files, scratch / name)) for file in step.files}
    names = replace(names, paths={**names.paths, **literal(own)})
    # What speaks of the device's folder is for programs on the device.
    env = {name: names.text(value) for name, value in env.items() if "TGTDIR" not in find_placeholders(value)}
    done = []
    for template in step.commands:
        argv = names.words(template)
        if not argv:
            continue
        command = Command(argv, env=env, timeout_s=step.timeout_s or timeout_s, cwd=scratch)
        completed = shell.run(shell.kill_with_harness(command))
        if not completed.ok:
            raise BenchmarkFailed(f"{name}: `{' '.join(argv)}` {completed.describe()}")
        done.append(completed)
    return tuple(done)


def _placed(file: ModelFile, names: Names, cached: Mapping[str, CachedFile], folder: Path) -> Path:
    """Where a step finds its file: a copy that may be started, because nobody else's file is changed.

    What is known only now and may be started stays in its place: a script may need its neighbours. So do folders.
    """
    copy = folder / file.filename
    path = made_file(file, names).path if file.is_generated else cached[file.key].path
    if path.is_dir() or (file.is_generated and os.access(path, os.X_OK)):
        return path
    if file.is_generated or not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
    return copy
