"""Fixtures: a cache in a temporary folder, and a progress that records messages."""

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
    def __init__(self, messages: list[str]) -> None:
        self._messages = messages

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:
        yield _Task()

    def say(self, text: str) -> None:
        self._messages.append(text)

    def warn(self, text: str) -> None:
        self._messages.append(text)


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def progress(messages: list[str]) -> Progress:
    return _Listener(messages)


@pytest.fixture
def cache(tmp_path: Path) -> ModelCache:
    return ModelCache(tmp_path / "cache")


@pytest.fixture
def model() -> Model:
    return Model(name="mv2", format="pte")
