from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.benchmark import Model, ModelFile, SpecificationPlace
from harness.core.cached_files import CachedFile
from harness.core.errors import FileUnavailable
from harness.core.protocols import Progress
from harness.models import fingerprints
from harness.models.cache import ModelCache
from harness.models.fetch import copy_file
from harness.models.layout import choose_place
from harness.models.locations import LocalPath

WRONG = "0" * 32
ROTTEN = b"rotten"
"""Not as long as the file: where the clock of the file system is coarse, only that shows a change at once."""


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def at(path: Path | str, promised: str | None = None) -> ModelFile:
    return ModelFile(
        key="files.model",
        filename="model.pte",
        location=str(path),
        md5=promised,
        origin=SpecificationPlace(file=Path("specs/mv2.json"), line=7),
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "exports" / "mine.pte"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    return path


class Fetcher:
    """Fetcher of files from one cache."""

    def __init__(self, cache: ModelCache, model: Model, progress: Progress) -> None:
        self.cache, self.model, self.progress = cache, model, progress

    def fetch(self, file: ModelFile) -> CachedFile:
        return self.cache.fetch(file, model=self.model, exporter=None, progress=self.progress)

    def peek(self, file: ModelFile) -> CachedFile | None:
        return self.cache.peek(file, model=self.model, exporter=None)


@pytest.fixture
def fetcher(cache: ModelCache, model: Model, progress: Progress) -> Fetcher:
    return Fetcher(cache, model, progress)


def test_a_local_file_is_copied_and_hashed(fetcher: Fetcher, source: Path) -> None:
    cached = fetcher.fetch(at(source, md5(b"weights")))
    assert cached.path.read_bytes() == b"weights"
    assert not cached.path.samefile(source)
    assert (cached.md5, cached.size_bytes, cached.fresh) == (md5(b"weights"), 7, True)
    assert cached.source == str(source)


def test_the_second_fetch_uses_the_copy(fetcher: Fetcher, source: Path) -> None:
    first = fetcher.fetch(at(source, md5(b"weights")))
    source.unlink()
    assert fetcher.fetch(at(source, md5(b"weights"))) == first.model_copy(update={"fresh": False})


def test_peek_does_not_copy(fetcher: Fetcher, source: Path) -> None:
    assert fetcher.peek(at(source)) is None
    assert not fetcher.cache.folder.exists()
    cached = fetcher.fetch(at(source))
    assert fetcher.peek(at(source)) == cached.model_copy(update={"fresh": False})


def test_a_changed_source_without_md5_is_copied_beside_the_old_copy(fetcher: Fetcher, source: Path) -> None:
    old = fetcher.fetch(at(source))
    source.write_bytes(b"better weights")
    new = fetcher.fetch(at(source))
    assert (old.path.read_bytes(), new.path.read_bytes()) == (b"weights", b"better weights")


def test_a_changed_source_of_equal_size_is_detected(fetcher: Fetcher, source: Path) -> None:
    fetcher.fetch(at(source))
    source.write_bytes(b"WEIGHTS")
    os.utime(source, ns=(1, 1))
    assert fetcher.fetch(at(source)).path.read_bytes() == b"WEIGHTS"


class AppendingProgress:
    """Progress that appends to the source once copying has begun."""

    def __init__(self, source: Path) -> None:
        self._source = source

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        with self._source.open("ab") as writer:
            writer.write(b"more")


def test_a_source_that_changes_during_copying_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(FileUnavailable, match="changed while it was copied"):
        copy_file(at(source), source, tmp_path / "part", AppendingProgress(source))


def test_a_missing_md5_is_reported_once_with_the_md5_to_pin(
    fetcher: Fetcher, source: Path, messages: list[str]
) -> None:
    fetcher.fetch(at(source))
    fetcher.fetch(at(source))
    (line,) = messages
    assert md5(b"weights") in line
    assert "specs/mv2.json:7" in line


def test_a_wrong_md5_is_refused_with_both_hashes_and_no_copy_is_kept(fetcher: Fetcher, source: Path) -> None:
    with pytest.raises(FileUnavailable) as raised:
        fetcher.fetch(at(source, WRONG))
    for fact in (WRONG, md5(b"weights"), str(source), "specs/mv2.json:7"):
        assert fact in raised.value.message
    assert raised.value.hint is not None
    assert not [path for path in fetcher.cache.folder.rglob("model.pte*") if path.suffix != ".lock"]


def test_a_damaged_copy_is_fetched_again_with_a_message(fetcher: Fetcher, source: Path, messages: list[str]) -> None:
    cached = fetcher.fetch(at(source, md5(b"weights")))
    cached.path.write_bytes(ROTTEN)
    again = fetcher.fetch(at(source, md5(b"weights")))
    assert again.fresh
    assert again.path.read_bytes() == b"weights"
    assert "damaged" in messages[-1]


def test_a_damaged_copy_without_md5_is_fetched_again(fetcher: Fetcher, source: Path) -> None:
    cached = fetcher.fetch(at(source))
    cached.path.write_bytes(ROTTEN)
    assert fetcher.peek(at(source)) is None
    assert fetcher.fetch(at(source)).path.read_bytes() == b"weights"


def test_a_touched_copy_is_hashed_again_and_kept(
    fetcher: Fetcher, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = fetcher.fetch(at(source, md5(b"weights")))
    os.utime(cached.path, ns=(1, 1))
    hashed: list[Path] = []

    def counting(path: Path) -> str:
        hashed.append(path)
        return md5(path.read_bytes())

    monkeypatch.setattr(fingerprints, "md5_of_file", counting)
    for _ in range(3):
        assert not fetcher.fetch(at(source, md5(b"weights"))).fresh
    assert hashed == [cached.path]


def test_a_manually_placed_file_is_accepted_if_its_md5_matches(fetcher: Fetcher, tmp_path: Path) -> None:
    missing = tmp_path / "gone.pte"
    promised = at(missing, md5(b"by hand"))
    place = choose_place(fetcher.cache.folder, promised, fetcher.model, LocalPath(missing))
    place.path.parent.mkdir(parents=True)
    place.path.write_bytes(b"by hand")
    assert fetcher.fetch(promised).md5 == md5(b"by hand")


def test_an_unreadable_fingerprint_is_ignored(fetcher: Fetcher, source: Path) -> None:
    cached = fetcher.fetch(at(source, md5(b"weights")))
    stamp = cached.path.with_name("model.pte.stamp.json")
    stamp.write_text('{"md5": ')
    assert not fetcher.fetch(at(source, md5(b"weights"))).fresh


def test_a_missing_source_is_reported_with_the_system_error(fetcher: Fetcher, tmp_path: Path) -> None:
    for promised in (None, WRONG):
        with pytest.raises(FileUnavailable, match=r"gone\.pte failed: No such file or directory"):
            fetcher.fetch(at(tmp_path / "gone.pte", promised))


def test_an_uncreatable_cache_is_reported(fetcher: Fetcher, source: Path) -> None:
    fetcher.cache.folder.write_text("a file where the folder should be")
    with pytest.raises(FileUnavailable, match="Not a directory"):
        fetcher.fetch(at(source, md5(b"weights")))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_reported_with_a_remedy(fetcher: Fetcher, source: Path) -> None:
    file = at(source, md5(b"weights"))
    place = choose_place(fetcher.cache.folder, file, fetcher.model, LocalPath(source))
    place.path.parent.mkdir(parents=True)
    place.part.symlink_to("/dev/full")
    with pytest.raises(FileUnavailable, match="No space left on device") as raised:
        fetcher.fetch(file)
    assert raised.value.hint is not None
    assert "--model-cache" in raised.value.hint


def test_a_device_file_is_refused(fetcher: Fetcher) -> None:
    with pytest.raises(FileUnavailable, match="neither a file nor a directory"):
        fetcher.fetch(at("/dev/zero", WRONG))


def test_a_directory_is_used_in_place_and_hashed_by_names_and_contents(fetcher: Fetcher, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"1")
    (folder / "sub" / "b.bin").write_bytes(b"22")
    cached = fetcher.fetch(at(folder, "directory"))
    assert (cached.path, cached.size_bytes) == (folder, 3)
    assert fetcher.peek(at(folder, "directory")) == cached
    (folder / "a.bin").rename(folder / "c.bin")
    assert fetcher.fetch(at(folder, "directory")).md5 != cached.md5


def test_a_directory_with_a_linked_directory_is_refused(fetcher: Fetcher, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "round").symlink_to(folder)
    with pytest.raises(FileUnavailable, match="links to another directory"):
        fetcher.fetch(at(folder, "directory"))


def test_a_directory_must_be_declared(fetcher: Fetcher, tmp_path: Path, source: Path) -> None:
    with pytest.raises(FileUnavailable, match="is a directory"):
        fetcher.fetch(at(tmp_path))
    with pytest.raises(FileUnavailable, match="is a file"):
        fetcher.fetch(at(source, "directory"))
    with pytest.raises(FileUnavailable, match="directory of this host"):
        fetcher.fetch(at("https://host/images", "directory"))


def test_a_file_with_neither_location_nor_export_is_refused(fetcher: Fetcher) -> None:
    missing_path = ModelFile(key="files.model", filename="model.pte", origin=SpecificationPlace(file=Path("spec.json")))
    with pytest.raises(FileUnavailable, match="neither a location nor an export"):
        fetcher.fetch(missing_path)


@pytest.mark.slow  # starts an interpreter
def test_the_cache_imports_neither_network_nor_locks() -> None:
    program = "import sys, harness.models.cache; print({'requests', 'stamina'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"
