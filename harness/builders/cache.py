"""Builds that were made, each once, kept by everything that determines them.

builds/<digest>/    build.json and programs/, moved in whole; the time of build.json is when it was last used
logs/<digest>.log   what the build said, also when it failed
locks/<digest>.lock held by one who makes or removes the build, shared by those who use it
workshops/<n>/      where builds are made
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness import shell
from harness.builders.records import (
    CONTENT,
    BuildKey,
    Record,
    content_of,
    find_programs,
    read_meta,
    read_record,
    size_of,
)
from harness.builders.workdirs import Workshop, open_workshop, remove_folder
from harness.core.build import Build
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.protocols import Clock, Progress
from harness.files.locks import FileLock

LIMIT_BYTES: Final = 10 << 30
"""Some hundred builds of ExecuTorch. What is used at the moment stays, whatever its size."""

_LOOK_S: Final = 0.1
_WAIT_S: Final = 3 * 3600.0
"""How long to wait for another harness that makes the same build: longer than any build may take."""


@dataclass(frozen=True, slots=True)
class CachedBuild:
    """One build in the cache.

    Attributes:
        record: What is kept of it.
        folder: Where it is.
        last_used: Unix seconds.
    """

    record: Record
    folder: Path
    last_used: float


class BuildCache:
    """Builds by their keys. Several threads and several processes may use one folder at the same time.

    A build that was handed out is not removed by anybody until this cache is closed (or the process ends).

    Args:
        folder: Where everything is kept; made when needed.
        limit_bytes: Beyond this size the builds that were not used for longest are removed.
        clock: Unix seconds.
    """

    def __init__(self, folder: Path, *, limit_bytes: int = LIMIT_BYTES, clock: Clock = time.time) -> None:
        self.folder = folder.absolute()
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._holds = ExitStack()
        self._handed_out: dict[str, Build] = {}
        self._failed: dict[str, BuildFailed] = {}
        self._changing = threading.Lock()

    def get_or_build(
        self,
        key: BuildKey,
        make: Callable[[Workshop], None],
        *,
        progress: Progress,
        flags: Mapping[str, str] | None = None,
        commit_time: int | None = None,
        force: bool = False,
    ) -> Build:
        """The build of a key, from the cache or made now by one of those who ask at once.

        Args:
            key: Everything that determines it.
            make: Writes the programs of the workshop; raises `BuildFailed` where it cannot.
            progress: Told what happens.
            flags: What to tell about the build; entries of its `meta.json` are added.
            commit_time: Unix seconds of the commit.
            force: Try again what failed before in the life of this cache; otherwise it fails again at once.

        Raises:
            BuildFailed: It cannot be made.
            EnvironmentProblem: It cannot be kept, or whatever `make` raised: it can be tried again.
        """
        digest = key.digest
        if force:
            self._failed.pop(digest, None)
        order = _Order(key, make, dict(flags or {}), commit_time)
        waited_until = time.monotonic() + _WAIT_S
        told = False
        with self._disk_errors():
            while (build := self._find(digest) or self._make(order, progress)) is None:
                if not told:
                    progress.say(f"{order.what}: waiting for another harness that is building it")
                    told = True
                if time.monotonic() > waited_until:
                    raise EnvironmentProblem(f"another process has been building {order.what} for hours", hint="end it")
                shell.pause(_LOOK_S)
        return build

    def entries(self) -> Sequence[CachedBuild]:
        """Every whole build, the one that was not used for longest first."""
        found = []
        with self._disk_errors():
            for place in (self.folder / "builds").glob("*"):
                with contextlib.suppress(FileNotFoundError):  # somebody removes it at this moment
                    last_used = (place / "build.json").stat().st_mtime
                    if (record := read_record(place / "build.json")) is not None:
                        found.append(CachedBuild(record, place, last_used))
        return sorted(found, key=lambda entry: (entry.last_used, entry.folder.name))

    def prune(self, *, limit_bytes: int | None = None, unused_for_s: float | None = None) -> Sequence[CachedBuild]:
        """Remove builds, but none that anybody uses, this cache included.

        Args:
            limit_bytes: Down to this size, those that were not used for longest first; 0 removes all.
            unused_for_s: Those that were not used for so many seconds.

        Returns:
            What was removed.
        """
        entries = self.entries()
        size = sum(entry.record.size_bytes for entry in entries)
        oldest = None if unused_for_s is None else self._clock() - unused_for_s
        removed = []
        with self._disk_errors():
            for entry in entries:
                too_large = limit_bytes is not None and size > limit_bytes
                too_old = oldest is not None and entry.last_used < oldest
                if (too_large or too_old) and self._remove(entry):
                    size -= entry.record.size_bytes
                    removed.append(entry)
        return removed

    def close(self) -> None:
        """Use nothing of it any longer. May be called again."""
        with self._changing:
            self._holds.close()
            self._handed_out.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, digest: str) -> Build | None:
        """What is there and whole, held from now on."""
        with self._changing:
            if (build := self._handed_out.get(digest)) is not None:
                return build
            if (failure := self._failed.get(digest)) is not None:
                raise BuildFailed(failure.message, hint=failure.hint)
            folder = self._place(digest)
            with ExitStack() as hold:
                if not folder.is_dir() or (lock := self._try_lock(digest, shared=True)) is None:
                    return None
                hold.enter_context(lock)
                if (build := _whole(folder)) is None:
                    return None
                now = self._clock()
                os.utime(folder / "build.json", (now, now))
                self._holds.push(hold.pop_all())
            self._handed_out[digest] = build
            return build

    def _make(self, order: _Order, progress: Progress) -> Build | None:
        """Make it, unless somebody else is making it."""
        digest = order.key.digest
        lock = self._try_lock(digest)
        if lock is None:
            return None
        with lock:
            if _whole(self._place(digest)) is None:
                self._make_alone(order, progress)
        build = self._find(digest)  # before pruning: what is in use stays
        self.prune(limit_bytes=self._limit_bytes)
        return build

    def _make_alone(self, order: _Order, progress: Progress) -> None:
        digest = order.key.digest
        folder = self._place(digest)
        if folder.exists():
            progress.say(f"{order.what}: the build in the cache is damaged; building again")
            remove_folder(folder)
        try:
            with (
                progress.task(f"building {order.what}"),
                open_workshop(self.folder / "workshops", self._log(digest)) as workshop,
            ):
                begin = time.monotonic()
                order.make(workshop)
                self._keep(order, workshop, time.monotonic() - begin)
        except BuildFailed as failure:
            with self._changing:
                self._failed[digest] = failure
            raise

    def _keep(self, order: _Order, workshop: Workshop, seconds: float) -> None:
        """Move in what was made, whole: only the folder of the programs, whatever else a recipe wrote."""
        programs = find_programs(workshop.programs, order.what)
        flags = {**order.flags, **read_meta(workshop.programs, order.what), CONTENT: content_of(workshop.programs)}
        digest = order.key.digest
        record = Record(
            key=order.key,
            build=Build(
                source=order.key.source,
                commit=order.key.commit,
                commit_time=order.commit_time,
                recipe=order.key.recipe,
                flags=flags,
                digest=digest,
                programs={name: Path("programs", path.name) for name, path in programs.items()},
            ),
            made=self._clock(),
            seconds=seconds,
            size_bytes=size_of(workshop.programs),
        )
        entry = workshop.folder / "entry"
        entry.mkdir()
        workshop.programs.rename(entry / "programs")
        (entry / "build.json").write_text(record.model_dump_json(indent=2), encoding="utf-8")
        os.utime(entry / "build.json", (record.made, record.made))
        folder = self._place(digest)
        folder.parent.mkdir(parents=True, exist_ok=True)
        entry.rename(folder)

    def _remove(self, entry: CachedBuild) -> bool:
        digest = entry.record.build.digest
        lock = self._try_lock(digest)
        if lock is None:
            return False
        with lock:
            (entry.folder / "build.json").unlink(missing_ok=True)  # first: without it nobody takes the rest for whole
            remove_folder(entry.folder)
            self._log(digest).unlink(missing_ok=True)
        return True

    def _place(self, digest: str) -> Path:
        return self.folder / "builds" / digest[:16]

    def _log(self, digest: str) -> Path:
        return self.folder / "logs" / f"{digest[:16]}.log"

    def _try_lock(self, digest: str, *, shared: bool = False) -> FileLock | None:
        lock = FileLock(self.folder / "locks" / f"{digest[:16]}.lock", shared=shared)
        return lock if lock.acquire() else None

    @contextlib.contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EnvironmentProblem(
                f"builds cannot be kept in {self.folder}: {error}", hint="choose another place with --cache_dir"
            ) from error


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for."""

    key: BuildKey
    make: Callable[[Workshop], None]
    flags: dict[str, str]
    commit_time: int | None

    @property
    def what(self) -> str:
        """In words."""
        return f"{self.key.recipe} at {self.key.commit[:12] if len(self.key.commit) >= 40 else self.key.commit}"


def _whole(folder: Path) -> Build | None:
    """The build in a folder, if its programs are what they were when it was made."""
    record = read_record(folder / "build.json")
    if record is None or content_of(folder / "programs") != record.build.flags.get(CONTENT):
        return None
    return record.located(folder)
