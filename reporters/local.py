"""Keep every result in a tree of folders, one folder per result, with an index beside it. Always on.

    <folder>/<device>/<framework>/<model>/<metric>/<identifier>/<YYYY>/<MM>/<DD>/<commit>/<n>/
        result.json         the canonical result, pretty
        logs/<name>.txt     what each launch wrote
    <folder>/index.jsonl    one line per result: `IndexEntry`

The hierarchy is FAI-PEP's. The date is the commit's (UTC), or that of the measurement where the build has no commit
time. A numbered folder that exists is whole, and is never written again. The results are the truth: the index only
saves reading them all, and is made again from them when it is lost or damaged.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from filelock import FileLock
from pydantic import ValidationError
from pydantic.main import IncEx
from pydantic_core import PydanticSerializationError

from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.metric import Metric
from harness.core.protocols import Reporter
from harness.core.result import Outcome, RawLog, Report, Result
from harness.core.values import Value
from harness.settings import Settings

RESULT_FILE: Final = "result.json"
INDEX_FILE: Final = "index.jsonl"

_LOCK_FILE: Final = ".index.lock"
_LOCK_S: Final = 10.0
"""Appending takes milliseconds; making the index of thousands of results again takes seconds."""

_RESULTS: Final = "/".join(["[!.]*"] * 10 + [RESULT_FILE])
"""Every result below the folder; names with a leading dot are drafts."""

_LONGEST: Final = 120
"""Characters of a segment. File systems allow 255, but ten segments must also fit a path (1024 on macOS)."""

_DIGEST: Final = 32
"""Hexadecimal digits (128 bits) that tell apart names whose shortened forms are equal."""

_YEAR_10000: Final = 253_402_300_800
"""Unix seconds; no commit time from here on has a calendar date."""

_TAKEN: Final = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""What renaming a folder onto something that exists says (rename(2))."""


class IndexEntry(Value):
    """One line of the index: enough to list and to choose results without reading them.

    Attributes:
        uid: The result's.
        time: When its measurement began, Unix seconds.
        path: Its folder, relative to the tree, with `/`.
        model: Model name.
        identifier: The benchmark's identifier.
        framework: Framework plug-in.
        device: The device's identity, if there was one.
        device_name: What a person calls it.
        commit: Of the build, if there was one.
        outcome: How it ended.
        trusted: Whether its numbers should be believed.
        metric: Name of the main metric: `NET latency`, else the first that has a median.
        median: Its median, in `unit`.
        unit: Its unit.
    """

    uid: str
    time: float
    path: str
    model: str
    identifier: str
    framework: str
    device: str | None = None
    device_name: str | None = None
    commit: str | None = None
    outcome: Outcome
    trusted: bool
    metric: str | None = None
    median: float | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """An index made again.

    Attributes:
        entries: Every result of the tree, oldest first.
        unreadable: Result files that no longer are what they were; the index leaves them out.
    """

    entries: tuple[IndexEntry, ...]
    unreadable: tuple[Path, ...] = ()


class LocalReporter:
    """Keeps results below one folder, which several processes may share."""

    name = "local"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def report(self, report: Report) -> str:
        """Keep one result with its logs; returns its folder."""
        files = {RESULT_FILE: pretty(report.result) + "\n", **_log_files(report.logs)}
        try:
            place = publish(self._folder / _branch(report.result), files)
        except OSError as error:
            raise ReporterFailed(
                f"cannot keep the result in {self._folder}: {error.strerror or error}",
                hint="make room or permission there, or name another folder with --local_reporter",
            ) from error
        try:
            _append(self._folder, _entry(report.result, place.relative_to(self._folder)))
        except OSError as error:
            raise ReporterFailed(
                f"the result is kept in {place}, but {self._folder / INDEX_FILE} cannot be written: "
                f"{error.strerror or error}",
                hint=f"remove {INDEX_FILE} once it can be written: it is then made again from the results",
            ) from error
        return str(place)

    def close(self) -> None:
        """Nothing is left to tell."""


def create(settings: Settings) -> Reporter:
    """The reporter for `--local_reporter`, or for the user's data folder."""
    return LocalReporter(settings.local_reporter)


def load(path: Path) -> Result:
    """Read a result back.

    Args:
        path: The result's folder, or the file in it.

    Raises:
        EnvironmentProblem: There is none, or it is not a result of this format.
    """
    file = path / RESULT_FILE if path.is_dir() else path
    try:
        return Result.model_validate_json(file.read_bytes())
    except OSError as error:
        raise EnvironmentProblem(f"cannot read the result {file}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the whole file"
        raise EnvironmentProblem(
            f"{file} is not a result that this version understands: {where}: {first['msg']}",
            hint="it was written by another version, or changed or cut afterwards",
        ) from error


def read_index(folder: Path) -> tuple[IndexEntry, ...]:
    """What the tree holds, each result once; an index that is missing or damaged is made again first.

    Raises:
        EnvironmentProblem: It cannot be read, or not be made again.
    """
    index = folder / INDEX_FILE
    try:
        lines = index.read_bytes().splitlines()
        entries = [IndexEntry.model_validate_json(line) for line in lines if line.strip()]
    except (FileNotFoundError, ValidationError):
        return rebuild_index(folder).entries
    except OSError as error:
        raise EnvironmentProblem(f"cannot read {index}: {error.strerror or error}") from error
    # A result that another process published while the index was being made again is there twice.
    return tuple({entry.path: entry for entry in entries}.values())


def rebuild_index(folder: Path) -> Rebuilt:
    """Make the index again from the results, whatever became of it.

    Raises:
        EnvironmentProblem: It cannot be written.
    """
    if not folder.is_dir():
        return Rebuilt(())
    try:
        with _index_lock(folder):
            rebuilt = _scan(folder)
            draft = folder / f".{INDEX_FILE}.{uuid.uuid4().hex}"
            _write(draft, "".join(one_line(entry) + "\n" for entry in rebuilt.entries))
            draft.replace(folder / INDEX_FILE)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot make {folder / INDEX_FILE} again: {error.strerror or error}", hint="make room or permission there"
        ) from error
    return rebuilt


def segment(name: str) -> str:
    """A name as one segment of a path: different names never become the same one.

    Letters, digits and `_.-~+=,@` stay; all else is percent-encoded (RFC 3986) as UTF-8, and so is a leading dot, which
    would hide the file or mean a folder. `%empty` and the `%-` before the digest of a shortened name are no such codes.
    """
    safe = quote(name, safe="+=,@", errors="surrogatepass") or "%empty"
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) <= _LONGEST:
        return safe
    digest = sha256(safe.encode()).hexdigest()[:_DIGEST]
    return f"{safe[: _LONGEST - _DIGEST - 2]}%-{digest}"


def publish(parent: Path, files: Mapping[str, str]) -> Path:
    """Put files into a new numbered folder below `parent`: all of them or none, and never two callers into one.

    Args:
        parent: Made if missing.
        files: Text by relative path; at least one.

    Returns:
        The folder, `<parent>/0`, `<parent>/1`, ...

    Raises:
        OSError: As the file system says.
    """
    draft = parent / f".{uuid.uuid4().hex}"
    draft.mkdir(parents=True)
    try:
        for name, text in files.items():
            _write(draft / name, text)
        return _claim(draft)
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone already when it was renamed


def pretty(value: Value) -> str:
    """Canonical JSON for people, over several lines."""
    return _dump(value, indent=2)


def one_line(value: Value, *, exclude: IncEx | None = None) -> str:
    """Canonical JSON on one line of ASCII, for any terminal and any reader of lines."""
    return _dump(value, ascii_only=True, exclude=exclude)


def _dump(value: Value, *, indent: int | None = None, ascii_only: bool = False, exclude: IncEx | None = None) -> str:
    try:
        return value.model_dump_json(indent=indent, ensure_ascii=ascii_only, exclude=exclude)
    except PydanticSerializationError as error:  # lone surrogates: how Python shows file names that are not UTF-8
        raise ReporterFailed(
            f"the result has no JSON form: {error}", hint="rename files whose names are not UTF-8"
        ) from error


def _branch(result: Result) -> Path:
    info, build = result.benchmark, result.build
    commit = build.commit if build is not None else ""
    seconds = build.commit_time if build is not None and build.commit_time is not None else result.started
    # A commit may claim any time at all; it must not cost the result.
    date = datetime.fromtimestamp(min(max(seconds, 0), _YEAR_10000 - 1), UTC)
    subject = (_device_name(result.device), info.framework, info.model, info.metric, info.identifier)
    names = (*subject, *f"{date:%Y/%m/%d}".split("/"), commit or "no-commit")
    return Path(*map(segment, names))


def _device_name(device: Device | None) -> str:
    """What its folder is called; never empty, and never FAI-PEP's `null`, where all devices met."""
    if device is None:
        return "no-device"
    names = (device.name, device.kind, device.platform, device.identity)
    return next((name for name in names if name.strip() not in ("", "null")), "no-device")


def _log_files(logs: Iterable[RawLog]) -> dict[str, str]:
    files: dict[str, str] = {}
    for log in logs:
        name, again = f"logs/{segment(log.name)}.txt", 1
        while name in files:
            again += 1
            name = f"logs/{segment(log.name)}%-{again}.txt"
        files[name] = log.text
    return files


def _claim(draft: Path) -> Path:
    """Rename a finished folder to the next free number beside it; renaming decides between processes."""
    parent = draft.parent
    used = (int(path.name) for path in parent.iterdir() if path.name.isdecimal())
    number = 1 + max(used, default=-1)
    while True:
        try:
            return draft.rename(parent / str(number))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        number += 1


def _write(path: Path, text: str) -> None:
    """Write a file and see it onto the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(text.encode(errors="backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def _index_lock(folder: Path) -> FileLock:
    return FileLock(folder / _LOCK_FILE, timeout=_LOCK_S)


def _append(folder: Path, entry: IndexEntry) -> None:
    line = one_line(entry).encode() + b"\n"
    with _index_lock(folder), (folder / INDEX_FILE).open("a+b") as index:
        if index.tell() > 0:
            index.seek(-1, os.SEEK_END)
            # A line that a crash or a full disk cut must not swallow this one.
            line = line if index.read(1) == b"\n" else b"\n" + line
        index.write(line)


def _entry(result: Result, path: Path) -> IndexEntry:
    device, main = result.device, _main_metric(result)
    return IndexEntry(
        uid=result.uid,
        time=result.started,
        path=path.as_posix(),
        model=result.benchmark.model,
        identifier=result.benchmark.identifier,
        framework=result.benchmark.framework,
        device=device.identity if device is not None else None,
        device_name=device.name if device is not None else None,
        commit=result.build.commit if result.build is not None else None,
        outcome=result.outcome,
        trusted=result.trusted,
        metric=main.name if main is not None else None,
        median=main.summary.get("p50") if main is not None else None,
        unit=main.unit if main is not None else None,
    )


def _main_metric(result: Result) -> Metric | None:
    with_median = (metric for metric in result.metrics if metric.summary.get("p50") is not None)
    return result.metric("NET latency") or next(with_median, None)


def _scan(folder: Path) -> Rebuilt:
    entries: list[IndexEntry] = []
    unreadable: list[Path] = []
    for file in folder.glob(_RESULTS):
        try:
            entries.append(_entry(load(file), file.parent.relative_to(folder)))
        except EnvironmentProblem:
            unreadable.append(file)
    entries.sort(key=lambda entry: (entry.time, entry.path))
    return Rebuilt(tuple(entries), tuple(sorted(unreadable)))
