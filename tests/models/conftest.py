"""A cache in a temporary folder, and a person who remembers what was said."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.benchmark import Model
from harness.core.protocols import Progress, Task
from harness.models.cache import ModelCache


class _Task:
    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        pass


class _Listener:
    def __init__(self, said: list[str]) -> None:
        self._said = said

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:
        yield _Task()

    def say(self, text: str) -> None:
        self._said.append(text)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def progress(said: list[str]) -> Progress:
    return _Listener(said)


@pytest.fixture
def cache(tmp_path: Path) -> ModelCache:
    return ModelCache(tmp_path / "cache")


@pytest.fixture
def model() -> Model:
    return Model(name="mv2", format="pte")
