from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from harness.files.distributions import find_entry_points, find_version

GROUP = "edge_harness.tests"


def install(folder: Path, name: str, version: str, entry_points: str = "") -> None:
    information = folder / f"{name}-{version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (information / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
    os.utime(folder, ns=(0, folder.stat().st_mtime_ns + 1_000_000_000))  # beyond the resolution of a file system


def test_versions_are_those_of_the_metadata() -> None:
    assert find_version("pydantic") == metadata.version("pydantic")
    assert find_version("no-such-distribution") is None


def test_a_distribution_that_is_installed_or_updated_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert (find_version("acme_bench"), find_entry_points(GROUP)) == (None, ())
    install(tmp_path, "acme_bench", "2.5", "fast = acme.fast:lower")
    assert find_version("acme_bench") == "2.5"
    assert [(entry.name, entry.value) for entry in find_entry_points(GROUP)] == [("fast", "acme.fast:lower")]
    (tmp_path / "acme_bench-2.5.dist-info").rename(tmp_path / "away")
    install(tmp_path, "acme_bench", "2.6")
    assert find_version("acme_bench") == "2.6"
    assert find_entry_points(GROUP) == ()


def test_metadata_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entries, version = find_entry_points("console_scripts"), find_version("pydantic")
    monkeypatch.delattr(metadata, "entry_points")
    monkeypatch.delattr(metadata, "version")
    assert find_entry_points("console_scripts") == entries
    assert find_version("pydantic") == version
