"""LiteRT, which some of these tests run."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from frameworks.python_runner.engine import LoadedModel, LoadRequest

RECORDED = Path(__file__).parent / "recorded"
Load = Callable[..., LoadedModel]


@pytest.fixture
def litert() -> None:
    """LiteRT; a test that needs it is skipped where it is missing, but not in CI."""
    if find_spec("ai_edge_litert") is None:
        if os.environ.get("CI"):
            pytest.fail("ai-edge-litert is not installed: install the extra `tflite`")
        pytest.skip("ai-edge-litert is not installed (the extra `tflite`)")


@pytest.fixture
def load(litert: None) -> Load:
    """Function that loads a recorded model."""
    from frameworks.tflite.runner.engine import ENGINE  # noqa: PLC0415 - needs LiteRT

    def load_model(name: str, *, threads: int | None = None, operators: bool = False, **options: str) -> LoadedModel:
        file = RECORDED / f"{name}.tflite"
        return ENGINE.load(LoadRequest(file, threads=threads, operators=operators, options=options))

    return load_model
