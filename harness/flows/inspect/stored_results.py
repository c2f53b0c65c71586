"""Stored results, found in the tree or below a folder and selected by time, device, commit and name."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.build import NO_PROGRAM
from harness.core.commit import short_id
from harness.core.device_doubt import DeviceDoubt, mark_doubts
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.patterns import matches_pattern
from harness.core.result import Result
from harness.core.scalars import format_scalar
from harness.presentation.text import make_printable
from harness.store.canonical_json import RESULT_FILE, load_result
from harness.store.doubts import read_doubts
from harness.store.index import IndexEntry, build_entry, read_index
from harness.store.search_answers import has_answer
from harness.store.tree import find_results

LAST: Final = "LAST"
"""Names the last run, or the run before."""

_NAMED: Final = 8
"""Benchmarks, devices or commits that are named where none was selected."""

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_TIME: Final = re.compile(r"\d\d:\d\d(:\d\d)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class ResultFilter(Struct, frozen=True):
    """Selection among stored results; each condition that is given must hold.

    Attributes:
        only: Patterns of benchmarks, of which one must match: as of `--only`, but without tags, which no result has.
        since: Earliest start of the measurement, in Unix seconds.
        last_run: Whether to keep the results of the last run only.
        devices: Identities or names of devices.
        commit: Beginning of the id of the build's commit, or the name that it was asked for by.
    """

    only: tuple[str, ...] = ()
    since: float | None = None
    last_run: bool = False
    devices: tuple[str, ...] = ()
    commit: str | None = None

    def __post_init__(self) -> None:
        tagged = [pattern for pattern in self.only if pattern.startswith("tag:")]
        if tagged:
            raise UsageError(f"--only {tagged[0]}: results have no tags", hint="name benchmarks, models or axes")

    @property
    def selects_names(self) -> bool:
        """Return whether benchmarks, devices or a commit are named."""
        return bool(self.only or self.devices or self.commit is not None)

    def __str__(self) -> str:
        """The conditions as flags."""
        commit = () if self.commit is None else (self.commit,)
        named = {"--only": self.only, "--device": self.devices, "--commit": commit}
        flags = ", ".join(shlex.join((flag, *names)) for flag, names in named.items() if names)
        return " ".join(filter(None, (flags, "in the last run" if self.last_run else "")))

    def accepts(self, result: Result) -> bool:
        """Return whether a result is selected, as far as it decides alone: `last_run` is about all."""
        if self.since is not None and result.started < self.since:
            return False
        if self.devices and (result.device is None or result.device.names.isdisjoint(self.devices)):
            return False
        if self.commit is not None and not _is_of_commit(result, self.commit):
            return False
        return not self.only or any(_matches(pattern, result) for pattern in self.only)


EVERYTHING: Final = ResultFilter()
"""Selection of all results."""


class StoredResult(Struct, frozen=True):
    """A result and the file that it is stored in."""

    result: Result
    file: Path

    @property
    def place(self) -> Path:
        """Its folder."""
        return self.file.parent


class StoredResults:
    """Stored results, oldest first, loaded one after the other: trees of years do not fit in memory.

    Args:
        path: File or folder of a result, or any folder above some, also relative to the tree; None for all of the tree.
        tree: The tree of results.
        selection: Which results.

    Attributes:
        unreadable: Damaged files that were found while the results were loaded.
        loaded: Number of results that could be read, selected or not.

    Raises:
        UsageError: There is no result at the path.
        EnvironmentProblem: The index, or the only folder or file, cannot be read.
    """

    def __init__(self, path: Path | None, tree: Path, selection: ResultFilter = EVERYTHING) -> None:
        self.unreadable: list[EnvironmentProblem] = []
        self.loaded = 0
        self._selection = selection
        self._doubts = self._read_doubts(tree if path is None else path, tree)
        if path is None:
            self._entries = self._list_tree(tree)
        else:
            self._entries = self._list_files(self._find_files(path, tree))
        if selection.last_run and self._entries:
            newest, _ = self._entries[-1]
            self._entries = [(entry, file) for entry, file in self._entries if _is_same_run(entry, newest)]

    @property
    def entries(self) -> list[IndexEntry]:
        """What the index has about them, oldest first; not yet selected but by time and run."""
        return [entry for entry, _ in self._entries]

    @property
    def is_damaged(self) -> bool:
        """Whether no result could be read, so that nobody knows whether any would be selected."""
        return bool(self.unreadable) and not self.loaded

    def explain_none(self, where: str = "") -> EnvironmentProblem | UsageError:
        """Return the error of a command that needs a result and got none: damage, or that nothing was selected.

        Args:
            where: Words that follow "no such result".
        """
        if self.is_damaged:
            return self.unreadable[0]
        conditions = str(self._selection) if self._selection.selects_names else ""
        hints = [self.hint_at_others() if conditions else None, *(problem.message for problem in self.unreadable)]
        listed = "`harness report` lists the latest results and their folders"
        return UsageError(
            f"no such result{where}{': ' if conditions else ''}{conditions}",
            hint="; ".join(filter(None, hints)) or listed,
        )

    def hint_at_others(self) -> str | None:
        """Name what is there instead of the devices, the commit or else the benchmarks that were asked for."""
        entries, selection = self.entries[::-1], self._selection
        hints = []
        devices = {name for entry in entries for name in (entry.device, entry.device_name)}
        if selection.devices and devices.isdisjoint(selection.devices):
            hints.append(_name("devices", (entry.device_name or entry.device or "" for entry in entries)))
        commits = [entry.commit or "" for entry in entries]
        if selection.commit is not None and not any(commit.startswith(selection.commit) for commit in commits):
            hints.append(_name("commits", (short_id(commit) for commit in commits if commit != NO_PROGRAM)))
        if selection.only or not hints:
            hints.append(_name("benchmarks", (f"{entry.model}/{entry.identifier}" for entry in entries)))
        return "; ".join(filter(None, hints)) or None

    def fold_searches(self, tree: Path) -> dict[str, int]:
        """Leave out the steps of each search but the newest; return their number by its uid.

        Only of searches that gave an answer: comparisons of one that was interrupted are all that there is of it.
        """
        counts = Counter(entry.run for entry, _ in self._entries)
        searches = {run for run, count in counts.items() if count > 1 and has_answer(tree, run)}
        newest = {entry.run: entry.uid for entry, _ in self._entries if entry.run in searches}
        self._entries = [
            (entry, file) for entry, file in self._entries if newest.get(entry.run, entry.uid) == entry.uid
        ]
        return {uid: counts[run] for run, uid in newest.items()}

    def list_newest(self, count: int) -> list[IndexEntry]:
        """Return the newest of the entries, marked where their devices are in doubt; damaged ones are left out."""
        marked = []
        for entry, file in self._entries[-count:]:
            if (result := self._read(file)) is not None:
                trusted = entry.trusted and mark_doubts(result, self._doubts).trusted
                marked.append(entry.model_copy(update={"trusted": trusted}))
        return marked

    def _read_doubts(self, *folders: Path) -> tuple[DeviceDoubt, ...]:
        """Return the doubts of the tree, and of a folder that is shown by itself, such as a copy of a tree."""
        found: dict[DeviceDoubt, None] = {}
        for folder in dict.fromkeys(folders):
            try:
                found.update(dict.fromkeys(read_doubts(folder)))
            except EnvironmentProblem as problem:
                self.unreadable.append(problem)
        return tuple(doubt for doubt in found if not doubt.resolved)

    def __iter__(self) -> Iterator[StoredResult]:
        """Load each selected result; a damaged one is left out, and remembered."""
        return filter(None, (self._load(file) for _, file in self._entries))

    def load_last_run(self) -> Iterator[StoredResult]:
        """Load the selected results of the last run that has any, oldest first, and no older results."""
        tried: dict[Path, StoredResult | None] = {}
        for newest, newest_file in reversed(self._entries):
            tried[newest_file] = self._load(newest_file)
            if tried[newest_file] is None:
                continue
            files = (file for entry, file in self._entries if _is_same_run(entry, newest))
            yield from filter(None, (tried[file] if file in tried else self._load(file) for file in files))
            return

    def _load(self, file: Path) -> StoredResult | None:
        """Load a result; None where it is not selected, or damaged."""
        result = self._read(file)
        if result is None or not self._selection.accepts(result):
            return None
        return StoredResult(mark_doubts(result, self._doubts), file)

    def _read(self, file: Path) -> Result | None:
        """Read a result; None where it is damaged, which is remembered."""
        try:
            result = load_result(file)
        except EnvironmentProblem as problem:
            self.unreadable.append(problem)
            return None
        self.loaded += 1
        return result

    def _list_tree(self, tree: Path) -> list[tuple[IndexEntry, Path]]:
        """Return the results of the tree by its index, without those that are too old."""
        index = read_index(tree)
        self.unreadable += [
            EnvironmentProblem(f"{file} is damaged and left out; `harness report {file}` shows why")
            for file in index.unreadable
        ]
        since = self._selection.since
        entries = (entry for entry in index.entries if since is None or entry.time >= since)
        return [(entry, tree / entry.path / RESULT_FILE) for entry in sorted(entries, key=lambda entry: entry.time)]

    def _find_files(self, path: Path, tree: Path) -> list[Path]:
        errors: list[OSError] = []
        try:
            place = path if path.exists() else tree / path
            files = find_results(place, on_error=errors.append) if place.is_dir() else [place] * place.exists()
        except PermissionError as error:
            raise _describe_unreadable(error, path) from error
        problems = [_describe_unreadable(error, path) for error in errors]
        if problems and not files:
            raise problems[0]
        if not files:
            raise UsageError(f"no result in {path}", hint="`harness report` lists the latest results and their folders")
        self.unreadable += problems
        return files

    def _list_files(self, files: Sequence[Path]) -> list[tuple[IndexEntry, Path]]:
        entries: list[tuple[IndexEntry, Path]] = []
        problems: list[EnvironmentProblem] = []
        for file in files:
            try:
                entries.append((build_entry(load_result(file), file.parent), file))
            except EnvironmentProblem as problem:
                problems.append(problem)
        if problems and not entries:
            raise problems[0]
        self.unreadable += problems
        return sorted(entries, key=lambda listed: listed[0].time)


def _name(kind: str, names: Iterable[str]) -> str:
    """Name the first of what is there, for somebody who asked for others; empty where there is nothing."""
    known = list(dict.fromkeys(filter(None, names)))
    more = f", and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{kind} there: {make_printable(', '.join(known[:_NAMED]))}{more}" if known else ""


def _describe_unreadable(error: OSError, path: Path) -> EnvironmentProblem:
    """Return the problem that a folder at or below a path cannot be read."""
    reason = (error.strerror or str(error)).lower()
    return EnvironmentProblem(f"{error.filename or path} cannot be read: {reason}")


def parse_since(text: str, now: datetime) -> tuple[float | None, bool]:
    """Parse `--since`: a date, a time of today or both (UTC unless it says otherwise), an age such as `2d`, or `LAST`.

    Args:
        text: The value of the flag.
        now: The present time, which ages are counted from.

    Returns:
        Unix seconds, and whether the last run is meant.

    Raises:
        UsageError: It is none of these.
    """
    if text.upper() == LAST:
        return None, True
    if (age := _DURATION.fullmatch(text)) is not None:
        return now.timestamp() - float(age[1]) * _SECONDS[age[2]], False
    try:
        is_of_today = _TIME.fullmatch(text) is not None
        time = datetime.fromisoformat(f"{now.astimezone(UTC).date()} {text}" if is_of_today else text)
    except ValueError as error:
        raise UsageError(
            f"--since {text}: not a time",
            hint="a date (2026-11-20, '2026-11-20 14:00'), a time of today (14:00), an age (90m, 12h, 2d, 1w) or LAST",
        ) from error
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp(), False


def _is_same_run(entry: IndexEntry, newest: IndexEntry) -> bool:
    """Return whether two results are of one run; one of a harness that did not store its run is alone."""
    return entry.run == newest.run if newest.run else entry.uid == newest.uid


def _is_of_commit(result: Result, commit: str) -> bool:
    build = result.build
    return build is not None and bool(commit) and (build.commit.startswith(commit) or build.commit_name == commit)


def _matches(pattern: str, result: Result) -> bool:
    info = result.benchmark
    properties = {axis: (format_scalar(value),) for axis, value in info.axes.items()} | {"model": (info.model,)}
    return matches_pattern(pattern, info.model, info.identifier, properties)
