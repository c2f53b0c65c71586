"""Index of a tree of results, with one line each, to list and choose results without reading them.

The results are the truth. The index only saves reading them all, and is mended from them when it does not list exactly
those that are there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.metric import main_metric
from harness.core.result import Outcome, Result
from harness.core.values import Value
from harness.core.verdict import Verdict
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from harness.files.open_flags import NO_WAIT
from harness.files.reading import RESULT_BYTES, read_bounded
from harness.store.canonical_json import load_result, to_json_line
from harness.store.known_devices import INDEX_FILE
from harness.store.tree import LEVELS, find_results

_LOCK_FILE: Final = ".index.lock"
_LOCK_S: Final = 10.0
"""Appending takes milliseconds; rebuilding the index of thousands of results takes seconds."""


class IndexEntry(Value):
    """Line of the index.

    Attributes:
        uid: Identifier of the result.
        time: Start of its measurement, Unix seconds.
        path: Its folder, relative to the tree, with `/`.
        model: Model name.
        identifier: Identifier of the benchmark.
        framework: Framework plug-in.
        device: Identity of the device, if there was one.
        device_name: Name of the device for people.
        commit: Commit of the build, if there was one.
        outcome: Outcome of the measurement.
        verdict: Verdict of a comparison that ended well.
        difference: Relative difference of treatment to control that it is about.
        trusted: Whether its numbers should be trusted.
        metric: Name of the main metric: see `harness.core.metric.main_metric`.
        median: Median of the main metric, in `unit`.
        unit: Unit of the main metric.
        run: Identifier of the run that reported it; empty where it is not known.
        origin: That another tool measured it, in words; empty for what the harness measured.
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
    verdict: Verdict | None = None
    difference: float | None = None
    trusted: bool
    metric: str | None = None
    median: float | None = None
    unit: str | None = None
    run: str = ""
    origin: str = ""


class ResultIndex(Struct, frozen=True):
    """Index of the results of a tree.

    Attributes:
        entries: Every result of the tree; oldest first after rebuilding.
        unreadable: Damaged result files that were left out when the index was rebuilt.
    """

    entries: tuple[IndexEntry, ...]
    unreadable: tuple[Path, ...] = ()


def read_index(folder: Path) -> ResultIndex:
    """Return the index of a tree of results, mended where it does not list exactly the results that are there.

    Lines that are missing (their process was killed after it had put the result there) are made from their results,
    those that are damaged again, and those whose results are gone are left out. Where nothing can be written, only the
    returned index is whole.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    entries = _read_entries(folder)
    places = _find_places(folder)
    if entries.keys() == places.keys():
        return ResultIndex(tuple(entries.values()))
    with contextlib.suppress(OSError):
        return _mend(folder)
    return _complete(entries, places)


def find_result(folder: Path, uid: str) -> str | None:
    """Return the folder of a result relative to the tree, by its line of the index; None where there is none.

    Reads the index as text and parses one line of it: trees of years have a hundred thousand.
    """
    return next((entry.path for entry in _search(folder, uid) if entry.uid == uid), None)


def find_device_name(folder: Path, identity: str) -> str | None:
    """Return the name of a device by its latest line in the index of a tree; None where there is none."""
    return next((entry.device_name for entry in _search(folder, identity) if entry.device == identity), None)


def find_newest_good(folder: Path, devices: Collection[str]) -> Iterator[IndexEntry]:
    """Yield the good results of devices, by their identities, newest first; none where there is no index."""
    wanted = [device.encode(errors="replace") for device in devices]
    for line in _read_lines(folder):
        if any(device in line for device in wanted):
            with contextlib.suppress(ValidationError):
                entry = IndexEntry.model_validate_json(line)
                if entry.outcome is Outcome.OK and entry.device in devices:
                    yield entry


def _search(folder: Path, text: str) -> Iterator[IndexEntry]:
    """Yield the entries whose line contains a text, latest first; none where there is no index."""
    for line in _read_lines(folder):
        if text and text.encode(errors="replace") in line:
            with contextlib.suppress(ValidationError):
                yield IndexEntry.model_validate_json(line)


def _read_lines(folder: Path) -> Iterator[bytes]:
    """Yield the lines of the index, latest first; none where there is no index."""
    with contextlib.suppress(OSError):
        yield from reversed((folder / INDEX_FILE).read_bytes().splitlines())


def rebuild_index(folder: Path) -> ResultIndex:
    """Write the index from the results, whatever state it is in.

    Raises:
        EnvironmentProblem: It cannot be written.
    """
    if not folder.is_dir():
        return ResultIndex(())
    try:
        with _index_lock(folder):
            rebuilt = _complete({}, _find_places(folder))
            _write(folder, rebuilt)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot rebuild {folder / INDEX_FILE}: {error.strerror or error}",
            hint="free disk space or fix permissions there",
        ) from error
    return rebuilt


def check_index(folder: Path) -> None:
    """Check that lines can be appended, without appending one.

    Raises:
        OSError: They cannot.
    """
    FileLock(folder / _LOCK_FILE).check()
    with contextlib.suppress(FileNotFoundError):
        os.close(os.open(folder / INDEX_FILE, os.O_WRONLY | os.O_APPEND | NO_WAIT))


def append_entry(folder: Path, entry: IndexEntry) -> None:
    """Append one line, after those of other processes.

    Raises:
        OSError: It cannot be written, or another process holds the lock for too long.
    """
    line = to_json_line(entry).encode() + b"\n"
    with _index_lock(folder), (folder / INDEX_FILE).open("a+b") as index:
        if index.tell() > 0:
            index.seek(-1, os.SEEK_END)
            # A line that a crash or a full disk cut must not swallow this one.
            line = line if index.read(1) == b"\n" else b"\n" + line
        index.write(line)


def build_entry(result: Result, path: Path) -> IndexEntry:
    """Build the line of a result in the folder `path`, relative to the tree."""
    device, main, comparison = result.device, main_metric(result.metrics), result.comparison
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
        verdict=result.verdict,
        difference=comparison.difference if comparison is not None and result.verdict is not None else None,
        trusted=result.trusted,
        metric=main.name if main is not None else None,
        median=main.median if main is not None else None,
        unit=main.unit if main is not None else None,
        run=result.run,
        origin=result.origin.words if result.origin is not None else "",
    )


def _read_entries(folder: Path) -> dict[str, IndexEntry]:
    """Return the lines that can be read, by the folder of the result, which may be listed twice."""
    index = folder / INDEX_FILE
    try:
        lines = read_bounded(index, RESULT_BYTES).splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EnvironmentProblem(f"cannot read {index}: {error.strerror or error}") from error
    entries: dict[str, IndexEntry] = {}
    for line in lines:
        with contextlib.suppress(ValidationError):
            entry = IndexEntry.model_validate_json(line)
            entries[entry.path] = entry
    return entries


def _find_places(folder: Path) -> dict[str, Path]:
    """Return the file of every result, by its folder relative to the tree."""
    return {file.parent.relative_to(folder).as_posix(): file for file in find_results(folder, LEVELS)}


def _mend(folder: Path) -> ResultIndex:
    """Complete the index and write it, while no other process appends to it."""
    with _index_lock(folder):
        entries = _read_entries(folder)
        mended = _complete(entries, _find_places(folder))
        if {entry.path for entry in mended.entries} != entries.keys():  # damaged results stay left out
            _write(folder, mended)
    return mended


def _complete(known: Mapping[str, IndexEntry], places: Mapping[str, Path]) -> ResultIndex:
    """Return entries of all results that are there; those that are not known are made from their results."""
    entries: list[IndexEntry] = []
    unreadable: list[Path] = []
    for place, file in places.items():
        try:
            entries.append(known.get(place) or build_entry(load_result(file), Path(place)))
        except EnvironmentProblem:
            unreadable.append(file)
    entries.sort(key=lambda entry: (entry.time, entry.path))
    return ResultIndex(tuple(entries), tuple(sorted(unreadable)))


def _write(folder: Path, index: ResultIndex) -> None:
    lines = "".join(to_json_line(entry) + "\n" for entry in index.entries)
    write_atomically(folder / INDEX_FILE, lines, durable=True)


@contextlib.contextmanager
def _index_lock(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / _LOCK_FILE)
    if not lock.acquire(_LOCK_S):
        raise TimeoutError(f"another process has held {lock.path} for {_LOCK_S:g} s")
    with lock:
        yield
