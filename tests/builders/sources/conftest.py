from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from tests.builders.sources.repositories import PACKAGE, GitRepository, Shelf, require


@pytest.fixture(autouse=True)
def _nobodys_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    require("git")
    return GitRepository(tmp_path / "user")


@pytest.fixture
def source(repository: GitRepository, cache: Path) -> GitSource:
    return GitSource(repository.path, cache_dir=cache)


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Publish wheels in a folder that pip searches instead of the network."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))

    def put(version: str, files: Mapping[str, str] | None = None) -> None:
        stem = f"{PACKAGE.replace('-', '_')}-{version}"
        info = f"{stem}.dist-info"
        content = {
            "runner/__init__.py": f"VERSION = '{version}'\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
            **(files or {}),
        }
        with zipfile.ZipFile(shelf / f"{stem}-py3-none-any.whl", "w") as wheel:
            for name, text in content.items():
                member = zipfile.ZipInfo(name)
                member.external_attr = (0o100755 if name.startswith("bin/") else 0o100644) << 16
                wheel.writestr(member, text)

    return put
