"""Reporters find out before the first measurement that results cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Preparable
from harness.files.locks import FileLock
from harness.flows.measure.reporting import prepare_reporters
from harness.store.index import read_index

PLACES = {
    "local": lambda place: Settings(local_reporter=place),
    "simple_local": lambda place: Settings(simple_local_reporter=place),
    "html": lambda place: Settings(reporters={"html": str(place / "page.html")}),
    "markdown": lambda place: Settings(reporters={"markdown": str(place / "page.md")}),
    "bencher": lambda place: Settings(reporters={"bencher": str(place / "bencher.json")}),
    "remote": lambda place: Settings(cache_dir=place, remote_reporter="http://localhost:1"),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is not named in a test out of the user's folders."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "HARNESS_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_written_is_an_error_with_a_remedy(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentProblem, match=str(tmp_path / "file")) as refused:
        prepare_reporters(PLACES[name](tmp_path / "file" / "below"))
    assert refused.value.hint is not None
    assert "name another" in refused.value.hint


@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_can_be_written_is_left_without_a_trace(name: str, tmp_path: Path) -> None:
    reporters = prepare_reporters(PLACES[name](tmp_path / "new"))
    assert name in {reporter.name for reporter in reporters if isinstance(reporter, Preparable)}
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert [path.name for path in files] in ([], [".index.lock"])


def test_a_page_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="not a regular file"):
        prepare_reporters(Settings(local_reporter=tmp_path / "tree", reporters={"html": str(tmp_path)}))


def test_a_full_disk_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        prepare_reporters(Settings(local_reporter=tmp_path))


def test_another_process_that_writes_to_the_index_is_no_obstacle(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".index.lock"):
        prepare_reporters(Settings(local_reporter=tmp_path))
    assert read_index(tmp_path).entries == ()
