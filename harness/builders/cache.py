"""Cache of builds: each is made once, and addressed by everything that determines it.

builds/<digest>/    build.json and programs/, moved in whole; the time of build.json is that of the last use
logs/<digest>.log   output of the build, also of one that failed
locks/<digest>.lock exclusive while the build is made or removed, shared while it is in use
workshops/<n>/      working folders of builds
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from harness import shell
from harness.builders.records import (
    BuildDetails,
    BuildKey,
    Record,
    content_digest,
    find_programs,
    read_meta,
    read_record,
    size_of,
)
from harness.builders.workdirs import Workdir, open_workdir, remove_folder
from harness.core.build import CONTENT, PREBUILT, Build
from harness.core.commit import short_id
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.protocols import Clock, Progress, Task
from harness.files.locks import FileLock

LIMIT_BYTES: Final = 10 << 30
"""Some hundred builds of ExecuTorch. Builds in use stay, whatever their size."""

_LOOK_S: Final = 0.1
_WAIT_S: Final = 3 * 3600.0
"""Limit of waiting for another harness that makes the same build: longer than any build may take."""


class CachedBuild(Struct, frozen=True):
    """One build in the cache.

    Attributes:
        record: Its record.
        folder: Its folder.
        last_used: Unix seconds.
    """

    record: Record
    folder: Path
    last_used: float


class BuildCache:
    """Builds by their keys. Several threads and several processes may use one folder at the same time.

    A build that was returned is not removed by anybody until this cache is closed (or the process ends).

    Args:
        folder: Folder of the cache, made when needed.
        limit_bytes: Beyond this size the least recently used builds are removed.
        clock: Unix seconds.
    """

    def __init__(self, folder: Path, *, limit_bytes: int = LIMIT_BYTES, clock: Clock = time.time) -> None:
        self.folder = folder.absolute()
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._locks = ExitStack()
        self._in_use: dict[str, Build] = {}
        self._failed: dict[str, BuildFailed] = {}
        self._mutex = threading.Lock()

    def get_or_build(
        self,
        key: BuildKey,
        make: Callable[[Workdir, Task], BuildDetails | None],
        *,
        progress: Progress,
        flags: Mapping[str, str] | None = None,
        commit_time: int | None = None,
        force: bool = False,
    ) -> Build:
        """Return the build of a key, from the cache or made now; of several callers at once, one makes it.

        Args:
            key: Everything that determines the build.
            make: Writes the programs into a working folder, shows how far it is, and returns what it knows of how they
                were made; raises `BuildFailed` where it cannot.
            progress: Shows what happens.
            flags: Flags to record with the build; entries of its `meta.json` are added.
            commit_time: Unix seconds of the commit.
            force: Try again a build that failed before in the life of this cache; otherwise it fails again at once.

        Raises:
            BuildFailed: It cannot be made.
            EnvironmentProblem: It cannot be kept, or whatever `make` raised: it can be tried again.
        """
        digest = key.digest
        if force:
            self._failed.pop(digest, None)
        order = _BuildOrder(key, make, dict(flags or {}), commit_time)
        waited_until = time.monotonic() + _WAIT_S
        announced = False
        with self._disk_errors():
            while (build := self._find(digest) or self._make(order, progress)) is None:
                if not announced:
                    progress.say(f"{order.title}: waiting for another process that is building it")
                    announced = True
                if time.monotonic() > waited_until:
                    raise EnvironmentProblem(
                        f"another process has been building {order.title} for hours", hint="end that process"
                    )
                shell.pause(_LOOK_S)
        return build

    def entries(self) -> Sequence[CachedBuild]:
        """Return every complete build, the least recently used first."""
        entries = []
        with self._disk_errors():
            for place in (self.folder / "builds").glob("*"):
                with contextlib.suppress(FileNotFoundError):  # another process removes it at this moment
                    last_used = (place / "build.json").stat().st_mtime
                    if (record := read_record(place / "build.json")) is not None:
                        entries.append(CachedBuild(record, place, last_used))
        return sorted(entries, key=lambda entry: (entry.last_used, entry.folder.name))

    def prune(self, *, limit_bytes: int | None = None, unused_for_s: float | None = None) -> Sequence[CachedBuild]:
        """Remove builds, but none that is in use, by this cache or another.

        Args:
            limit_bytes: Remove the least recently used until this size is reached; 0 removes all.
            unused_for_s: Remove those that were not used for so many seconds.

        Returns:
            The builds that were removed.
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
        """End the use of all builds. May be called again."""
        with self._mutex:
            self._locks.close()
            self._in_use.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find(self, digest: str) -> Build | None:
        """Return the build if it is complete, and hold it from now on."""
        with self._mutex:
            if (build := self._in_use.get(digest)) is not None:
                return build
            if (failure := self._failed.get(digest)) is not None:
                raise BuildFailed(failure.message, hint=failure.hint)
            folder = self._place(digest)
            with ExitStack() as locks:
                if not folder.is_dir() or (lock := self._try_lock(digest, shared=True)) is None:
                    return None
                locks.enter_context(lock)
                if (build := _read_complete(folder)) is None:
                    return None
                now = self._clock()
                os.utime(folder / "build.json", (now, now))
                self._locks.push(locks.pop_all())
            self._in_use[digest] = build
            return build

    def _make(self, order: _BuildOrder, progress: Progress) -> Build | None:
        """Make the build, unless somebody else is making it."""
        digest = order.key.digest
        lock = self._try_lock(digest)
        if lock is None:
            return None
        with lock:
            if _read_complete(self._place(digest)) is None:
                self._make_locked(order, progress)
        build = self._find(digest)  # before pruning, which leaves builds in use
        self.prune(limit_bytes=self._limit_bytes)
        return build

    def _make_locked(self, order: _BuildOrder, progress: Progress) -> None:
        digest = order.key.digest
        folder = self._place(digest)
        if folder.exists():
            progress.say(f"{order.title}: the build in the cache is damaged; building again")
            remove_folder(folder)
        try:
            with (
                progress.task(order.task) as task,
                open_workdir(self.folder / "workshops", self._log(digest)) as workdir,
            ):
                begin = time.monotonic()
                details = order.make(workdir, task) or BuildDetails()
                self._store(order, workdir, details, time.monotonic() - begin)
        except BuildFailed as failure:
            with self._mutex:
                self._failed[digest] = failure
            raise

    def _store(self, order: _BuildOrder, workdir: Workdir, details: BuildDetails, seconds: float) -> None:
        """Move the folder of the programs into the cache, whole; anything else that a recipe wrote is left out."""
        programs = find_programs(workdir.programs, order.title)
        meta, recorded = read_meta(workdir.programs, order.title)
        flags = {**order.flags, **meta, CONTENT: content_digest(workdir.programs)}
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
                options={**details.options, **recorded},
                dependencies=details.dependencies,
                programs={name: Path("programs", path.name) for name, path in programs.items()},
            ),
            made=self._clock(),
            seconds=seconds,
            size_bytes=size_of(workdir.programs),
        )
        entry = workdir.folder / "entry"
        entry.mkdir()
        workdir.programs.rename(entry / "programs")
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
            (entry.folder / "build.json").unlink(missing_ok=True)  # first: without it the rest is incomplete
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
                f"builds cannot be kept in {self.folder}: {error}", hint="choose another place with --cache-dir"
            ) from error


class _BuildOrder(Struct, frozen=True):
    """Build that was requested."""

    key: BuildKey
    make: Callable[[Workdir, Task], BuildDetails | None]
    flags: dict[str, str]
    commit_time: int | None

    @property
    def title(self) -> str:
        """Name for messages."""
        return f"{self.key.recipe} at {short_id(self.key.commit)}"

    @property
    def task(self) -> str:
        """What making it is called."""
        return "keeping a copy of the given program" if self.key.recipe == PREBUILT else f"building {self.title}"


def _read_complete(folder: Path) -> Build | None:
    """Return the build in a folder, if its programs are the same as when it was made."""
    record = read_record(folder / "build.json")
    if record is None or content_digest(folder / "programs") != record.build.flags.get(CONTENT):
        return None
    return record.resolve_paths(folder)
