from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from harness.core.benchmark import Export, Model, ModelFile, SpecificationPlace
from harness.core.cached_files import CachedFile, ExportReport
from harness.core.errors import ExportFailed, FileUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.core.protocols import Exporter, Progress, Task
from harness.files.examples import read_manifest, write_examples
from harness.models.cache import ModelCache

EXPORT = Export(definition="mv2", recipe="xnnpack_q8")


@dataclass
class StubExporter:
    """Exporter whose programs are plain text."""

    version: str = "1"
    programs: list[bytes] = field(default_factory=list)
    made: int = 0
    failing: bool = False
    reports_wrong_md5: bool = False
    writes_program: bool = True
    writes_log: bool = False

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        return {"exporter": self.version}

    def export(self, export: Export, destination: Path, progress: Task) -> ExportReport:
        content = self.programs.pop(0) if self.programs else f"{export.definition} {self.version}".encode()
        self.made += 1
        if self.writes_program:
            destination.write_bytes(content)
            destination.with_name(destination.name + ".graph.txt").write_text("graph")
        if self.failing:
            if self.writes_log:
                destination.with_name(destination.name + ".log").write_text("what went wrong")
            raise ExportFailed("the exporter is broken", hint="mend it")
        progress.update(completed=1)
        digest = "0" * 32 if self.reports_wrong_md5 else hashlib.md5(content).hexdigest()
        return ExportReport(export=export, versions={"exporter": self.version}, md5=digest, size_bytes=len(content))


def exported_file(md5: str | None = None, filename: str = "mv2.pte", export: Export = EXPORT) -> ModelFile:
    origin = SpecificationPlace(file=Path("specs/mv2.json"), line=9)
    return ModelFile(key="files.model", filename=filename, md5=md5, export=export, origin=origin)


Fetch = Callable[..., CachedFile]


@pytest.fixture
def exporter() -> StubExporter:
    return StubExporter()


@pytest.fixture
def fetch(cache: ModelCache, model: Model, progress: Progress, exporter: StubExporter) -> Fetch:
    def with_exporter(file: ModelFile, *, force: bool = False) -> CachedFile:
        return cache.fetch(file, model=model, exporter=exporter, progress=progress, force=force)

    return with_exporter


@pytest.fixture
def fetch_in_next_run(cache: ModelCache, model: Model, progress: Progress, exporter: StubExporter) -> Fetch:
    next_run = ModelCache(cache.folder)

    def with_exporter(file: ModelFile, *, force: bool = False) -> CachedFile:
        return next_run.fetch(file, model=model, exporter=exporter, progress=progress, force=force)

    return with_exporter


def folders(cache: ModelCache) -> list[Path]:
    """Return all export folders, complete or not."""
    return [path for path in cache.folder.glob("exports/*/*/*") if path.is_dir()]


def test_an_exporter_is_recognised(exporter: StubExporter) -> None:
    assert isinstance(exporter, Exporter)


def test_a_program_is_exported_once_with_its_report(fetch: Fetch, exporter: StubExporter) -> None:
    first = fetch(exported_file())
    second = fetch(exported_file())
    assert exporter.made == 1
    assert (first.fresh, second.fresh) == (True, False)
    assert second == first.model_copy(update={"fresh": False})
    assert first.path.read_bytes() == b"mv2 1"
    assert first.report is not None
    assert ExportReport.model_validate_json((first.path.parent / "export.json").read_bytes()) == first.report
    assert (first.path.parent / "mv2.pte.graph.txt").read_text() == "graph"


def test_a_program_in_a_folder_of_its_own_name(fetch: Fetch) -> None:
    cached = fetch(exported_file(filename="programs/mv2.pte"))
    assert cached.path.parts[-2:] == ("programs", "mv2.pte")
    assert not fetch(exported_file(filename="programs/mv2.pte")).fresh


def test_another_version_of_the_exporter_exports_again(fetch: Fetch, exporter: StubExporter) -> None:
    old = fetch(exported_file())
    exporter.version = "2"
    new = fetch(exported_file())
    assert (old.path.read_bytes(), new.path.read_bytes()) == (b"mv2 1", b"mv2 2")


def test_peek_does_not_export(cache: ModelCache, model: Model, exporter: StubExporter, fetch: Fetch) -> None:
    assert cache.peek(exported_file(), model=model, exporter=exporter) is None
    assert exporter.made == 0
    assert not cache.folder.exists()
    cached = fetch(exported_file())
    assert cache.peek(exported_file(), model=model, exporter=exporter) == cached.model_copy(update={"fresh": False})


def test_force_exports_a_shared_program_once(fetch: Fetch, fetch_in_next_run: Fetch, exporter: StubExporter) -> None:
    fetch(exported_file())
    exporter.programs = [b"again", b"and again"]
    assert fetch_in_next_run(exported_file(), force=True).path.read_bytes() == b"again"
    assert not fetch_in_next_run(exported_file(), force=True).fresh
    assert exporter.made == 2


@pytest.mark.parametrize("damage", ["mv2.pte", "export.json"])
def test_a_damaged_export_is_exported_again_with_a_message(
    fetch: Fetch, exporter: StubExporter, messages: list[str], damage: str
) -> None:
    cached = fetch(exported_file())
    (cached.path.parent / damage).write_bytes(b"{}")
    again = fetch(exported_file())
    assert again.fresh
    assert again.path.read_bytes() == b"mv2 1"
    assert "damaged" in messages[-1]


def test_a_failed_export_leaves_nothing(fetch: Fetch, exporter: StubExporter, cache: ModelCache) -> None:
    exporter.failing = True
    with pytest.raises(ExportFailed, match="the exporter is broken"):
        fetch(exported_file())
    assert folders(cache) == []


def test_the_log_of_a_failed_export_stays_until_the_next(
    fetch: Fetch, exporter: StubExporter, cache: ModelCache
) -> None:
    exporter.failing = exporter.writes_log = True
    with pytest.raises(ExportFailed):
        fetch(exported_file())
    (folder,) = folders(cache)
    assert [path.name for path in folder.iterdir()] == ["mv2.pte.log"]
    exporter.failing = False
    made = fetch(exported_file()).path.parent
    assert folders(cache) == [made]


def test_a_failed_forced_export_keeps_the_old_program(
    fetch: Fetch, fetch_in_next_run: Fetch, exporter: StubExporter, cache: ModelCache
) -> None:
    fetch(exported_file())
    exporter.failing = True
    with pytest.raises(ExportFailed):
        fetch_in_next_run(exported_file(), force=True)
    exporter.failing = False
    assert not fetch_in_next_run(exported_file()).fresh
    assert len(folders(cache)) == 1


def test_leftovers_of_a_killed_export_are_removed(
    fetch: Fetch, fetch_in_next_run: Fetch, exporter: StubExporter, cache: ModelCache
) -> None:
    cached = fetch(exported_file())
    folder = cached.path.parent
    leftover = folder.with_name(f".{folder.name}.partial")
    leftover.mkdir()
    (leftover / "mv2.pte").write_bytes(b"half")
    fetch_in_next_run(exported_file(), force=True)
    assert folders(cache) == [folder]
    assert exporter.made == 2


def test_a_wrong_md5_of_the_exporter_is_refused(fetch: Fetch, exporter: StubExporter, cache: ModelCache) -> None:
    exporter.reports_wrong_md5 = True
    with pytest.raises(ExportFailed, match="0" * 32):
        fetch(exported_file())
    assert folders(cache) == []


def test_an_exporter_that_writes_nothing_is_an_error(fetch: Fetch, exporter: StubExporter, cache: ModelCache) -> None:
    exporter.writes_program = False
    with pytest.raises(ExportFailed, match="wrote no program"):
        fetch(exported_file())
    assert folders(cache) == []


def test_a_pinned_export_is_checked_when_exported_and_when_cached(fetch: Fetch, exporter: StubExporter) -> None:
    actual = hashlib.md5(b"mv2 1").hexdigest()
    for _ in range(2):
        with pytest.raises(FileUnavailable) as raised:
            fetch(exported_file("f" * 32))
        for fact in ("f" * 32, actual, "specs/mv2.json:9"):
            assert fact in raised.value.message
        assert "exporter 1" in (raised.value.hint or "")
    assert exporter.made == 1
    assert fetch(exported_file(actual)).md5 == actual


def test_a_framework_without_exporter_is_reported(cache: ModelCache, model: Model, progress: Progress) -> None:
    with pytest.raises(ExportFailed, match=r"specs/mv2\.json:9"):
        cache.fetch(exported_file(), model=model, exporter=None, progress=progress)


def test_a_name_that_leaves_the_cache_is_refused_before_exporting(fetch: Fetch, exporter: StubExporter) -> None:
    with pytest.raises(FileUnavailable, match=r"specs/mv2\.json:9"):
        fetch(exported_file(filename="../../mv2.pte"))
    assert exporter.made == 0


def test_concurrent_threads_export_once(fetch: Fetch, exporter: StubExporter) -> None:
    cached: list[CachedFile] = []
    threads = [threading.Thread(target=lambda: cached.append(fetch(exported_file()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert exporter.made == 1
    assert sorted(file.fresh for file in cached) == [False, False, False, True]


class CalibratedExporter(StubExporter):
    """Exporter whose programs are the digests of what they were calibrated with."""

    def export_calibrated(self, export: Export, calibration: Path, destination: Path, progress: Task) -> ExportReport:
        self.programs.append(read_manifest(calibration).digest.encode())
        return self.export(export, destination, progress)


class Calibration:
    """Examples of one number each, which stand for those of a provider."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0.0

    def find(self, export: Export) -> Path | None:
        return self.folder / str(self.number) if (self.folder / str(self.number)).exists() else None

    def prepare(self, export: Export, progress: Progress) -> Path:
        assert export.calibration_data is not None
        folder = self.folder / str(self.number)
        tensor = TensorInfo(name="x", dtype="float32", shape=(1,))
        request, split = export.calibration_data, Split.CALIBRATION
        with write_examples(folder, [tensor], request=request, split=split, description="") as writer:
            writer.add([np.array([self.number], np.float32)])
        return folder


CALIBRATED = EXPORT.model_copy(update={"calibration_data": DataRequest(provider="numbers")})


def test_the_content_of_calibration_data_is_part_of_the_key(tmp_path: Path, model: Model, progress: Progress) -> None:
    calibration = Calibration(tmp_path / "examples")
    cache, exporter = ModelCache(tmp_path / "cache", calibration), CalibratedExporter()

    def fetch_calibrated(path: str = "a") -> CachedFile:
        data = DataRequest(provider="numbers", options={"path": path})
        file = exported_file(export=EXPORT.model_copy(update={"calibration_data": data}))
        before, peeked = exporter.made, cache.peek(file, model=model, exporter=exporter)
        cached = cache.fetch(file, model=model, exporter=exporter, progress=progress)
        assert (peeked is not None) == (exporter.made == before)
        return cached

    first = fetch_calibrated()
    assert fetch_calibrated("b").path == first.path, "equal content from elsewhere is the same program"
    assert exporter.made == 1
    calibration.number = 1.0
    second = fetch_calibrated()
    assert exporter.made == 2
    assert second.path != first.path
    assert second.md5 != first.md5


def test_an_exporter_that_cannot_calibrate_with_data_is_told(tmp_path: Path, model: Model, progress: Progress) -> None:
    cache = ModelCache(tmp_path / "cache", Calibration(tmp_path / "examples"))
    with pytest.raises(ExportFailed, match="calibrates with no data of yours") as raised:
        cache.fetch(exported_file(export=CALIBRATED), model=model, exporter=StubExporter(), progress=progress)
    assert raised.value.hint == "remove `calibration_data`"


def test_random_numbers_never_stand_in_for_data(cache: ModelCache, model: Model, progress: Progress) -> None:
    exporter = CalibratedExporter()
    with pytest.raises(ExportFailed, match="no calibration data"):
        cache.fetch(exported_file(export=CALIBRATED), model=model, exporter=exporter, progress=progress)
    assert exporter.made == 0
