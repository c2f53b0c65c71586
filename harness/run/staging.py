"""Bringing the files of one job to the device: what the cache has, and what steps on the host have just made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harness.core.benchmark import Benchmark, ModelFile
from harness.core.errors import BenchmarkFailed
from harness.core.files import CachedFile
from harness.core.measurement import Job
from harness.core.protocols import Session, Staged
from harness.files.digests import md5_of_file
from harness.run.placeholder_values import Names


def made_files(benchmark: Benchmark, names: Names) -> dict[str, CachedFile]:
    """The files that steps before this launch had to make, by key.

    Raises:
        BenchmarkFailed: One of them is not there, or is not what the specification promises.
    """
    wanted = (file for file in (*benchmark.files, *benchmark.input_files) if file.is_generated)
    return {file.key: made_file(file, names) for file in wanted}


def stage(job: Job, made: Mapping[str, CachedFile], session: Session) -> Staged:
    """A fresh folder on the device with every file of the job.

    Returns:
        The folder, with files by key.

    Raises:
        BenchmarkFailed: Two different files have one name.
    """
    files = {**job.files, **made}
    wanted = (*job.benchmark.files, *job.benchmark.input_files)
    by_name: dict[str, str] = {}
    for file in wanted:
        other = by_name.setdefault(file.filename, file.key)
        if files[other].md5 != files[file.key].md5:
            raise BenchmarkFailed(
                f"{{{other}}} and {{{file.key}}} are different files with the same name {file.filename}",
                hint="give one of them another `filename`",
            )
    staged = session.stage({name: files[key].path for name, key in by_name.items()}, job.build.programs)
    return replace(staged, files={file.key: staged.files[file.filename] for file in wanted})


def made_file(file: ModelFile, names: Names) -> CachedFile:
    """One file that is known only now: a step made it, or it lies in a folder that has its place only now.

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
            f"{{{file.key}}}: {path} has MD5 {md5} and not {file.md5}",
            hint=f"a file that is made anew needs no `md5` ({file.origin})",
        )
    return CachedFile(
        key=file.key, filename=file.filename, path=path, md5=md5, size_bytes=path.stat().st_size, source=str(path)
    )
