"""Writing specifications and loading them."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core.benchmark import Benchmark
from harness.core.errors import Problem, SpecificationError
from harness.specification.load import LoadOptions, load

Members = dict[str, JsonValue]
Write = Callable[..., Path]
Expand = Callable[..., Sequence[Benchmark]]
Complain = Callable[..., Sequence[Problem]]


def document_of(model: Members | None = None, *tests: Members) -> Members:
    """A generic specification, with these members over the plainest ones."""
    plain: Members = {"metric": "delay", "identifier": "t{ID}", "command": "true"}
    given: Sequence[Members] = tests or ({},)
    merged: list[JsonValue] = [
        {key: value for key, value in {**plain, **test}.items() if value is not None} for test in given
    ]
    return {"model": {"name": "m", "format": "f", **(model or {})}, "tests": merged}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text, or a value as JSON, into a file."""

    def write_file(content: object, name: str = "spec.json") -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return file

    return write_file


@pytest.fixture
def expand(write: Write) -> Expand:
    """Benchmarks of a specification made of these members; a test's `command: None` makes it typed."""

    def expand_members(
        model: Members | None = None, *tests: Members, options: LoadOptions | None = None
    ) -> Sequence[Benchmark]:
        return load([write(document_of(model, *tests))], options).benchmarks

    return expand_members


@pytest.fixture
def complain(write: Write) -> Complain:
    """Problems of a specification made of these members."""

    def problems_of(
        model: Members | None = None, *tests: Members, options: LoadOptions | None = None
    ) -> Sequence[Problem]:
        with pytest.raises(SpecificationError) as caught:
            load([write(document_of(model, *tests))], options)
        return caught.value.problems

    return problems_of


@pytest.fixture(autouse=True)
def _no_collection_at_the_bottom_of_a_recursion() -> Iterator[None]:
    """Documents nested to Python's limit are read here; a finaliser that runs there fails for want of depth."""
    gc.disable()
    yield
    gc.enable()
