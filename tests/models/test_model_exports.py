from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.core.benchmark import Export, Model, ModelFile, Origin
from harness.core.cached_files import CachedFile, ExportReport
from harness.core.errors import ExportFailed, FileUnavailable
from harness.core.protocols import Exporter, Progress, Task
from harness.models.cache import ModelCache

EXPORT = Export(definition="mv2", recipe="xnnpack_q8")


@dataclass
class Press:
    """An exporter whose programs are plain text."""

    version: str = "1"
    programs: list[bytes] = field(default_factory=list)
    made: int = 0
    failing: bool = False
    lies: bool = False
    writes: bool = True

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        return {"press": self.version}

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        content = self.programs.pop(0) if self.programs else f"{export.definition} {self.version}".encode()
        self.made += 1
        if self.writes:
            destination.write_bytes(content)
            destination.with_name(destination.name + ".graph.txt").write_text("graph")
        if self.failing:
            raise ExportFailed("the press is broken", hint="mend it")
        progress.update(completed=1)
        digest = "0" * 32 if self.lies else hashlib.md5(content).hexdigest()
        return ExportReport(export=export, versions={"press": self.version}, md5=digest, size_bytes=len(content))


def wanted(md5: str | None = None, filename: str = "mv2.pte", export: Export = EXPORT) -> ModelFile:
    origin = Origin(file=Path("specs/mv2.json"), line=9)
    return ModelFile(key="files.model", filename=filename, md5=md5, export=export, origin=origin)


Fetch = Callable[..., CachedFile]


@pytest.fixture
def press() -> Press:
    return Press()


@pytest.fixture
def fetch(cache: ModelCache, model: Model, progress: Progress, press: Press) -> Fetch:
    def with_press(file: ModelFile, *, force: bool = False) -> CachedFile:
        return cache.fetch(file, model=model, exporter=press, progress=progress, force=force)

    return with_press


@pytest.fixture
def fetch_in_next_run(cache: ModelCache, model: Model, progress: Progress, press: Press) -> Fetch:
    next_run = ModelCache(cache.folder)

    def with_press(file: ModelFile, *, force: bool = False) -> CachedFile:
        return next_run.fetch(file, model=model, exporter=press, progress=progress, force=force)

    return with_press


def folders(cache: ModelCache) -> list[Path]:
    """Everything that looks like an export, whole or not."""
    return [path for path in cache.folder.glob("exports/*/*/*") if path.is_dir()]


def test_an_exporter_is_recognised(press: Press) -> None:
    assert isinstance(press, Exporter)


def test_a_program_is_exported_once_and_kept_with_its_report(fetch: Fetch, press: Press) -> None:
    first = fetch(wanted())
    second = fetch(wanted())
    assert press.made == 1
    assert (first.fresh, second.fresh) == (True, False)
    assert second == first.model_copy(update={"fresh": False})
    assert first.path.read_bytes() == b"mv2 1"
    assert first.report is not None
    assert ExportReport.model_validate_json((first.path.parent / "export.json").read_bytes()) == first.report
    assert (first.path.parent / "mv2.pte.graph.txt").read_text() == "graph"


def test_a_program_in_a_folder_of_its_own_name(fetch: Fetch) -> None:
    cached = fetch(wanted(filename="programs/mv2.pte"))
    assert cached.path.parts[-2:] == ("programs", "mv2.pte")
    assert not fetch(wanted(filename="programs/mv2.pte")).fresh


def test_another_version_of_the_exporter_exports_again(fetch: Fetch, press: Press) -> None:
    old = fetch(wanted())
    press.version = "2"
    new = fetch(wanted())
    assert (old.path.read_bytes(), new.path.read_bytes()) == (b"mv2 1", b"mv2 2")


def test_peek_exports_nothing(cache: ModelCache, model: Model, press: Press, fetch: Fetch) -> None:
    assert cache.peek(wanted(), model=model, exporter=press) is None
    assert press.made == 0
    assert not cache.folder.exists()
    cached = fetch(wanted())
    assert cache.peek(wanted(), model=model, exporter=press) == cached.model_copy(update={"fresh": False})


def test_force_exports_again_once_for_all_who_share_the_program(
    fetch: Fetch, fetch_in_next_run: Fetch, press: Press
) -> None:
    fetch(wanted())
    press.programs = [b"again", b"and again"]
    assert fetch_in_next_run(wanted(), force=True).path.read_bytes() == b"again"
    assert not fetch_in_next_run(wanted(), force=True).fresh
    assert press.made == 2


@pytest.mark.parametrize("damage", ["mv2.pte", "export.json"])
def test_a_damaged_export_is_made_again_and_told(fetch: Fetch, press: Press, said: list[str], damage: str) -> None:
    cached = fetch(wanted())
    (cached.path.parent / damage).write_bytes(b"{}")
    again = fetch(wanted())
    assert again.fresh
    assert again.path.read_bytes() == b"mv2 1"
    assert "damaged" in said[-1]


def test_a_failed_export_leaves_nothing(fetch: Fetch, press: Press, cache: ModelCache) -> None:
    press.failing = True
    with pytest.raises(ExportFailed, match="the press is broken"):
        fetch(wanted())
    assert folders(cache) == []


def test_a_failed_forced_export_leaves_the_old_one(
    fetch: Fetch, fetch_in_next_run: Fetch, press: Press, cache: ModelCache
) -> None:
    fetch(wanted())
    press.failing = True
    with pytest.raises(ExportFailed):
        fetch_in_next_run(wanted(), force=True)
    press.failing = False
    assert not fetch_in_next_run(wanted()).fresh
    assert len(folders(cache)) == 1


def test_what_a_killed_export_left_is_removed(
    fetch: Fetch, fetch_in_next_run: Fetch, press: Press, cache: ModelCache
) -> None:
    cached = fetch(wanted())
    folder = cached.path.parent
    leftover = folder.with_name(f".{folder.name}.partial")
    leftover.mkdir()
    (leftover / "mv2.pte").write_bytes(b"half")
    fetch_in_next_run(wanted(), force=True)
    assert folders(cache) == [folder]
    assert press.made == 2


def test_an_exporter_that_tells_another_md5_is_not_believed(fetch: Fetch, press: Press, cache: ModelCache) -> None:
    press.lies = True
    with pytest.raises(ExportFailed, match="0" * 32):
        fetch(wanted())
    assert folders(cache) == []


def test_an_exporter_that_writes_nothing_is_not_believed(fetch: Fetch, press: Press, cache: ModelCache) -> None:
    press.writes = False
    with pytest.raises(ExportFailed, match="wrote no program"):
        fetch(wanted())
    assert folders(cache) == []


def test_a_pinned_export_must_match_when_it_is_made_and_when_it_is_found(fetch: Fetch, press: Press) -> None:
    actual = hashlib.md5(b"mv2 1").hexdigest()
    for _ in range(2):
        with pytest.raises(FileUnavailable) as raised:
            fetch(wanted("f" * 32))
        for fact in ("f" * 32, actual, "specs/mv2.json:9"):
            assert fact in raised.value.message
        assert "press 1" in (raised.value.hint or "")
    assert press.made == 1
    assert fetch(wanted(actual)).md5 == actual


def test_a_framework_that_exports_nothing_says_so(cache: ModelCache, model: Model, progress: Progress) -> None:
    with pytest.raises(ExportFailed, match=r"specs/mv2\.json:9"):
        cache.fetch(wanted(), model=model, exporter=None, progress=progress)


def test_a_name_that_leaves_the_cache_is_refused_before_anything_is_made(fetch: Fetch, press: Press) -> None:
    with pytest.raises(FileUnavailable, match=r"specs/mv2\.json:9"):
        fetch(wanted(filename="../../mv2.pte"))
    assert press.made == 0


def test_threads_export_once(fetch: Fetch, press: Press) -> None:
    cached: list[CachedFile] = []
    threads = [threading.Thread(target=lambda: cached.append(fetch(wanted()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert press.made == 1
    assert sorted(file.fresh for file in cached) == [False, False, False, True]
