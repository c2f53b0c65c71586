"""A benchmark that generates from a text."""

from __future__ import annotations

from pathlib import Path

from harness.core.benchmark import Benchmark, Model, ModelFile, SpecificationPlace
from harness.core.generation import GenerationRequest


def benchmark(**fields: object) -> Benchmark:
    origin = SpecificationPlace(file=Path("spec.json"))
    files = [ModelFile(key=f"files.{key}", filename=key, origin=origin) for key in ("model", "tokenizer")]
    given = {
        "id": 0,
        "model": Model(name="m", format="f"),
        "identifier": "t",
        "metric": "generation",
        "framework": "executorch",
        "files": files,
        "threads": 1,
        "origin": origin,
        "digest": "0",
        "generation": GenerationRequest(prompt="Once upon", new_tokens=9),
    }
    return Benchmark.model_validate({**given, **fields})
