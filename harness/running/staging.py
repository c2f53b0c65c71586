"""Work on the host around a launch: the steps of a specification, and bringing the files of a job to the device."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from harness import shell
from harness.core.benchmark import Benchmark, HostStep, ModelFile
from harness.core.cached_files import CachedFile
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.core.generation import PROMPT
from harness.core.measurement import Job
from harness.core.placeholders import find_placeholders
from harness.core.protocols import Session, Staged
from harness.files.digests import md5_of_file
from harness.running.placeholder_values import PlaceholderValues, escape_paths


def run_step(
    name: str,
    step: HostStep,
    names: PlaceholderValues,
    files: Mapping[str, CachedFile],
    *,
    scratch: Path,
    env: Mapping[str, str],
    timeout_s: float,
) -> tuple[Completed, ...]:
    """Run the commands of one step on the host in order, in the scratch folder.

    Args:
        name: Name of the step in messages.
        step: Its commands and files.
        names: Placeholders on the host.
        files: The cached files, by key.
        scratch: Working directory.
        env: The benchmark's environment.
        timeout_s: Limit of each command, unless the step has its own.

    Raises:
        BenchmarkFailed: A command failed; the benchmark must not go on with half-made inputs.
    """
    own = {file.key: str(_place_file(file, names, files, scratch / name)) for file in step.files}
    names = replace(names, paths={**names.paths, **escape_paths(own)})
    # A variable that names the device's folder is for programs on the device.
    env = {key: names.text(value) for key, value in env.items() if "TGTDIR" not in find_placeholders(value)}
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


def find_made_files(benchmark: Benchmark, names: PlaceholderValues) -> dict[str, CachedFile]:
    """Find the files that steps before this launch had to make, by key.

    Raises:
        BenchmarkFailed: One of them is not there, or is not what the specification promises.
    """
    wanted = (file for file in (*benchmark.files, *benchmark.input_files) if file.is_generated)
    return {file.key: find_made_file(file, names) for file in wanted}


def stage(
    job: Job, made: Mapping[str, CachedFile], session: Session, further: Mapping[str, Path] = MappingProxyType({})
) -> Staged:
    """Stage every file of a job in a fresh folder on the device.

    Args:
        job: The job.
        made: Files that steps on the host made, by key.
        session: The locked device.
        further: Further files by name.

    Returns:
        The folder, with files by key, and further ones by name.

    Raises:
        BenchmarkFailed: Two different files have one name.
    """
    files = {**job.files, **made}
    wanted = (*job.benchmark.files, *job.benchmark.input_files)
    by_name: dict[str, str] = {}
    for file in wanted:
        first = by_name.setdefault(file.filename, file.key)
        if files[first].md5 != files[file.key].md5:
            raise BenchmarkFailed(
                f"{{{first}}} and {{{file.key}}} are different files with the same name {file.filename}",
                hint="give one of them another `filename`",
            )
    own = {name: files[key].path for name, key in by_name.items()}
    prompt = {PROMPT: job.files[PROMPT].path} if PROMPT in job.files else {}
    staged = session.stage({**own, **prompt, **further}, job.build.programs)
    by_key = {file.key: staged.files[file.filename] for file in wanted}
    by_key |= {name: staged.files[name] for name in prompt}
    return replace(staged, files={**by_key, **{name: staged.files[name] for name in further}})


def find_made_file(file: ModelFile, names: PlaceholderValues) -> CachedFile:
    """Find a file that is known only now: a step made it, or it lies in a folder that has its place only now.

    Raises:
        BenchmarkFailed: It is not there, or is not what the specification promises.
    """
    path = Path(names.text(file.location or ""))
    if not path.is_file():
        raise BenchmarkFailed(
            f"{{{file.key}}}: there is no {path}, and no step has made it", hint=f"see `preprocess` ({file.origin})"
        )
    md5 = md5_of_file(path)
    if file.md5 is not None and md5 != file.md5:
        raise BenchmarkFailed(
            f"{{{file.key}}}: {path} has MD5 {md5}, not {file.md5}",
            hint=f"a file that is made for each launch needs no `md5` ({file.origin})",
        )
    return CachedFile(
        key=file.key, filename=file.filename, path=path, md5=md5, size_bytes=path.stat().st_size, source=str(path)
    )


def _place_file(file: ModelFile, names: PlaceholderValues, cached: Mapping[str, CachedFile], folder: Path) -> Path:
    """Return the place of a step's file: an executable copy, because nobody else's file is changed.

    A file that a step made and that is executable stays in its place: a script may need its neighbours. So do folders.
    """
    copy = folder / file.filename
    path = find_made_file(file, names).path if file.is_generated else cached[file.key].path
    if path.is_dir() or (file.is_generated and os.access(path, os.X_OK)):
        return path
    if file.is_generated or not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        copy.chmod(0o755)
    return copy
